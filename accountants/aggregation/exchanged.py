r"""Sums of reports in which one value's law is another's with two coordinates exchanged, such as one-hot vectors and subsets.

*From above*: a sum is computed from the shuffled reports; and where the adversary knows all reports but for which of the two
coordinates user 1's adds to, only the noise of aggregators hides that.

*From below*: at a data set, what is computed from a sum: user 1's first count, or the difference of the two counts, whose law is
that of a sum of independent steps of -1, 0 or 1. Where the counts are nearly normal and equally noisy, the difference tells nearly
everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import Pair, TwoCoordinates, largest_low
from ldpaudit.accountants.aggregation.envelope import Others, coin
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_FEW = 4
"""Others up to whom all data sets of user 1's two values and a third one are tried, at most 15; else corners and a middle."""
TINY = 1e-30
"""Delta at which an epsilon at delta = 0 is bounded from below, where there is noise that may have losses without bound."""


@dataclass(frozen=True)
class Exchanged:
    """What a report adds to the counts of user 1's two values; of the other value's, the same with the counts exchanged."""

    first: Fraction  # P[it adds to the first count alone | the first value]
    second: Fraction  # P[it adds to the second count alone | the first value]
    one: Fraction  # P[it adds to the first count | the first value]
    zero: Fraction  # the same of the second value, and of a third
    third: Fraction | None  # P[it adds to the first count alone | a third value], as to the second; None where there is none


@dataclass(frozen=True)
class ExchangedProfile(PrivacyProfile):
    """Profile of such a sum."""

    users: int
    counts: Exchanged
    rounds: int  # that are summed one by one
    added: tuple[Masses, ...]  # laws of the aggregators' noise
    above: PrivacyProfile  # what bounds it

    def delta(self, epsilon: Number) -> Enclosure:
        """From what a data set attains."""
        return self._enclosure(largest_low(self._seen, float(require_epsilon(epsilon))), self.above.delta(epsilon))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`."""
        goal = max(round_up(Fraction(require_delta(delta))), TINY)
        return self._enclosure(max(each.epsilon(goal) for each in self._seen), self.above.epsilon(delta))

    def _enclosure(self, low: float, above: Enclosure) -> Enclosure:
        source = f"the sum of {self.users} reports; above: {above.source}; below: a count, or the difference of two, at a data set"
        return Enclosure.met(low, above.high, Rigour.INTERVAL, source)

    @cached
    def _seen(self) -> tuple[TwoCoordinates, ...]:
        """The laws of what is computed, at all data sets that are tried."""
        pairs = (pair for held in self._data_sets() for pair in (self._difference(*held), self._count(held[0])))
        return tuple(
            TwoCoordinates(reduce(Pair.times, [each] * self.rounds).coarse())
            for pair in pairs
            for each in (pair, pair.reversed)
        )

    def _data_sets(self) -> Iterator[tuple[int, int]]:
        """How many others hold user 1's first value, and how many the second."""
        n, is_third = self.users - 1, self.counts.third is not None
        if n <= _FEW:
            yield from ((a, b) for a in range(n + 1) for b in range(n + 1 - a) if is_third or a + b == n)
        else:
            yield from ((n, 0), (0, n), (n // 2, n - n // 2), *([(0, 0)] if is_third else []))

    def _count(self, held: int) -> Pair:
        """The laws of the first count."""
        return Others(self.users - 1, coin(self.counts.one), coin(self.counts.zero), self.added).holding(held)

    def _difference(self, first: int, second: int) -> Pair:
        """The laws of the first count less the second."""
        own, third = _step(self.counts.first, self.counts.second), self.counts.third
        groups = [(own, first), (own.mirrored, second)]
        if third is not None:
            groups.append((_step(third, third), self.users - 1 - first - second))
        noise = [law for each in self.added for law in (each, each.mirrored)]
        laws = [*(law.times(times) for law, times in groups), *noise]
        others = reduce(Masses.plus, sorted(laws, key=lambda law: len(law.values)))
        return Pair.of(others.plus(own), others.plus(own.mirrored))


def _step(up: Fraction, down: Fraction) -> Masses:
    """Of 1 and -1 with these probabilities, else 0."""
    return Masses(-1, np.array([float(down), float(1 - up - down), float(up)]), UNIT, 0.0)
