"""Two data sets of TrieHH with noisy votes that differ in one user: what each round shows, and how likely.

The user holds a word, some others hold it too, and all the rest hold one other word. So a round shows two numbers at most.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter

Numbers: TypeAlias = tuple[int, int]
"""The noisy votes for the user's prefix and for the other one; 0 for one that is not released."""
TIE = 1e-6
"""Score of a release of the user's prefix that the declared mechanism shows on neither data set."""


@dataclass(frozen=True)
class Apart:
    """The two data sets.

    Parameters
    ----------
    m : NoisyTrieHeavyHitter
        What is declared.
    holders : int
        Others who hold the user's word.
    replaced : bool
        Whether the user holds the other word instead, or is not there.
    """

    m: NoisyTrieHeavyHitter
    holders: int
    replaced: bool

    @property
    def atoms(self) -> list[tuple[float, float]]:
        """Probabilities, with the user and without, of what the first round shows."""
        there, without = self._laws(True, True)
        return [(there.get(y, 0.0), without.get(y, 0.0)) for y in {**there, **without}]

    def attack(self) -> Attack:
        """The pair, with the log-likelihood ratio of a view."""
        return Attack(self.m.one_apart(self.holders, self.replaced), self._scores, "{what is released of the user's prefixes}")

    def bait(self) -> Attack:
        """The pair, with the number of the user's prefixes that are released: what code shows that counts or hides wrongly."""

        def score(views: Views) -> NDArray[np.float64]:
            return np.array([sum(prefix in self._own for prefix, _ in view) - 0.5 for view in views], dtype=np.float64)

        return Attack(self.m.one_apart(self.holders, self.replaced), score, "{a prefix of the user's is released}")

    def _scores(self, views: Views) -> NDArray[np.float64]:
        known: dict[Any, float] = {view: self._score(view) for view in set(views)}
        return np.array([known[view] for view in views], dtype=np.float64)

    def _score(self, view: frozenset[tuple[str, int]]) -> float:
        if not all(prefix in self._own or prefix in self._other for prefix, _ in view):
            return TIE
        total, own, other = 0.0, True, True
        for shown in self._rounds(view):
            total += self._ratio(own, other, shown)
            own, other = shown[0] > 0, shown[1] > 0
            if math.isinf(total) or not (own or other):
                return total
        return total

    def _rounds(self, view: frozenset[tuple[str, int]]) -> Iterator[Numbers]:
        numbers = dict(view)
        for own, other in zip(self._own, self._other, strict=True):
            yield numbers.get(own, 0), numbers.get(other, 0)

    @property
    def _own(self) -> list[str]:
        return [self.m.word[: i * self.m.unit] for i in range(1, self.m.levels + 1)]

    @property
    def _other(self) -> list[str]:
        return ["b" * i * self.m.unit for i in range(1, self.m.levels + 1)]

    def _ratio(self, own: bool, other: bool, shown: Numbers) -> float:
        """Log-likelihood ratio of a round in which one prefix or both may grow."""
        there, without = (law.get(shown, 0.0) for law in self._laws(own, other))
        if not (there or without):
            return TIE if shown[0] else -TIE
        return math.log(there / without) if there and without else math.inf if there else -math.inf

    def _laws(self, own: bool, other: bool) -> tuple[dict[Numbers, float], dict[Numbers, float]]:
        m, w = self.m, self.holders
        rest = m.users - w
        return _numbers(m, w + 1, rest - self.replaced, own, other), _numbers(m, w, rest, own, other)


@lru_cache(maxsize=64)
def _numbers(m: NoisyTrieHeavyHitter, own: int, other: int, own_grows: bool, other_grows: bool) -> dict[Numbers, float]:
    """Law of what a round shows where so many users hold the two words, and their prefixes may grow or not."""
    users, noises = own + other, [float(m.noise.probability(i)) for i in range(-m.bound, m.bound + 1)]
    found: dict[Numbers, float] = defaultdict(float)
    for votes in range(max(0, own - (users - m.batch)), min(m.batch, own) + 1):
        ways = math.comb(m.batch, votes) * math.comb(users - m.batch, own - votes) / math.comb(users, own)
        numbers = (_shown(m, votes, noises, own_grows), _shown(m, m.batch - votes, noises, other_grows))
        for x, p in numbers[0].items():
            for y, q in numbers[1].items():
                found[x, y] += ways * p * q
    return dict(found)


def _shown(m: NoisyTrieHeavyHitter, votes: int, noises: list[float], grows: bool) -> dict[int, float]:
    found: dict[int, float] = defaultdict(float)
    for i, p in enumerate(noises, -m.bound):
        found[votes + i if grows and votes + i >= m.least else 0] += p
    return found

