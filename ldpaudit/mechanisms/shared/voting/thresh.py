"""What THRESH computes from its parameters, and what its users do that is not random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS
from ldpaudit.mechanisms.shared.parameters import ball

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


def log2(value: int) -> flint.arb:
    """Logarithm to base 2, at the current precision."""
    return flint.arb(value).log() / flint.arb(2).log()


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


@dataclass
class Users:
    """Counters and references of many users, who are allowed this many votes and estimates each.

    All send estimates in the same epochs, so that one count serves all.
    """

    changes: NDArray[np.int64]
    votes: int
    estimates: int
    reference: NDArray[np.int64]
    cast: NDArray[np.int64]
    sent: int = 0

    @classmethod
    def fresh(cls, changes: NDArray[np.int64], start: int, number: int, votes: int, estimates: int) -> Users:
        """Nothing spent, and no update yet: every user compares with the count `start`."""
        reference = np.full(number, start, dtype=np.int64)
        return cls(changes, votes, estimates, reference, np.zeros(number, dtype=np.int64))

    def vote(self, counts: NDArray[np.int64], epoch: int) -> NDArray[np.bool_]:
        """Algorithm 2: who votes yes in an epoch, counted from 0."""
        yes: NDArray[np.bool_] = np.abs(counts - self.reference) >= self.changes[epoch]
        yes &= self.cast < self.votes
        self.cast += yes
        return yes

    def update(self, counts: NDArray[np.int64]) -> bool:
        """Algorithm 3, in an epoch with a global update: whether users send estimates."""
        self.reference = counts
        sends = self.sent < self.estimates
        self.sent += sends
        return sends
