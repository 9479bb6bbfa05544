"""Two-sided geometric noise on votes, truncated on both sides."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.trie.one_round import Votes


@dataclass(frozen=True, slots=True)
class Noise:
    """An integer from -k to k that is i with probability ``C * alpha**|i|``.

    Parameters
    ----------
    alpha : Fraction
        In (0, 1).
    bound : int
        k, at least 1.
    """

    alpha: Fraction
    bound: int

    def probability(self, i: int) -> Fraction:
        """Of the number i."""
        alpha = self.alpha
        most = (1 - alpha) / (1 + alpha - 2 * alpha ** (self.bound + 1))
        return most * alpha ** abs(i) if abs(i) <= self.bound else Fraction(0)

    def shown(self, votes: int, threshold: int) -> dict[int, Fraction]:
        """Law of the number that is shown of this many votes: 0 where that is below the threshold."""
        found: dict[int, Fraction] = defaultdict(Fraction)
        for i in range(-self.bound, self.bound + 1):
            found[votes + i if votes + i >= threshold else 0] += self.probability(i)
        return found

    def law(self, votes: dict[Votes, Fraction], threshold: int) -> dict[Votes, Fraction]:
        """Law of the numbers shown, from the law of the votes."""
        found: dict[Votes, Fraction] = defaultdict(Fraction)
        for counts, chance in votes.items():
            for shown in product(*(self.shown(n, threshold).items() for n in counts)):
                p = chance
                for _, each in shown:
                    p *= each
                found[tuple(n for n, _ in shown)] += p
        return found

    def sample(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent numbers with exactly that law: zero or not, then a sign, then one coin for each step away from 1."""
        numbers = np.zeros(int(np.prod(shape)), dtype=np.int64)
        away = np.flatnonzero(~bernoulli(self.probability(0), len(numbers), rng))
        signs = np.where(bernoulli(Fraction(1, 2), len(away), rng), 1, -1)
        for size in range(1, self.bound + 1):
            numbers[away] = size * signs
            steps = self.alpha * (1 - self.alpha ** (self.bound - size)) / (1 - self.alpha ** (self.bound - size + 1))
            on = bernoulli(steps, len(away), rng)
            away, signs = away[on], signs[on]
            if not len(away):
                break
        return numbers.reshape(shape)
