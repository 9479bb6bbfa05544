"""The loop that raises precision until an enclosure is narrow, or a comparison is decided."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial, wraps
from typing import ParamSpec

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour

MOST_BITS = 1 << 11  # of the last attempt by default: a value whose arithmetic cancels by more stays wide, never wrong
_FIRST_DECIDING, _LAST_DECIDING = 64, 1 << 12
"""Bits of the first and of the last attempt to decide a comparison. A tie is never decided, so the last attempt bounds
the time that it takes."""
P = ParamSpec("P")
"""A formula's parameters."""


def precisions(first: int, last: int) -> Iterator[int]:
    """Bits of the attempts one after the other: doubled from the first up to the last, or the next above it."""
    bits = first
    while bits < last:
        yield bits
        bits *= 2
    yield bits


def narrow(
    value: Callable[[], flint.arb | None],
    source: str,
    rigour: Rigour = Rigour.EXACT,
    bits: int = 128,
    *,
    most: int = MOST_BITS,
    floats: int = 2,
    width: float = 0.0,
) -> Enclosure:
    """Enclosure of a value at a precision at which it is narrow.

    ``value``: a ball at the current precision, or None where this does not suffice; ``bits``, ``most``: precision of
    the first attempt, and of the last one, whose width stays; ``floats``: steps between floats that the two ends may be
    apart; ``width``: relative width that is enough. The whole real line where no attempt gave a ball.
    """
    result = Enclosure(-math.inf, math.inf, rigour, source)
    for precision in precisions(bits, most):
        with working_precision(precision):
            found = value()
            if found is not None:
                result = Enclosure.of(found, rigour=rigour, source=source)
                above = result.low
                for _ in range(floats):
                    above = math.nextafter(above, math.inf)
                if above >= result.high or result.relative_width <= width:
                    break
    return result


def narrowed(source: str, rigour: Rigour = Rigour.EXACT) -> Callable[[Callable[P, flint.arb]], Callable[P, Enclosure]]:
    """Turn a formula in balls, at the current precision, into a function that returns its `narrow` enclosure."""

    def decorate(formula: Callable[P, flint.arb]) -> Callable[P, Enclosure]:
        @wraps(formula)
        def enclosed(*args: P.args, **kwargs: P.kwargs) -> Enclosure:
            return narrow(lambda: formula(*args, **kwargs), source, rigour)

        return enclosed

    return decorate


narrow_enough = partial(narrow, bits=72, most=1 << 12, floats=1, width=2.0**-34)
"""`narrow`, to a relative width of 2**-34, for values that take long to compute: well below the 1e-9 that they
promise."""


def at_most(value: Callable[[], flint.arb | None], limit: Fraction) -> bool | None:
    """Whether a number is at most the limit; None where 4096 bits do not decide, as in a tie."""
    for precision in precisions(_FIRST_DECIDING, _LAST_DECIDING):
        with working_precision(precision):
            found, bound = value(), ball(limit)
            if found is not None and not found.overlaps(bound):
                return bool(found < bound)
    return None
