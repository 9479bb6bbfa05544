r"""Subset selection: a set of d values, which contains the true one more often than chance.

Ye, Barg 2018; Wang, Huang, Wang, Nie, Xu, Yang, Li, Li 2016.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Rows
from ldpaudit.mechanisms.shared.coins import bernoulli, uniform_subset
from ldpaudit.mechanisms.shared.parameters import half_open, integer, odds
from ldpaudit.mechanisms.shared.values import BitVector, LinearEstimate
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class SubsetSelection(LinearEstimate, BitVector):
    """A `d`-subset: with probability `p` a uniform one that contains the value, else a uniform one that does not.

    A view is a row of `k` bits, `d` of them set.

    Parameters
    ----------
    d : int
        Size of the subset, from 1 to ``k - 1``.
    p : Fraction
        Probability that it contains the value, ``d/k <= p < 1``.

    Examples
    --------
    >>> m = SubsetSelection(k=4, d=2, p=Fraction(3, 4))
    >>> m.law(0).probability((1, 0, 1, 0)), m.law(0).probability((0, 1, 1, 0))
    (Fraction(1, 4), Fraction(1, 12))
    """

    title = "subset selection"
    calibrated = ("for_epsilon", "optimal")

    k: int
    d: int
    p: Fraction

    def __post_init__(self) -> None:
        integer(self, "k", 2)
        integer(self, "d", 1, self.k - 1)
        half_open(self, "p", Fraction(self.d, self.k), "d/k <= p < 1", d=self.d, k=self.k)

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int, d: int) -> Self:
        """The most accurate one with this `d`, rounded down: ``p = d e**epsilon / (d e**epsilon + k - d)``."""
        if not 1 <= d <= k - 1:
            raise ValueError(f"SubsetSelection needs k >= 2 and 1 <= d <= k - 1, got d={d} with k={k}")
        return cls(k, d, odds(epsilon, Fraction(k - d, d)))

    @classmethod
    def optimal(cls, epsilon: Number, k: int) -> Self:
        """The size next to ``k / (e**epsilon + 1)``, from below or above, whose estimates vary less."""
        size = int(k * (1 - odds(epsilon)))
        sizes = {min(max(d, 1), k - 1) for d in (size, size + 1)}
        return min((cls.for_epsilon(epsilon, k, d) for d in sorted(sizes)), key=cls._variance)

    def _variance(self) -> Fraction:
        """Variance of one view's estimate, summed over the values."""
        noise = self.p * (1 - self.p) + (self.k - 1) * self.other * (1 - self.other)
        return noise / (self.p - self.other) ** 2

    @property
    def other(self) -> Fraction:
        """Probability that the subset contains a given value that is not the true one."""
        return (self.d - self.p) / (self.k - 1)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
        self.require_input(x)
        views = np.empty((size, self.k), dtype=np.int8)
        views[:, x] = inside = bernoulli(self.p, size, rng)
        others = np.arange(self.k) != x
        for rows, d in ((inside, self.d - 1), (~inside, self.d)):
            views[np.ix_(rows, others)] = uniform_subset(self.k - 1, d, int(np.count_nonzero(rows)), rng)
        return views

    def law(self, x: int) -> Law:
        """Law on rows with `d` bits set: two values."""
        self.require_input(x)
        inside = self.p / comb(self.k - 1, self.d - 1)
        outside = (1 - self.p) / comb(self.k - 1, self.d)

        def views() -> list[tuple[int, ...]]:
            subsets = map(set, combinations(range(self.k), self.d))
            return [tuple(int(v in s) for v in range(self.k)) for s in subsets]

        every = Rows((range(2),) * self.k, lambda rows: rows.sum(axis=1) == self.d, views)
        return Law(lambda row: inside if row[x] else outside, lambda: every, comb(self.k, self.d))

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        return (total - users * float(self.other)) / float(self.p - self.other)
