r"""Discrete Gaussian noise on counts.

Canonne, Kamath, Steinke 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.shared.parameters import ball

_LARGEST = 1 << 40
"""Of sigma, so that a view fits 64 bits, and squares of it a float."""
_DOUBT = 1e-9
"""Relative; by less than that are the probabilities of coins wrong in floats, where they are floats."""


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(CountNoise):
    """Counts plus noise that is z with probability proportional to ``e**(-z**2 / (2 sigma**2))``.

    Parameters
    ----------
    sigma : Fraction
        Parameter of the noise, above 0 and at most 2**40; nearly its standard deviation, where it is above 1.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

    Examples
    --------
    >>> DiscreteGaussian(Fraction(85402, 10000)).inputs
    ((0,), (1,))
    >>> DiscreteGaussian(5, change=(1, -1)).squared
    2
    """

    core = "discrete_laplace"
    title = "discrete Gaussian noise on counts"

    sigma: Fraction
    change: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        self._require_positive("sigma", _LARGEST)
        self._require_change()

    @property
    def variance(self) -> Fraction:
        """A bound of it, from above, for the noise is sub-Gaussian (Canonne, Kamath, Steinke 2020)."""
        return self.sigma**2

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """By rejection of discrete Laplace noise of scale about sigma, some 3 of 4 of which are kept.

        Exact, but for what discrete Laplace noise and a coin's first 181 binary digits leave open: less than a relative 2**-120.
        Source: Canonne, Kamath, Steinke 2020, Algorithm 3, with a coin for each noise that is compared with its probability in
        floats, and in balls where these do not decide.
        """
        scale = int(self.sigma) + 1
        proposal = DiscreteLaplace(Fraction(scale, scale + 1))
        found = np.zeros(0, dtype=np.int64)
        while len(found) < size:
            drawn = proposal.noise(2 * (size - len(found)) + 16, rng)
            found = np.concatenate([found, drawn[self._kept(np.abs(drawn), proposal.alpha, rng)]])
        return found[:size]

    def _kept(self, far: NDArray[np.int64], alpha: Fraction, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Coins of probability ``exp(-(far - sigma**2 log(1/alpha))**2 / (2 sigma**2))``."""
        variance, rate = float(self.sigma**2), -math.log(alpha)
        chance = np.exp(-((far - variance * rate) ** 2) / (2 * variance))
        drawn = rng.random(len(far))  # 53 digits
        coins: NDArray[np.bool_] = drawn < chance
        for place in np.flatnonzero(np.abs(drawn - chance) <= _DOUBT * chance + 2.0**-52):
            exact = Fraction(float(drawn[place])) + Fraction(int.from_bytes(rng.bytes(16)), 1 << (53 + 128))
            with working_precision(256):
                gap = int(far[place]) + ball(self.sigma**2) * ball(alpha).log()
                coins[place] = bool(ball(exact) < (-gap * gap / (2 * ball(self.sigma**2))).exp())
        return coins
