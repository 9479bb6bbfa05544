r"""Discrete Gaussian noise on counts.

Canonne, Kamath, Steinke 2020; Kairouz, Liu, Steinke 2021 for sums of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.shared.count_noise import CountNoise, part_of
from ldpaudit.mechanisms.shared.parameters import ball, integer

_LARGEST = 1 << 40  # of sigma, so that a view fits 64 bits, and squares of it a float
_SHARES = 1 << 20
_AT_ONCE = 1 << 20  # numbers that are drawn together
_DOUBT = 1e-9  # relative; by less than that are the probabilities of coins wrong in floats, where they are floats


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(CountNoise):
    """Counts plus noise that is z with probability proportional to ``e**(-z**2 / (2 sigma**2))``.

    Parameters
    ----------
    sigma : Fraction
        Parameter of the noise, above 0 and at most 2**40; nearly its standard deviation, where it is above 1.

    Examples
    --------
    >>> DiscreteGaussian(Fraction(85402, 10000)).inputs
    ((0,), (1,))
    >>> DiscreteGaussian(5, change=(1, -1)).squared
    2
    """

    core = "discrete_laplace"
    title = "discrete Gaussian noise on counts"
    size = ("sigma", _LARGEST)

    sigma: Fraction
    change: tuple[int, ...] = (1,)

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
        return _drawn(self.sigma**2, size, rng)

    def of_shares(self, honest: int, designed: int) -> DiscreteGaussianShares:
        """Of `honest` shares of the parameter ``sigma / sqrt(designed)`` each."""
        return DiscreteGaussianShares(self.sigma**2 / designed, honest, self.change)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianShares(CountNoise):
    """Counts plus the sum of several independent discrete Gaussian numbers, which is no discrete Gaussian number.

    It is nearly one of their variances' sum where each share has a variance of 2 or more, and nearly none at all where shares
    are hardly ever other than 0: no narrow noise can be shared among many. Kairouz, Liu, Steinke 2021.

    Parameters
    ----------
    share_variance : Fraction
        sigma**2 of each share, from 2**-40 to 2**80; nearly its variance, where it is above 1.
    shares : int
        How many are added, from 1 to 2**20; together of a variance of at most 2**80.

    Examples
    --------
    >>> DiscreteGaussianShares(Fraction(4), shares=90).shares
    90
    >>> DiscreteGaussian(20).of_shares(honest=90, designed=100) == DiscreteGaussianShares(Fraction(4), shares=90)
    True
    """

    core = "discrete_laplace"
    variant = "shares"
    title = "sums of discrete Gaussian noise on counts"
    size = ("share_variance", _LARGEST**2)

    share_variance: Fraction
    shares: int
    change: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        CountNoise.__post_init__(self)
        integer(self, "shares", 1, _SHARES)
        if not 1 / Fraction(_LARGEST) <= self.share_variance <= Fraction(_LARGEST**2, self.shares):
            found = f"share_variance={brief(self.share_variance)} and shares={self.shares}"
            raise ValueError(f"DiscreteGaussianShares needs 2**-40 <= share_variance <= 2**80 / shares, got {found}")

    @property
    def variance(self) -> Fraction:
        """A bound of it, from above, as `DiscreteGaussian.variance` is."""
        return self.share_variance * self.shares

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Sums of discrete Gaussian numbers, each drawn as `DiscreteGaussian.noise` draws it."""
        total, together = np.zeros(size, dtype=np.int64), max(1, _AT_ONCE // max(size, 1))
        for first in range(0, self.shares, together):
            rows = min(together, self.shares - first)
            total += _drawn(self.share_variance, rows * size, rng).reshape(rows, size).sum(axis=0)
        return total

    def of_shares(self, honest: int, designed: int) -> DiscreteGaussianShares:
        """Of that part of the shares; a ValueError where it is no whole number of them."""
        return replace(self, shares=part_of(self, "shares", honest, designed))


def _drawn(variance: Fraction, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Independent discrete Gaussian numbers of parameter `variance`, as `DiscreteGaussian.noise` says."""
    scale = math.isqrt(int(variance)) + 1
    proposal = DiscreteLaplace(Fraction(scale, scale + 1))
    found = np.zeros(0, dtype=np.int64)
    while len(found) < size:
        tried = proposal.noise(2 * (size - len(found)) + 16, rng)
        found = np.concatenate([found, tried[_kept(np.abs(tried), variance, proposal.alpha, rng)]])
    return found[:size]


def _kept(far: NDArray[np.int64], exactly: Fraction, alpha: Fraction, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Coins of probability ``exp(-(far - variance log(1/alpha))**2 / (2 variance))``."""
    variance, rate = float(exactly), -math.log(alpha)
    chance = np.exp(-((far - variance * rate) ** 2) / (2 * variance))
    tried = rng.random(len(far))  # 53 digits
    coins: NDArray[np.bool_] = tried < chance
    for place in np.flatnonzero(np.abs(tried - chance) <= _DOUBT * chance + 2.0**-52):
        exact = Fraction(float(tried[place])) + Fraction(int.from_bytes(rng.bytes(16)), 1 << (53 + 128))
        with working_precision(256):
            gap = int(far[place]) + ball(exactly) * ball(alpha).log()
            coins[place] = bool(ball(exact) < (-gap * gap / (2 * ball(exactly))).exp())
    return coins
