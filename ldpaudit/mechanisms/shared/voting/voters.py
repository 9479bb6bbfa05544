"""What THRESH and HEAVYTHRESH share: users who vote for an update and send estimates, each until its counter is spent."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.parameters import odds
from ldpaudit.mechanisms.shared.voting.thresh import Levels, least_changes
from ldpaudit.neighbours import USER_LEVEL


class Spending(NamedTuple):
    """A run: what the centre publishes after each epoch, how many votes each user has cast, and estimates all have sent."""

    published: NDArray[np.float64]
    votes: NDArray[np.int64]
    estimates: int


class Evolving(Mechanism):
    """T epochs of some rounds each; a user's votes and estimates cost the noise levels a and b, from two counters.

    Noise levels are computed to 128 bits, and the counters add them exactly. They may be negative as printed, and then the
    counters never stop a user.
    """

    model = "interactive"
    relations = (USER_LEVEL,)
    unbiased = False

    epochs: int
    rounds: int
    epsilon: Fraction

    @property
    @abstractmethod
    def levels(self) -> Levels:
        """The transcendental parameters."""

    @property
    def a(self) -> Fraction:
        """Noise level of a vote, in nats."""
        return self.levels.vote

    @property
    def b(self) -> Fraction:
        """Noise level of an estimate, in nats."""
        return self.levels.estimate

    @property
    def changes(self) -> NDArray[np.int64]:
        """For every epoch, by how many rounds what a user holds must change for a yes-vote."""
        return least_changes(self.epochs, self.rounds, self.levels.step)

    @property
    def votes(self) -> int:
        """Most yes-votes of one user."""
        return self.allowance(self.a)

    @property
    def estimates(self) -> int:
        """Most estimates of one user."""
        return self.allowance(self.b)

    def allowance(self, level: Fraction) -> int:
        """How often a counter that grows by `level` is below epsilon / 4, in `epochs` times."""
        return min(math.ceil(self.epsilon / 4 / level), self.epochs) if level > 0 else self.epochs

    def within(self, level: Fraction) -> int:
        """How often a counter can grow by `level`, which is above 0, within epsilon / 4, in `epochs` times."""
        return min(int(self.epsilon / 4 / level), self.epochs)

    @property
    def vote_coin(self) -> Fraction:
        """Probability of the likelier value of a published vote, ``e**|a| / (e**|a| + 1)``, rounded down."""
        return odds(abs(self.a))

    @property
    def estimate_coin(self) -> Fraction:
        """Probability of the likelier value of a published estimate of 0 or 1, rounded down."""
        return odds(abs(self.b))

    def bit(self, level: Fraction, coin: Fraction) -> tuple[Fraction, Fraction]:
        """Probability of a published 1 for a bit of 0, ``1 / (e**level + 1)``, and for a bit of 1."""
        return (1 - coin, coin) if level > 0 else (coin, 1 - coin)

    def is_update(self, ones: int, users: int) -> bool:
        """Whether so many published yes-votes of this many users make a global update."""
        no, _ = self.bit(self.a, self.vote_coin)
        return ones > users * (no + self.levels.margin)
