"""THRESH on users who are known by the group that they draw from: only how many are in each state is simulated.

A user's state is the count that it compares with and the number of votes that it has cast; users of one group in one state are
alike, so that a run costs what there are states, and not what there are users.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_SPREAD = 10
"""Standard deviations, and a hundred counts more, on either side of a mean that counts are drawn from: the rest has a probability
below 1e-22."""
_SURE = 1e-12
"""Probabilities of a vote that are this near to 0 or 1 are taken for that: sums of ten thousand floats know no better."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Law of a user's number of ones in an epoch: binomial, as float probabilities of consecutive counts.

    Probabilities follow from the ratios of neighbours, and are right to some 1e-12 of themselves.
    """

    least: int
    chances: NDArray[np.float64]

    @classmethod
    def of(cls, rounds: int, mean: float) -> Counts:
        """Of this many draws."""
        reach = int(_SPREAD * (rounds * mean * (1 - mean)) ** 0.5) + 100
        least, most = max(0, int(rounds * mean) - reach), min(rounds, int(rounds * mean) + reach)
        if mean in (0.0, 1.0):
            return cls(round(rounds * mean), np.ones(1))
        k = np.arange(least, most)
        logs = np.concatenate([[0.0], np.cumsum(np.log((rounds - k) / (k + 1)) + np.log(mean) - np.log1p(-mean))])
        masses = np.exp(logs - logs.max())
        return cls(least, masses / masses.sum())

    @property
    def values(self) -> NDArray[np.int64]:
        """The counts."""
        return self.least + np.arange(len(self.chances))

    def far(self, references: NDArray[np.int64], change: int) -> NDArray[np.float64]:
        """Probability of a count that differs from a reference by at least `change`, for each reference."""
        below = np.concatenate([[0.0], np.cumsum(self.chances)])
        low, high = (np.clip(references + side * change - self.least + (side < 0), 0, len(self.chances)) for side in (-1, 1))
        found: NDArray[np.float64] = below[low] + below[-1] - below[high]
        return np.where(found < _SURE, 0.0, np.where(found > 1 - _SURE, 1.0, found))

    def drawn(self, users: int, allowed: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
        """How many of some users draw each count, among those that are allowed."""
        weights = np.where(allowed, self.chances, 0.0)
        return rng.multinomial(users, weights / weights.sum())


@dataclass(slots=True)
class Group:
    """Users of one group: how many compare with each of `references`, by the number of votes that they have cast."""

    references: NDArray[np.int64]
    users: dict[int, NDArray[np.int64]]
    most: int
    voting: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def fresh(cls, users: int, start: int, most: int) -> Group:
        """Nothing spent; all compare with `start`."""
        return cls(np.array([start]), {0: np.array([users])}, most)

    def vote(self, law: Counts, change: int, rng: np.random.Generator) -> int:
        """How many vote yes in an epoch; who does is held until `settle` or `update`."""
        chances = law.far(self.references, change)
        self.voting = {cast: rng.binomial(number, chances) for cast, number in self.users.items() if cast < self.most}
        return int(sum(yes.sum() for yes in self.voting.values()))

    def settle(self) -> None:
        """An epoch without an update: who has voted has cast one more."""
        self.users = self._settled({cast: yes for cast, yes in self.voting.items() if yes.any()})

    def _settled(self, voting: dict[int, NDArray[np.int64]]) -> dict[int, NDArray[np.int64]]:
        found: dict[int, NDArray[np.int64]] = defaultdict(lambda: np.zeros(len(self.references), dtype=np.int64))
        for cast, number in self.users.items():
            found[cast] = found[cast] + number - voting.get(cast, 0)
            if cast in voting:
                found[cast + 1] = found[cast + 1] + voting[cast]
        return {cast: number for cast, number in found.items() if number.any()}

    def update(self, law: Counts, change: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """An epoch with one: users compare with what they have drawn; how many have drawn each count."""
        found: dict[int, NDArray[np.int64]] = defaultdict(lambda: np.zeros(len(law.chances), dtype=np.int64))
        for cast, number in self.users.items():
            if cast not in self.voting:
                found[cast] = found[cast] + law.drawn(int(number.sum()), np.ones(len(law.chances), dtype=np.bool_), rng)
                continue
            yes = self.voting[cast]
            found[cast + 1] = found[cast + 1] + self._redrawn(law, change, yes, True, rng)
            found[cast] = found[cast] + self._redrawn(law, change, number - yes, False, rng)
        self.references, self.users = law.values, {cast: number for cast, number in found.items() if number.any()}
        return np.asarray(sum(self.users.values()), dtype=np.int64)

    def _redrawn(
        self, law: Counts, change: int, users: NDArray[np.int64], voted: bool, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """What users have drawn of whom it is known that they voted, or did not; those whom that tells nothing together."""
        chances = law.far(self.references, change)
        untold = chances == float(voted)
        found = law.drawn(int(users[untold].sum()), np.ones(len(law.chances), dtype=np.bool_), rng)
        for place in np.flatnonzero(users * ~untold):
            far = np.abs(law.values - self.references[place]) >= change
            found = found + law.drawn(int(users[place]), far if voted else ~far, rng)
        return found

    @property
    def cast(self) -> NDArray[np.int64]:
        """How many users have cast 0, 1, 2, ... votes."""
        found = np.zeros(max(self.users) + 1, dtype=np.int64)
        for cast, number in self.users.items():
            found[cast] = number.sum()
        return found


def ones_of(law: Counts, rounds: int, drawn: NDArray[np.int64], rng: np.random.Generator) -> int:
    """How many of the users who drew each count take a one, each at random from its own draws."""
    return int(rng.binomial(drawn, law.values / rounds).sum())
