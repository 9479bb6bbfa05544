"""THRESH: what it computes from its parameters, what its users do that is not random, and what HEAVYTHRESH shares with it."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS
from ldpaudit.mechanisms.shared.parameters import ball, log2, odds
from ldpaudit.neighbours import USER_LEVEL

_GUARD_BITS = 64


class Levels(NamedTuple):
    """The transcendental parameters, each rounded up to a dyadic rational of 128 bits: the protocol is about these.

    `vote` and `estimate` are the noise levels a and b, `step` is half the distance of two thresholds, and `margin` is
    by how much the mean of the votes must exceed that of noise.
    """

    vote: Fraction
    estimate: Fraction
    step: Fraction
    margin: Fraction


@lru_cache(maxsize=256)
def levels(users: int, epochs: int, rounds: int, delta: Fraction, smallest: int, subgroups: int) -> Levels:
    """Lines 4 and 5 of Algorithm 1, the distance of the thresholds, and the margin of the vote; see `Thresh`."""
    n, length = users, rounds

    def spread() -> flint.arb:
        return (log_of(12 * n * epochs / delta) / (2 * length)).sqrt()

    def b() -> flint.arb:
        root = (log_of(12 * epochs / delta) / (2 * n)).sqrt()
        return flint.arb(2).sqrt() * root / (log2(epochs) * spread() - root)

    return Levels(vote_noise(n, epochs, delta, smallest, subgroups), dyadic(b), dyadic(spread), vote_margin(n, epochs, delta))


def log_of(value: Fraction) -> flint.arb:
    """Natural logarithm, at the current precision."""
    return ball(value).log()


def vote_noise(users: int, epochs: int, delta: Fraction, smallest: int, subgroups: int) -> Fraction:
    """Line 4 of Algorithm 1: the noise level a."""

    def a() -> flint.arb:
        root = (users * log_of(12 * subgroups * epochs / delta)).sqrt()
        return 4 * flint.arb(2).sqrt() * root / (smallest - 3 / flint.arb(2).sqrt() * root)

    return dyadic(a)


def vote_margin(users: int, epochs: int, delta: Fraction) -> Fraction:
    """By how much the mean of the votes must exceed that of noise for a global update."""
    return dyadic(lambda: (log_of(10 * epochs / delta) / (2 * users)).sqrt())


def dyadic(value: Callable[[], flint.arb]) -> Fraction:
    """The value to 128 significant bits, rounded up.

    Raises ValueError where it is not finite at any precision that is tried: a denominator vanishes.
    """
    bits = SIGNIFICANT_BITS + _GUARD_BITS
    for _ in range(5):
        with working_precision(bits):
            found = value()
            if found.is_finite() and found.rel_accuracy_bits() >= SIGNIFICANT_BITS:
                mantissa, exponent = found.upper().man_exp()
                shift = max(0, int(mantissa).bit_length() - SIGNIFICANT_BITS)
                return -(-int(mantissa) // (1 << shift)) * Fraction(2) ** (int(exponent) + shift)
        bits *= 2
    raise ValueError(f"Thresh needs noise levels and thresholds that are finite, got {found}")


@lru_cache(maxsize=256)
def least_changes(epochs: int, rounds: int, step: Fraction) -> NDArray[np.int64]:
    r"""For every epoch t from 1, by how many ones a user's count must change for a yes-vote.

    Level :math:`b^*` votes where :math:`2^{\lfloor\log T\rfloor - b^*}` divides t, so at t the lowest level that votes
    is :math:`\lfloor\log T\rfloor - \nu(t)`, with :math:`2^\nu` the largest power of 2 that divides t, and a user votes
    just where the change exceeds its threshold :math:`\tau = 2 (\lfloor\log T\rfloor - \nu + 1)` steps. Level -1 never
    votes: no t divides by so high a power.
    """
    return by_epoch(epochs, [int(threshold) + 1 for threshold in thresholds(epochs, rounds, step)])


def thresholds(epochs: int, rounds: int, step: Fraction) -> list[Fraction]:
    """What a change must exceed in epochs that 2**0, 2**1, ... is the largest power of 2 to divide, in rounds."""
    top = epochs.bit_length() - 1
    return [2 * (top - power + 1) * step * rounds for power in range(top + 1)]


def by_epoch(epochs: int, by_power: Sequence[int]) -> NDArray[np.int64]:
    """For every epoch t from 1, the entry of the largest power of 2 that divides t."""
    t = np.arange(1, epochs + 1, dtype=np.int64)
    found: NDArray[np.int64] = np.array(by_power, dtype=np.int64)[np.log2(t & -t).astype(np.int64)]
    found.flags.writeable = False
    return found


@dataclass(slots=True, kw_only=True)
class Users:
    """Counters and references of many users, who are allowed this many votes and estimates each.

    All send estimates in the same epochs, so that one count serves all.
    """

    changes: NDArray[np.int64]
    votes: int
    estimates: int
    cast: NDArray[np.int64]
    reference: Any = None
    """What users compare with; None before the first update, where that is no count."""
    sent: int = 0

    def vote(self, counts: NDArray[np.int64], epoch: int) -> NDArray[np.bool_]:
        """Algorithm 2: who votes yes in an epoch, counted from 0."""
        yes = self._exceeded(counts, epoch) & (self.cast < self.votes)
        self.cast += yes
        return yes

    def _exceeded(self, counts: NDArray[np.int64], epoch: int) -> NDArray[np.bool_]:
        """Whose counts changed by so much that they vote, as far as they may."""
        return np.asarray(np.abs(counts - self.reference) >= self.changes[epoch])

    def update(self, counts: NDArray[np.int64]) -> bool:
        """Algorithm 3, in an epoch with a global update: whether users send estimates."""
        self.reference = counts
        sends = self.sent < self.estimates
        self.sent += sends
        return sends


class Spending(NamedTuple):
    """A run: what the centre publishes after each epoch, how many votes each user has cast, and estimates all have sent."""

    published: NDArray[np.float64]
    votes: NDArray[np.int64]
    estimates: int


class Evolving(Mechanism):
    """T epochs of some rounds each; a user's votes and estimates cost the noise levels a and b, from two counters.

    Noise levels are computed to 128 bits, and the counters add them exactly. They may be negative as printed, and then the
    counters never stop a user.

    Parameters
    ----------
    users : int
        Number n of users, at least 1.
    epsilon : Fraction
        The claim, in nats; a user stops voting, or sending estimates, once the counter of either has reached a quarter of it.
    delta : Fraction
        Failure probability of the accuracy guarantee, in (0, 1).
    smallest : int
        L, a lower bound on the size of the smallest subgroup.
    subgroups : int
        Number m of subgroups, at least 1; ``m * L <= n``.
    """

    model = "interactive"
    relations = (USER_LEVEL,)
    unbiased = False

    epochs: int
    rounds: int
    epsilon: Fraction
    start: int

    @abstractmethod
    def run_and_spend(self, data: Any, rng: np.random.Generator) -> Spending:
        """As `run`, and what each user has spent: of this the centre sees nothing."""

    def run(self, data: Any, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' data to what the centre publishes after each epoch; -1 before the first update."""
        return self.run_and_spend(data, rng).published

    @property
    @abstractmethod
    def differing_votes(self) -> int:
        """In at most this many epochs one of two streams votes yes and the other no."""

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
        """Whether `ones` published yes-votes of `users` users make a global update."""
        no, _ = self.bit(self.a, self.vote_coin)
        return ones > users * (no + self.levels.margin)
