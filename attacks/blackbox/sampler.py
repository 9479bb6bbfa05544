"""Reports of a callable, drawn and encoded: in bulk where it takes a size, else one after the other in random order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import call, in_order, one_by_one, positional
from ldpaudit.attacks.blackbox.canonical import formed
from ldpaudit.attacks.blackbox.encoding import Encoded, encode
from ldpaudit.attacks.blackbox.two_users import together
from ldpaudit.experiment import Reading


@dataclass(frozen=True, slots=True)
class Sampler:
    """``(x, size, rng) -> encoded reports``.

    Parameters
    ----------
    function : callable
        ``x -> report``, or ``(x, size, rng) -> reports``.
    vectorized : bool
        Which of the two.
    """

    function: Callable[..., Any]
    vectorized: bool

    @classmethod
    def of(cls, function: Callable[..., Any], reading: Reading) -> Sampler:
        """The sampler of a function whose reports are read in this way; its inputs are those of the reading."""
        if reading.users == 2:
            function = together(function)
        function = formed(function, reading.form)
        return cls(function, positional(function) >= 3)

    def __call__(self, x: Any, size: int, rng: np.random.Generator, ask: Callable[..., Any] = call) -> Encoded:
        """Reports on one input; `ask` is `call`, or `probe` for one report that must come in time."""
        if size == 0:
            return {}
        if self.vectorized:
            return encode(ask(lambda value: self.function(value, size, rng), x), size, x)
        return encode([ask(self.function, x) for _ in range(size)], size, x)

    @property
    def one_by_one(self) -> bool:
        """Whether the function makes one report after the other."""
        return one_by_one(self.function)

    def mixed(self, xs: Sequence[Any], order: NDArray[np.int64]) -> list[Encoded]:
        """One report after the other, on these of the inputs; encoded for each input."""
        return [encode(made, len(made), x) for x, made in zip(xs, in_order(self.function, xs, order.tolist()), strict=True)]

    def each(self, xs: Sequence[Any], size: int, rng: np.random.Generator) -> list[Encoded]:
        """The same number of reports on each input, in random order where the function makes one after the other."""
        if self.one_by_one:
            return self.mixed(xs, rng.permutation(np.repeat(np.arange(len(xs)), size)))
        return [self(x, size, rng) for x in xs]
