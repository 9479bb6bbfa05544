"""Two data sets of TrieHH with noisy votes that differ in one user: what each round shows, and how likely.

The user holds a word, some others hold it too, and all the rest hold one other word. So a round shows two numbers at most.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit import errors
from ldpaudit.attacks.attack import TIE, Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter

Growing: TypeAlias = tuple[bool, bool]  # whether the user's prefix grows, and whether the other one does
Numbers: TypeAlias = tuple[int, int]
"""The noisy votes for the user's prefix and for the other one; 0 for one that is not released."""
_WIDTH = 0.02  # log-likelihood ratios that are taken for one, where data sets are compared


@dataclass(frozen=True)
class Atoms:
    """Sets of views of nearly the same likelihood ratio, each with its two probabilities."""

    NOTHING: ClassVar[Atoms]

    first: NDArray[np.float64]  # probabilities on the first and on the second data set
    second: NDArray[np.float64]

    @classmethod
    def of(cls, pairs: list[tuple[float, float]]) -> Self:
        """Views with these pairs of probabilities, merged."""
        return cls._merged(*np.array(pairs).T)

    @classmethod
    def together(cls, atoms: list[Atoms]) -> Self:
        """The views of all of these, which exclude each other."""
        return cls._merged(*(np.concatenate(each) for each in ([a.first for a in atoms], [a.second for a in atoms])))

    def then(self, shown: Atoms) -> Atoms:
        """These views, and then those of an independent round."""
        return self._merged(*(np.outer(x, y).ravel() for x, y in ((self.first, shown.first), (self.second, shown.second))))

    @classmethod
    def _merged(cls, first: NDArray[np.float64], second: NDArray[np.float64]) -> Self:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.round(np.nan_to_num((np.log(first) - np.log(second)) / _WIDTH, nan=0.0))
        place = np.unique(ratios, return_inverse=True)[1].ravel()
        return cls(np.bincount(place, first).astype(np.float64), np.bincount(place, second).astype(np.float64))

    def pairs(self) -> list[tuple[float, float]]:
        """The pairs of probabilities."""
        return [*zip(self.first.tolist(), self.second.tolist(), strict=True)]


Atoms.NOTHING = Atoms(np.ones(1), np.ones(1))


@dataclass(frozen=True)
class Apart:
    """The two data sets."""

    m: NoisyTrieHeavyHitter  # what is declared
    holders: int  # others who hold the user's word
    replaced: bool  # whether the user holds the other word instead, or is not there

    @property
    def atoms(self) -> list[tuple[float, float]]:
        """Probabilities, with the user and without, of what all rounds show, by their total log-likelihood ratio."""
        ended: list[Atoms] = []
        going: dict[Growing, Atoms] = {(True, True): Atoms.NOTHING}
        for _ in range(self.m.levels):
            following: dict[Growing, list[Atoms]] = defaultdict(list)
            for grow, before in going.items():
                there, without = self._laws(*grow)
                rounds: dict[Growing, list[tuple[float, float]]] = defaultdict(list)
                for shown in {**there, **without}:
                    rounds[shown[0] > 0, shown[1] > 0].append((there.get(shown, 0.0), without.get(shown, 0.0)))
                for grown, pairs in rounds.items():
                    following[grown].append(before.then(Atoms.of(pairs)))
            ended += following.pop((False, False), [])
            going = {grown: Atoms.together(atoms) for grown, atoms in following.items()}
        return Atoms.together([*ended, *going.values()]).pairs()

    def attack(self) -> Attack:
        """The pair, with the log-likelihood ratio of a view."""

        def score(views: Views) -> NDArray[np.float64]:
            known: dict[Any, float] = {view: self._score(view) for view in set(views)}
            return np.array([known[view] for view in views], dtype=np.float64)

        return Attack(self.m.one_apart(self.holders, self.replaced), score, "{what is released of the user's prefixes}")

    def bait(self) -> Attack:
        """The pair, with the number of the user's prefixes that are released: what code shows that counts or hides wrongly."""

        def score(views: Views) -> NDArray[np.float64]:
            for view in set(views):
                require_released(view, {*self._own, *self._other}, self.m.batch + self.m.bound)
            return np.array([sum(prefix in self._own for prefix, _ in view) - 0.5 for view in views], dtype=np.float64)

        return Attack(self.m.one_apart(self.holders, self.replaced), score, "{a prefix of the user's is released}")

    def _score(self, view: frozenset[tuple[str, int]]) -> float:
        require_released(view, {*self._own, *self._other}, self.m.batch + self.m.bound)
        total, own, other, numbers = 0.0, True, True, dict(view)
        for prefixes in zip(self._own, self._other, strict=True):
            shown = numbers.get(prefixes[0], 0), numbers.get(prefixes[1], 0)
            total += self._ratio(own, other, shown)
            own, other = shown[0] > 0, shown[1] > 0
            if math.isinf(total) or not (own or other):
                return total
        return total

    @property
    def _own(self) -> list[str]:
        return [self.m.word[: i * self.m.unit] for i in range(1, self.m.levels + 1)]

    @property
    def _other(self) -> list[str]:
        return ["b" * i * self.m.unit for i in range(1, self.m.levels + 1)]

    def _ratio(self, own: bool, other: bool, shown: Numbers) -> float:
        """Log-likelihood ratio of a round in which one prefix or both may grow."""
        there, without = (law.get(shown, 0.0) for law in self._laws(own, other))
        if not (there or without):  # the declared mechanism shows it on neither data set
            return TIE if shown[0] else -TIE
        return math.log(there / without) if there and without else math.inf if there else -math.inf

    def _laws(self, own: bool, other: bool) -> tuple[dict[Numbers, float], dict[Numbers, float]]:
        m, w = self.m, self.holders
        rest = m.users - w
        return _numbers(m, w + 1, rest - self.replaced, own, other), _numbers(m, w, rest, own, other)


def require_released(view: Any, prefixes: Collection[str], most: int = 0) -> None:
    """Check that a view is a set of prefixes that somebody holds, each with a number up to `most` where numbers are shown.

    Raises ValueError where it is not.
    """
    parts: list[Any] = [part if most else (part, 1) for part in view] if isinstance(view, frozenset) else [()]
    for part in parts:
        known = type(part) is tuple and len(part) == 2 and type(part[0]) is str and part[0] in prefixes
        if not (known and isinstance(part[1], int | np.integer) and type(part[1]) is not bool and 1 <= part[1] <= max(most, 1)):
            numbers = f", each with a number from 1 to {most}" if most else ""
            raise ValueError(f"a view is a frozenset of prefixes that somebody holds{numbers}, got {errors.shown(view, 80)}")


@lru_cache(maxsize=256)
def _numbers(m: NoisyTrieHeavyHitter, own: int, other: int, own_grows: bool, other_grows: bool) -> dict[Numbers, float]:
    """Law of what a round shows where this many users hold the two words, and their prefixes may grow or not."""
    users = own + other
    votes = np.arange(max(0, own - (users - m.batch)), min(m.batch, own) + 1)
    ways = [math.comb(m.batch, v) * math.comb(users - m.batch, own - v) / math.comb(users, own) for v in votes.tolist()]
    (rows, first), (columns, second) = _shown(m, votes, own_grows), _shown(m, m.batch - votes, other_grows)
    law = (first.T * np.array(ways)) @ second
    return {(rows[i], columns[j]): float(law[i, j]) for i, j in np.argwhere(law > 0).tolist()}


def _shown(m: NoisyTrieHeavyHitter, votes: NDArray[np.int64], grows: bool) -> tuple[list[int], NDArray[np.float64]]:
    """The numbers that may be shown, and their probabilities for each number of votes, a row each."""
    noises = np.arange(-m.bound, m.bound + 1)
    noisy = votes[:, None] + noises
    shown = np.where((noisy >= m.least) & grows, noisy, 0)
    numbers, place = np.unique(shown, return_inverse=True)
    law = np.zeros((len(votes), len(numbers)))
    masses = [float(m.noise.probability(i)) for i in noises.tolist()]
    np.add.at(law, (np.arange(len(votes))[:, None], place.reshape(shown.shape)), masses)
    return numbers.tolist(), law
