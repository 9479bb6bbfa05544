"""Randomizers that are (epsilon, delta)-LDP and nothing less: what GenProt turns into pure ones. They are no stems of their own."""

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.parameters import exact, integer, probability
from ldpaudit.mechanisms.shared.values import KValues
from ldpaudit.profile import Number

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class ShiftedBinomial(Mechanism):
    """A bit plus the number of heads of `trials` fair coins; the ends of the range show the bit.

    Parameters
    ----------
    trials : int
        From 1 to 1,024.
    """

    title = "bit plus a binomial count"

    trials: int

    def __post_init__(self) -> None:
        integer(self, "trials", 1, 1 << 10)

    @property
    def inputs(self) -> range:
        return range(2)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        heads: NDArray[np.int64] = bernoulli(_HALF, (size, self.trials), rng).sum(axis=1, dtype=np.int64)
        return heads + int(x)

    def law(self, x: int) -> Law:
        self.require_input(x)
        whole = 1 << self.trials

        def probability_of(y: int) -> Fraction:
            return Fraction(comb(self.trials, y - x) if y >= x else 0, whole)

        return Law(probability_of, lambda: range(self.trials + 2), self.trials + 2)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        ones = float(np.sum(views)) - len(views) * self.trials / 2
        return np.array([len(views) - ones, ones])


@dataclass(frozen=True, slots=True)
class LeakyResponse(KValues):
    """With probability `leak` the value in the clear, shown as ``k + x``; else k-ary randomized response.

    For k = 2 the worst (epsilon, delta)-LDP randomizer: all others are post-processings of it (Kairouz, Oh, Viswanath 2015).

    Parameters
    ----------
    k : int
        Number of values, at least 2.
    p : Fraction
        Of randomized response.
    leak : Fraction
        In (0, 1): its delta.
    """

    title = "randomized response that leaks"

    k: int
    p: Fraction
    leak: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", exact(self.p))
        integer(self, "k", 2)
        probability(self, "leak")
        KaryRandomizedResponse(self.k, self.p)

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int, leak: Number) -> Self:
        """The most accurate one that is (epsilon, leak)-LDP."""
        return cls(k, KaryRandomizedResponse.for_epsilon(epsilon, k).p, exact(leak, "leak"))

    @property
    def response(self) -> KaryRandomizedResponse:
        """What hides the value where it does not leak."""
        return KaryRandomizedResponse(self.k, self.p)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        hidden = self.response.sample(x, size, rng)
        return np.where(bernoulli(self.leak, size, rng), self.k + int(x), hidden)

    def law(self, x: int) -> Law:
        hidden = self.response.law(x)

        def probability_of(y: int) -> Fraction:
            if y >= self.k:
                return self.leak if y == self.k + x else Fraction(0)
            return (1 - self.leak) * hidden.probability(y)

        return Law(probability_of, lambda: range(2 * self.k), 2 * self.k)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        counts = np.bincount(np.asarray(views) % self.k, minlength=self.k)
        other = (1 - self.leak) * self.response.lie
        own = self.leak + (1 - self.leak) * self.p
        return np.asarray((counts - len(views) * float(other)) / float(own - other), dtype=np.float64)
