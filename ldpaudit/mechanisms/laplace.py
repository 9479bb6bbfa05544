r"""Laplace noise on a number, and on the histogram of one value.

Dwork, McSherry, Nissim, Smith 2006.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.enclosure import round_up
from ldpaudit.mechanisms.shared.parameters import exact, integer, positive
from ldpaudit.mechanisms.shared.projections.noisy_column import NoisyColumn
from ldpaudit.mechanisms.shared.values import IntervalValues, KValues
from ldpaudit.neighbours import ADD_REMOVE, Neighbours
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class Laplace(IntervalValues):
    """A number in ``[low, high]`` plus Laplace noise. A view is a float.

    What accountants and proofs say is about real numbers. This sampler, as any that adds floats, leaks more: which
    floats can be reached depends on the input (Mironov 2012). Deploy a discrete mechanism, or snap.

    Parameters
    ----------
    scale : Fraction
        Scale of the noise, whose density is ``exp(-|z|/scale) / (2 scale)``; above 0.
    low, high : Fraction
        Ends of the interval of inputs, ``low < high``.

    Examples
    --------
    >>> Laplace.for_epsilon(Fraction(1, 2), low=-1, high=1).scale
    Fraction(4, 1)
    """

    title = "Laplace noise on one number"
    continuous = True

    scale: Fraction
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        self._require_interval()

    @classmethod
    def for_epsilon(cls, epsilon: Number, low: Number = 0, high: Number = 1) -> Self:
        """The most accurate one that is epsilon-LDP: ``scale = (high - low) / epsilon``, exactly."""
        return cls((exact(high) - exact(low)) / positive("epsilon", epsilon), exact(low), exact(high))

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        return ceil(self.sensitivity), 2 * self.scale**2

    def sample(self, x: float | Fraction, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        self.require_input(x)
        return rng.laplace(float(x), round_up(self.scale), size)


@dataclass(frozen=True, slots=True)
class LaplaceHistogram(KValues, NoisyColumn):
    """The indicator of a value, or for an absent user zeros, plus Laplace noise on each of its `k` coordinates.

    A view is a row of `k` floats; as for `Laplace`, what is said of privacy is about real numbers.

    Parameters
    ----------
    k : int
        Number of values, at least 2; inputs are ``range(k)``, and None for an absent user.
    scale : Fraction
        Scale of the noise on each coordinate, above 0.

    Examples
    --------
    >>> LaplaceHistogram.for_epsilon(1, k=3)
    LaplaceHistogram(k=3, scale=Fraction(2, 1))
    """

    variant = "histogram"
    title = "Laplace noise on a histogram"
    continuous = True

    k: int
    scale: Fraction

    def __post_init__(self) -> None:
        integer(self, "k", 2)
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int) -> Self:
        """The most accurate one that is epsilon-LDP for replace-one: ``scale = 2 / epsilon``, exactly."""
        return cls(k, 2 / positive("epsilon", epsilon))

    @classmethod
    def as_printed(cls, epsilon: Number, k: int) -> Self:
        """The naive histogram of Hsu, Khanna, Roth 2012, Section 3.1: ``scale = 1 / epsilon``, exactly.

        Epsilon-LDP where one entry changes, as an absent user's; where a value is replaced, 2 epsilon.
        """
        return cls(k, 1 / positive("epsilon", epsilon))

    @property
    def coordinates(self) -> int:
        return self.k

    def column(self, x: int | None) -> NDArray[np.float64]:
        """The indicator of a value."""
        return np.zeros(self.k) if x is None else np.eye(1, self.k, x)[0]

    def pairs(self, neighbours: Neighbours) -> tuple[tuple[int, int | None], ...]:
        """Any two values, or one and an absent user."""
        return ((0, None if neighbours == ADD_REMOVE else self.k - 1),)
