"""Gaussian noise on counts, rounded to integers."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.count_noise import CountNoise


@dataclass(frozen=True, slots=True)
class RoundedGaussian(CountNoise):
    """Counts plus normal noise that is rounded to the nearest integer.

    Rounding the noise, or the noisy count, is the same: counts are integers. The sampler rounds floats of a normal law, whose
    tails end: the law is right to about 2**-53 of each probability that is not tiny.

    Parameters
    ----------
    sigma : Fraction
        Standard deviation of the noise before it is rounded, above 0 and at most 2**40.

    Examples
    --------
    >>> RoundedGaussian(5).sigma
    Fraction(5, 1)
    """

    core = "discrete_laplace"
    title = "rounded Gaussian noise on counts"
    size = ("sigma", 1 << 40)  # so that a view is an integer that a float holds

    sigma: Fraction
    change: tuple[int, ...] = (1,)

    @property
    def variance(self) -> Fraction:
        """A bound of it, from above: rounding adds less than the variance of a uniform number, and pulls towards 0."""
        return self.sigma**2 + Fraction(1, 12)

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.rint(rng.normal(0.0, float(self.sigma), size)).astype(np.int64)
