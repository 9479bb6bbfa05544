"""Gaussian noise on a number.

Dwork, Kenthapadi, McSherry, Mironov, Naor 2006.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.enclosure import round_up
from ldpaudit.mechanisms.shared.parameters import exact, positive
from ldpaudit.mechanisms.shared.values import IntervalValues
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class GaussianReport(IntervalValues):
    """A number in ``[low, high]`` plus normal noise. A view is a float.

    No epsilon is enough at delta = 0. What accountants and proofs say is about real numbers. This sampler, as any that adds floats,
    leaks more: which floats can be reached depends on the input (Mironov 2012). Deploy a discrete mechanism, or round.

    Parameters
    ----------
    sigma : Fraction
        Standard deviation of the noise, above 0.
    low, high : Fraction
        Ends of the interval of inputs, ``low < high``.
    mu : Number
        The mu of Gaussian differential privacy that the constructor aims at, above 0.

    Examples
    --------
    >>> GaussianReport(sigma=1)
    GaussianReport(sigma=Fraction(1, 1), low=Fraction(0, 1), high=Fraction(1, 1))
    >>> GaussianReport.for_gdp(Fraction(1, 2), low=-1, high=1).sigma
    Fraction(4, 1)
    """

    core = "laplace"
    title = "Gaussian noise on one number"
    continuous = True
    needs_delta = True

    sigma: Fraction
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        self._require_interval()

    @classmethod
    def for_gdp(cls, mu: Number, low: Number = 0, high: Number = 1) -> Self:
        """The most accurate one that is mu-GDP: ``sigma = (high - low) / mu``, exactly."""
        return cls((exact(high) - exact(low)) / positive("mu", mu), exact(low), exact(high))

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        return ceil(self.sensitivity), self.sigma**2

    def sample(self, x: float | Fraction, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        self.require_input(x)
        return rng.normal(float(x), round_up(self.sigma), size)
