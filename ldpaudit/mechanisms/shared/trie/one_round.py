"""One round of TrieHH: who may vote for which prefix, the law and samples of the votes, and noise on them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.coins import bernoulli

Words: TypeAlias = tuple[str, ...]
"""What one user holds; a word may appear several times, and () is a user who never votes."""
Data: TypeAlias = tuple[tuple[Words, int], ...]  # users alike, and how many of them
Ballot: TypeAlias = tuple[tuple[int, Fraction], ...]
"""Positions of prefixes with the shares of a sampled user's words that vote for them; the rest is silent."""
Votes: TypeAlias = tuple[int, ...]

_PACKED = 1 << 62


@dataclass(frozen=True, slots=True)
class Round:
    """What a round's votes depend on, with a batch of m users and the threshold theta."""

    prefixes: tuple[str, ...]
    """Those that enough users may vote for."""
    voters: tuple[tuple[Ballot, int], ...]
    """Users with the same ballot, and how many."""
    silent: int
    """All other users."""
    batch: int
    threshold: int

    @classmethod
    def of(cls, data: Data, last: frozenset[str], level: int, unit: int, batch: int, threshold: int) -> Round:
        """The round in which prefixes of `level` units grow from those of the round before."""
        possible: Counter[str] = Counter()
        ballots = [(votes_of(words, last, level, unit), len(words), users) for words, users in data]
        for votes, _, users in ballots:
            for prefix in votes:
                possible[prefix] += users
        # Too few users to be released, ever.
        place = {prefix: i for i, prefix in enumerate(sorted(p for p, n in possible.items() if n >= threshold))}
        alike: Counter[Ballot] = Counter()
        for votes, held, users in ballots:
            alike[tuple(sorted((place[p], Fraction(n, held)) for p, n in votes.items() if p in place))] += users
        silent = alike.pop((), 0)
        return cls(tuple(place), tuple(sorted(alike.items())), silent, batch, threshold)

    def law(self, counts: bool) -> dict[Votes, Fraction]:
        """Law of the votes for each prefix; below the threshold 0, and without counts the threshold above."""
        if len(self.prefixes) == 1 and not counts and all(share == 1 for ((_, share),), _ in self.voters):
            holders = sum(users for _, users in self.voters)
            p = released(holders, holders + self.silent, self.batch, self.threshold)
            return {votes: chance for votes, chance in (((0,), 1 - p), ((self.threshold,), p)) if chance}
        last = {i: at for at, (ballot, _) in enumerate(self.voters) for i, _ in ballot}
        ways: dict[tuple[Votes, int], int | Fraction] = {((0,) * len(self.prefixes), 0): 1}
        for at, (ballot, users) in enumerate(self.voters):
            more: dict[tuple[Votes, int], int | Fraction] = defaultdict(int)
            done = {i for i in last if last[i] == at}
            for (votes, drawn), way in ways.items():
                for j in range(min(users, self.batch - drawn) + 1):
                    for added, chance in _spread(ballot, j):
                        after = self._shown(tuple(n + added.get(i, 0) for i, n in enumerate(votes)), done, counts)
                        more[after, drawn + j] += way * math.comb(users, j) * chance
            ways = more
        found: dict[Votes, int | Fraction] = defaultdict(int)
        for (votes, drawn), way in ways.items():
            found[votes] += way * math.comb(self.silent, self.batch - drawn)
        total = math.comb(self.silent + sum(users for _, users in self.voters), self.batch)
        return {votes: Fraction(way) / total for votes, way in found.items() if way}

    def _shown(self, votes: Votes, done: set[int], counts: bool) -> Votes:
        capped = votes if counts else tuple(min(v, self.threshold) for v in votes)
        return tuple(0 if i in done and v < self.threshold else v for i, v in enumerate(capped))

    def sample(self, counts: bool, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent votes with that law, shape ``(size, prefixes)``."""
        users = [*(n for _, n in self.voters), self.silent]
        drawn = rng.multivariate_hypergeometric(users, self.batch, size)
        votes = np.zeros((size, len(self.prefixes)), dtype=np.int64)
        for at, (ballot, _) in enumerate(self.voters):
            places, shares = [i for i, _ in ballot], [share for _, share in ballot]
            if shares == [1]:
                votes[:, places[0]] += drawn[:, at]
            else:
                chances = [*map(float, shares), float(1 - sum(shares))]
                votes[:, places] += rng.multinomial(drawn[:, at], chances)[:, :-1]
        return np.where(votes >= self.threshold, votes if counts else self.threshold, 0)


@lru_cache(maxsize=1024)
def released(holders: int, users: int, batch: int, threshold: int) -> Fraction:
    """Probability that of this many users a prefix's holders have at least `threshold` votes in a batch."""
    # Drawing the batch or drawing the holders is the same: the fewer are counted.
    few, many = sorted((holders, batch))
    ways = sum(
        math.comb(many, j) * math.comb(users - many, few - j)
        for j in range(max(0, few + many - users), min(threshold, few + 1))
    )
    return 1 - Fraction(ways, math.comb(users, few))


def votes_of(words: Words, last: frozenset[str], level: int, unit: int) -> Counter[str]:
    """For each prefix, how many of a user's words vote for it if they are picked."""
    longer = (w for w in words if len(w) > (level - 1) * unit and (level == 1 or w[: (level - 1) * unit] in last))
    return Counter(w[: level * unit] for w in longer)


def _spread(ballot: Ballot, users: int) -> Iterator[tuple[dict[int, int], int | Fraction]]:
    """How this many sampled users with the same ballot vote, and how likely."""
    if len(ballot) == 1 and ballot[0][1] == 1:
        yield {ballot[0][0]: users}, 1
        return

    def rest(at: int, left: int, chance: Fraction) -> Iterator[tuple[dict[int, int], Fraction]]:
        if at == len(ballot):
            yield {}, chance * (1 - sum(share for _, share in ballot)) ** left
            return
        place, share = ballot[at]
        for j in range(left + 1):
            for others, p in rest(at + 1, left - j, chance * math.comb(left, j) * share**j):
                yield {place: j, **others}, p

    yield from (case for case in rest(0, users, Fraction(1)) if case[1])


def alike(votes: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows, and which of them each row is."""
    columns = votes.shape[1]
    if (most + 1) ** columns < _PACKED:
        weights = (most + 1) ** np.arange(columns, dtype=np.int64)
        _, first, which = np.unique(votes @ weights, return_index=True, return_inverse=True)
        return votes[first], which
    rows, which = np.unique(votes, axis=0, return_inverse=True)
    return rows, which.ravel()


@dataclass(frozen=True, slots=True)
class Noise:
    """An integer from -`bound` to `bound` that is i with probability ``C * alpha**|i|``: noise on votes."""

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
