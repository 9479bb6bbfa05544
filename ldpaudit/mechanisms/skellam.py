"""Skellam noise on counts: the difference of two Poisson numbers.

Agarwal, Kairouz, Liu 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.count_noise import CountNoise


@dataclass(frozen=True, slots=True)
class Skellam(CountNoise):
    """Counts plus the difference of two independent Poisson numbers of mean ``mu / 2`` each.

    Sums of such noises are again of this law, and their mu adds up. Poisson numbers are drawn by numpy, from floats: the law is
    right to about 2**-53 of each probability that is not tiny.

    Parameters
    ----------
    mu : Fraction
        Variance of the noise, above 0 and at most 2**60.

    Examples
    --------
    >>> Skellam(100).mu
    Fraction(100, 1)
    """

    core = "discrete_laplace"
    title = "Skellam noise on counts"
    size = ("mu", 1 << 60)  # so that a Poisson number fits 64 bits

    mu: Fraction
    change: tuple[int, ...] = (1,)

    @property
    def variance(self) -> Fraction:
        return self.mu

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        one, other = rng.poisson(float(self.mu / 2), (2, size))
        return np.asarray(one - other, dtype=np.int64)

    def of_shares(self, honest: int, designed: int) -> Skellam:
        """The same with the part ``honest / designed`` of mu."""
        return replace(self, mu=self.mu * honest / designed)
