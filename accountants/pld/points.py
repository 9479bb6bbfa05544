"""Total losses of some runs of one law with their tilted masses, listed: all of them, or a window for coins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_window
from ldpaudit.accountants.numerics.cached import cached
from ldpaudit.accountants.numerics.search import halved
from ldpaudit.accountants.numerics.trinomial import beyond, descending, reach
from ldpaudit.accountants.pld.distribution import PrivacyLossDistribution
from ldpaudit.accountants.pld.lattice import Point

MOST_POINTS = 1 << 13
"""Most losses that are listed before they are discretized; with 2**11 an epsilon of 1e5 weak runs is known to 5e-5, not 2e-5."""
DEPTH = 54  # tilted tails below 2**-54 are left out and counted as outside, one digit below a float


@dataclass(frozen=True)
class Tilted:
    r"""Finite losses under the tilt :math:`e^{\lambda L}`, at the precision of the first use."""

    law: PrivacyLossDistribution  # with at least one loss that is not 0
    tilt: Fraction  # lambda, at least 0

    @cached
    def losses(self) -> tuple[flint.arb, ...]:
        """Finite losses, decreasing."""
        return self.law.loss_balls()

    @cached
    def _weights(self) -> tuple[flint.arb, ...]:
        rate = ball(self.tilt)
        pairs = zip(self.law.masses(), self.losses, strict=True)
        return tuple(mass * (rate * loss).exp() for mass, loss in pairs)

    @cached
    def total(self) -> flint.arb:
        """The normalizing constant Z, by which the tilted masses are divided."""
        return sum(self._weights, flint.arb(0))

    @cached
    def masses(self) -> tuple[flint.arb, ...]:
        """Tilted masses, which sum to 1."""
        return tuple(weight / self.total for weight in self._weights)

    def values(self, times: int) -> int:
        """Upper bound of the number of different total losses of this number of runs."""
        size = len(self.losses)
        return math.comb(times + size - 1, size - 1)

    def runs(self, times: int) -> int:
        """The largest number of runs, at least 1, whose total losses may be listed."""
        return max(1, halved(lambda runs: self.values(runs) > MOST_POINTS, 1, times + 1) - 1)

    def points(self, times: int) -> list[Point]:
        """Every total loss of this number of runs: the multinomial law."""
        if times == 1:  # there may be thousands of losses, one recursion each
            return list(zip(self.losses, self.masses, strict=True))
        if len(self.losses) == 1:  # of one loss there may be any number of runs
            return [(self.losses[0] * times, _power(self.masses[0], times))]
        ways = flint.fmpz.fac_ui(flint.fmpz(times))
        return [(loss, mass * ways) for loss, mass in self._spent(times, 0)]

    def _spent(self, times: int, first: int) -> list[Point]:
        """Total losses of runs that show the losses from index `first` on; masses lack the factor ``times!``."""
        if times == 0:
            return [(flint.arb(0), flint.arb(1))]
        loss, mass = self.losses[first], self.masses[first]
        if first == len(self.losses) - 1:
            return [(loss * times, _power(mass, times) / flint.fmpz.fac_ui(flint.fmpz(times)))]
        found, own = self._spent(times, first + 1), mass
        for count in range(1, times + 1):
            found += [(loss * count + rest, own * other) for rest, other in self._spent(times - count, first + 1)]
            own = own * mass / (count + 1)
        return found


def _power(mass: flint.arb, times: int) -> flint.arb:
    """The power of a mass, also of one that may be 0, of which ``mass**times`` is no number."""
    return mass**times if mass > 0 or times == 0 else between(0, mass.abs_upper() ** times)


def coin_indices(tilted: Tilted, times: int) -> tuple[dict[int, flint.arb], flint.arb]:
    """For a coin: tilted masses of the total loss, by its multiple of the coin's loss, and the mass left out."""
    masses = tilted.masses
    if len(masses) == 2:
        window, low, outside = binomial_window(times, masses[0], masses[1], DEPTH)
        return {2 * (low + i) - times: mass for i, mass in enumerate(window)}, outside
    nats = DEPTH * math.log(2)
    p, w, q = masses
    high, low = reach(times, (p, w, q), nats), -reach(times, (q, w, p), nats)
    outside = beyond(times, (p, w, q), high + 1) + beyond(times, (q, w, p), 1 - low)
    found: dict[int, flint.arb] = {}
    ratio, reversal = q / p, (q / p) ** max(high, -low)
    for index, mass in descending(times, (p, w, q), max(high, -low)):
        if index <= high:
            found[index] = mass
        if -index >= low:
            found[-index] = mass * reversal
        reversal /= ratio
    return found, outside


def summed(one: Sequence[Point], other: Sequence[Point]) -> list[Point]:
    """Every sum of two independent losses."""
    return [(a + b, p * q) for a, p in one for b, q in other]
