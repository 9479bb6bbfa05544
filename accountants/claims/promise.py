"""What a source promises of a mechanism, and hypotheses and words that several of its statements share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanism import Mechanism
from ldpaudit.profile import PrivacyProfile, bracket

ABSENT = "histograms of size 1 leave no room for an absent user"
"""Why a user who leaves is a question of ours, where neighbours are histograms at distance 1."""
LITERAL = "neighbours are histograms at distance 1, and a user's histogram has size 1"
"""A reading, by which every mechanism of local users is private."""
VACUOUS = Enclosure.of(0, source="no two histograms of size 1 are at distance 1")
"""What is found by that reading."""


@dataclass(frozen=True)
class Promise(ABC):
    """(epsilon, delta)-privacy; the other parameters are a statement's own."""

    epsilon: Fraction  # in nats, above 0
    delta: Fraction  # in (0, 1)

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism with the parameters that are printed for this promise."""

    @property
    def small(self) -> Hypothesis:
        """That epsilon is at most 1."""
        return Hypothesis("epsilon <= 1", self.epsilon <= 1)

    @property
    def at(self) -> str:
        """What is found: epsilon at this delta."""
        return f"epsilon at delta={float(self.delta):g}"


@dataclass(frozen=True)
class LocalPromise(Promise):
    """What HKR12 promises of a heavy hitter's name."""

    beta: Fraction  # probability of failure, in (0, 1)
    domain: int  # N
    users: int  # n

    @property
    def inside(self) -> Hypothesis:
        """Of Theorem 2.5, by which the promises are proved."""
        return Hypothesis("0 < epsilon, delta < 1 (Theorem 2.5)", 0 < self.epsilon < 1 and 0 < self.delta < 1)


@dataclass(frozen=True)
class ShuffledPromise(Promise):
    """What GGKPV promises of shuffled messages."""

    users: int  # n

    @property
    @abstractmethod
    def beta(self) -> Fraction:
        """Probability with which an error may be exceeded, in (0, 1)."""

    def __post_init__(self) -> None:
        _ = self.mechanism  # refuses the rest
        if not 0 < self.beta < 1:
            raise ValueError(f"Setting needs 0 < beta < 1, got beta={self.beta}")

    @property
    def power(self) -> Hypothesis:
        """That n is a power of two."""
        return Hypothesis("n is a power of two above 1", self.users > 1 and not self.users & (self.users - 1))


def least_scale(profile: Callable[[Fraction], PrivacyProfile], epsilon: Fraction, delta: Fraction) -> Enclosure:
    """Least scale of the noise with which a promise is kept, by the exact accountant.

    ``profile``: by the scale. Returns relative width 2**-46: the promise is certified at the upper end; it was not at the
    lower one.
    """
    least = bracket(lambda scale: profile(Fraction(scale)).delta(epsilon).high <= delta)
    return Enclosure(*least, Rigour.INTERVAL, "bisection of the exact profile")


def union(once: Enclosure, times: int, source: str) -> Enclosure:
    """The probability that any of `times` events of a probability occurs: at most their sum."""
    return Enclosure.of(0, Fraction(once.high) * times, rigour=Rigour.INTERVAL, source=source).clamp(0.0, 1.0)
