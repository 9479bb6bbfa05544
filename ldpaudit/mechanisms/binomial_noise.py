"""Binomial noise on counts.

Dwork, Kenthapadi, McSherry, Mironov, Naor 2006; Agarwal, Suresh, Yu, Kumar, McMahan 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law
from ldpaudit.mechanisms.shared.count_noise import CountNoise, part_of
from ldpaudit.mechanisms.shared.independent_bits import shifted_binomials
from ldpaudit.mechanisms.shared.parameters import integer, probability


@dataclass(frozen=True, slots=True)
class BinomialNoise(CountNoise):
    """Counts plus the number of heads of `coins` coins each; an estimate takes the mean off.

    Parameters
    ----------
    coins : int
        Number of coins for each count, at least 1 and at most 2**49.
    gamma : Fraction
        Probability of heads, in (0, 1).

    Examples
    --------
    >>> BinomialNoise(1000).mean
    Fraction(500, 1)
    >>> BinomialNoise(2, Fraction(1, 3)).law((0,)).probability((1,))
    Fraction(4, 9)
    """

    core = "discrete_laplace"
    title = "binomial noise on counts"

    coins: int
    gamma: Fraction = Fraction(1, 2)
    change: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        integer(self, "coins", 1, 1 << 49)  # coins, so that their number is a float
        probability(self, "gamma")
        CountNoise.__post_init__(self)

    @property
    def mean(self) -> Fraction:
        """Heads on average."""
        return self.coins * self.gamma

    def of_shares(self, honest: int, designed: int) -> BinomialNoise:
        """The same with that part of the coins; a ValueError where it is no whole number of them."""
        return replace(self, coins=part_of(self, "coins", honest, designed))

    @property
    def variance(self) -> Fraction:
        return self.mean * (1 - self.gamma)

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Numbers of heads, drawn by numpy with gamma as a float."""
        return rng.binomial(self.coins, float(self.gamma), size)

    def law(self, x: tuple[int, ...]) -> Law:
        """Law on rows of counts: products of binomial probabilities."""
        self.require_input(x)
        ranges = [range(min(k, 0), max(k, 0) + self.coins + 1) for k in self.change]
        return shifted_binomials([(self.coins, k) for k in x], self.gamma, ranges)
