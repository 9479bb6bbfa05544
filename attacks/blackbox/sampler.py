"""Reports of a callable, drawn and encoded: in bulk where it takes a size, else one after the other in random order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import call, in_order, one_by_one, positional
from ldpaudit.attacks.blackbox.canonical import formed
from ldpaudit.attacks.blackbox.encoding import Encoded, encode, join_all
from ldpaudit.attacks.blackbox.folding import Kept, fold
from ldpaudit.attacks.blackbox.supports import supported
from ldpaudit.attacks.blackbox.two_users import together
from ldpaudit.workers.experiment import Reading

PIECE = 1 << 21
"""Numbers in reports that are drawn one by one before they are encoded, about: objects take more memory than arrays."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """``(x, size, rng) -> encoded reports``."""

    function: Callable[..., Any]  # ``x -> report``, or ``(x, size, rng) -> reports``
    vectorized: bool  # which of the two
    kept: Kept | None = None  # which reports are kept as they are; the others are folded. None for all
    width: int = 1  # numbers of a report, about: it sets how many are drawn one by one before they are encoded

    @classmethod
    def of(cls, function: Callable[..., Any], reading: Reading, inputs: Sequence[Any] = ()) -> Sampler:
        """The sampler of a function whose reports are read in this way; its inputs are those of the reading.

        ``inputs``: whose support is asked of each report, where the reading says how.
        """
        if reading.support is not None:
            function = supported(function, reading.support, inputs)
        if reading.users == 2:
            function = together(function)
        function = formed(function, reading.form)
        return cls(function, positional(function) >= 3)

    def __call__(self, x: Any, size: int, rng: np.random.Generator, ask: Callable[..., Any] = call) -> Encoded:
        """Reports on one input; `ask` is `call`, or `probe` for one report that must come in time."""
        if size == 0:
            return {}
        if self.vectorized:
            return self._encoded(ask(lambda value: self.function(value, size, rng), x), size, x)
        return self._encoded([ask(self.function, x) for _ in range(size)], size, x)

    def _encoded(self, reports: Any, size: int, x: Any) -> Encoded:
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
        return [join_all(of_one) for of_one in zip(*drawn, strict=True)]
