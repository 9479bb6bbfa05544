"""The working precision of balls, for one thread at a time.

python-flint keeps the precision of its arithmetic in one global variable, ``flint.ctx.prec``, which all threads share. So it
is set here only, by one thread at a time, and every other thread that wants to compute with balls waits.
"""

import functools
import os
import threading
from collections.abc import Callable
from typing import ParamSpec, Self, TypeVar

import flint

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT = 53  # bits of a query, where what it computes does not ask for more: a float's, and python-flint's own default

_TURN = threading.RLock()


class working_precision:  # noqa: N801 - it reads as a statement: ``with working_precision(128):``
    """Precision of all ball arithmetic in a ``with`` block, which no other thread enters meanwhile.

    Blocks nest, also in the functions that a block calls. On leaving a block, the precision is what it was before.

    ``bits``: at least 1.

    Examples
    --------
    >>> with working_precision(128):
    ...     root = flint.arb(2).sqrt()
    >>> root.rel_accuracy_bits() > 120
    True
    """

    __slots__ = ("_before", "_bits")

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> Self:
        _TURN.acquire()
        try:
            self._before = flint.ctx.prec
            flint.ctx.prec = self._bits
        except BaseException:
            _TURN.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        flint.ctx.prec = self._before
        _TURN.release()


def working_bits() -> int:
    """The precision in force. Meaningful inside a block of `working_precision` only."""
    bits: int = flint.ctx.prec
    return bits


def serialized(query: Callable[P, T]) -> Callable[P, T]:
    """The same function, whose every call is one block of `DEFAULT` bits; once is enough.

    Balls that a function takes from one block to the next, or compares outside of all, are then never at a precision that
    another thread has set.
    """
    if hasattr(query, "__serialized__"):
        return query

    @functools.wraps(query)
    def whole(*arguments: P.args, **named: P.kwargs) -> T:
        with working_precision(DEFAULT):
            return query(*arguments, **named)

    whole.__serialized__ = True  # type: ignore[attr-defined]
    return whole


# A process that is forked while another thread computes would inherit that thread's precision, and a lock that nobody
# releases. So a fork waits for its turn.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release)
