"""Gaussian noise on counts.

Dwork, Kenthapadi, McSherry, Mironov, Naor 2006.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.count_noise import CountNoise


@dataclass(frozen=True, slots=True)
class Gaussian(CountNoise):
    """Counts plus normal noise. A view is a row of floats.

    What accountants and proofs say is about real numbers. This sampler, as any that adds floats, leaks more: which
    floats can be reached depends on the input (Mironov 2012). Deploy discrete noise, or round.

    Parameters
    ----------
    sigma : Fraction
        Standard deviation of the noise, above 0.

    Examples
    --------
    >>> Gaussian(Fraction(51904, 10000), change=(1, -1)).squared
    2
    >>> Gaussian(5).sigma
    Fraction(5, 1)
    """

    core = "discrete_laplace"
    title = "Gaussian noise on counts"
    size = ("sigma", None)
    continuous = True

    sigma: Fraction
    change: tuple[int, ...] = (1,)

    @property
    def variance(self) -> Fraction:
        return self.sigma**2

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.normal(0.0, float(self.sigma), size)
