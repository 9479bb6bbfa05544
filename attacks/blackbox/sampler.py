"""Reports of a callable, read in some way, drawn and encoded: in bulk where it takes a size, else one by one in random order.

With the support of its reports, each is read beside the inputs that it supports: what anybody computes of a report whose hash
function has a long public seed. A report on a seed of its own is seen once, so that nothing is learned from it alone.

Two users who are served by one program show together a seed that is fixed or shared: noise that both share drops out of their
difference. Where the reports are independent, both together are as private in one user's value as that user's own report.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import as_it_is_now, call, in_order, named, one_by_one, positional
from ldpaudit.attacks.blackbox.canonical import formed
from ldpaudit.attacks.blackbox.encoding import Encoded, encode, join
from ldpaudit.attacks.blackbox.folding import Kept, fold
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import Form
from ldpaudit.workers.experiment import Reading

PIECE = 1 << 21
"""Numbers in reports that are drawn one by one before they are encoded, about: objects take more memory than arrays."""

Read = Callable[[Any], Any]  # reports to what is read of them, one after the other


class Latest(list[tuple[Any, Any]]):
    """Inputs and the reports that were drawn on each last; no other process needs them."""

    def __reduce__(self) -> tuple[type[Latest], tuple[()]]:
        return Latest, ()

    def add(self, x: Any, reports: Any) -> None:
        """Keep them, and of those before only the reports on one other input."""
        self[:] = [*[each for each in self if each[0] is not x][-1:], (x, reports)]


@dataclass(frozen=True, slots=True)
class _InOrder:
    """A program, or a log, that makes its reports in its own order."""

    many: Callable[..., Any]  # (x, size, rng) -> reports
    in_order: Callable[[Sequence[Any], Sequence[int]], list[list[Any]]]  # see `callables.in_order`

    def __call__(self, x: Any, size: int, rng: np.random.Generator) -> Any:
        return self.many(x, size, rng)


def read_by(function: Callable[..., Any], read: Read) -> Callable[..., Any]:
    """A function of the same form whose reports are read in this way."""
    if hasattr(function, "in_order"):
        return _InOrder(partial(_many, function, read), partial(_ordered, function, read))
    return partial(_one if positional(function) < 3 else _many, function, read)


def _one(function: Callable[..., Any], read: Read, x: Any) -> Any:
    return read([call(function, x)])[0]


def _many(function: Callable[..., Any], read: Read, x: Any, size: int, rng: np.random.Generator) -> Any:
    return read(as_it_is_now(function(x, size, rng), x))


def _ordered(function: Callable[..., Any], read: Read, xs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
    return [read(reports) for reports in in_order(function, xs, order)]


def supported(support: Callable[[Any, Any], Any], inputs: Sequence[Any], reports: Any) -> list[Any]:
    """Reports beside which of the inputs each supports; ``support``: (report, input) to whether it does, or how much."""
    return [(_supports(support, inputs, report), report) for report in reports]


def _supports(support: Callable[[Any, Any], Any], inputs: Sequence[Any], report: Any) -> list[Any]:
    try:
        return [support(report, y) for y in inputs]
    except Exception as error:  # whatever the user's function raises
        raise ImplementationError(f"the support raised {named(error)}, of the report {report!r:.60}") from error


def together(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two users' values, of the same form: their reports by consecutive calls, and how these compare."""
    if hasattr(function, "in_order"):
        return _InOrder(partial(_pairs, function), partial(_pairs_in_order, function))
    return partial(_pair if positional(function) < 3 else _pairs, function)


def _pair(function: Callable[..., Any], xs: Sequence[Any]) -> Any:
    return _compared(*(call(function, x) for x in xs))


def _pairs(function: Callable[..., Any], xs: Sequence[Any], size: int, rng: np.random.Generator) -> list[Any]:
    first, second = (call(lambda value: function(value, size, rng), x) for x in xs)
    return [_compared(a, b) for a, b in zip(first, second, strict=True)]


def _pairs_in_order(function: Callable[..., Any], pairs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
    values, places = [x for pair in pairs for x in pair], [2 * place + user for place in order for user in (0, 1)]
    made = in_order(function, values, places)
    return [list(map(_compared, first, second)) for first, second in zip(made[::2], made[1::2], strict=True)]


def _compared(first: Any, second: Any) -> Any:
    """Both reports, whether they are equal, and, of numbers, the difference."""
    try:
        same = pickle.dumps(first) == pickle.dumps(second)
    except Exception:  # whatever a strange report raises when it is pickled: the encoding will say what it is
        same = False
    try:
        less = np.subtract(np.asarray(second, dtype=np.float64), np.asarray(first, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return first, second, same
    return first, second, same, float(less) if less.ndim == 0 else less


@dataclass(frozen=True, slots=True)
class Sampler:
    """``(x, size, rng) -> encoded reports``."""

    function: Callable[..., Any]  # ``x -> report``, or ``(x, size, rng) -> reports``
    vectorized: bool  # which of the two
    kept: Kept | None = None  # which reports are kept as they are; the others are folded. None for all
    width: int = 1  # numbers of a report, about: it sets how many are drawn one by one before they are encoded
    latest: Latest = field(default_factory=Latest, compare=False, repr=False)  # as they were read, for whoever shows one

    @classmethod
    def of(cls, function: Callable[..., Any], reading: Reading, inputs: Sequence[Any] = ()) -> Sampler:
        """The sampler of a function whose reports are read in this way; its inputs are those of the reading.

        ``inputs``: whose support is asked of each report, where the reading says how.
        """
        if reading.support is not None:
            function = read_by(function, partial(supported, reading.support, inputs))
        if reading.users == 2:
            function = together(function)
        if reading.form is not Form.RAW:
            function = read_by(function, partial(formed, reading.form))
        return cls(function, positional(function) >= 3)

    def __call__(self, x: Any, size: int, rng: np.random.Generator, ask: Callable[..., Any] = call) -> Encoded:
        """Reports on one input; `ask` is `call`, or `probe` for one report that must come in time."""
        if size == 0:
            return {}
        if self.vectorized:
            return self._encoded(ask(lambda value: self.function(value, size, rng), x), size, x)
        return self._encoded([ask(self.function, x) for _ in range(size)], size, x)

    def _encoded(self, reports: Any, size: int, x: Any) -> Encoded:
        encoded = self.encoded(reports, size, x)
        self.latest.add(x, reports)
        return encoded

    def encoded(self, reports: Any, size: int, x: Any) -> Encoded:
        """Reports that were drawn before."""
        encoded = encode(reports, size, x)
        return encoded if self.kept is None else fold(encoded, self.kept)

    @property
    def one_by_one(self) -> bool:
        """Whether the function makes one report after the other."""
        return one_by_one(self.function)

    def mixed(self, xs: Sequence[Any], order: NDArray[np.int64]) -> list[Encoded]:
        """One report after the other, on these of the inputs; encoded for each input."""
        made = in_order(self.function, xs, order.tolist())
        return [self._encoded(reports, len(reports), x) for x, reports in zip(xs, made, strict=True)]

    def toss(self, pair: Sequence[Any], size: int, rng: np.random.Generator) -> list[tuple[Encoded, int]]:
        """Reports, each on either of two inputs by a fair coin: those on each input, and their number."""
        sides = rng.integers(0, 2, size)
        often = np.bincount(sides, minlength=2).tolist()
        made = self.mixed(pair, sides) if self.one_by_one else [self(x, n, rng) for x, n in zip(pair, often, strict=True)]
        return list(zip(made, often, strict=True))

    def each(self, xs: Sequence[Any], size: int, rng: np.random.Generator) -> list[Encoded]:
        """The same number of reports on each input, in random order where the function makes one after the other."""
        if not self.one_by_one:
            return [self(x, size, rng) for x in xs]
        order = rng.permutation(np.repeat(np.arange(len(xs)), size))
        step = max(1, PIECE // max(self.width, 1))
        parts = [order[start : start + step] for start in range(0, len(order), step)]
        drawn = [zip(self.mixed(xs, part), np.bincount(part, minlength=len(xs)).tolist(), strict=True) for part in parts]
        return [join(of_one) for of_one in zip(*drawn, strict=True)]
