r"""Sums of reports that are bounded from below at data sets, and from above by what tells more than the sum.

*Exchanged*: one value's law is another's with two coordinates exchanged, such as one-hot vectors and subsets. From above, a sum is
computed from the shuffled reports; and where the adversary knows all reports but for which of the two coordinates user 1's adds
to, only the noise of aggregators hides that.

From below, at a data set, what is computed from a sum: user 1's first count, or the difference of the two counts, whose law is
that of a sum of independent steps of -1, 0 or 1. Where the counts are nearly normal and equally noisy, the difference tells nearly
everything. Of sketches, all other cells tell how many reports are in those that differ, so that a weighted sum of all tells more.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import ClassVar, NamedTuple

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import Pair, TwoCoordinates, largest_low
from ldpaudit.accountants.aggregation.envelope import coin
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_FEW = 4
"""Others up to whom all data sets of user 1's two values and a third one are tried, at most 15; else corners and a middle."""
_WEIGHED = 1 << 14
"""Most others whose weighted sums are added up: the sum's law is that of as many times more integers as the largest weight."""
_WIDTH = 1e-5
"""Relative, to which an upper epsilon is searched."""
TINY = 1e-30
"""Delta at which an epsilon at delta = 0 is bounded from below, where there is noise that may have losses without bound; and upper
bound of one that needs no better one."""


_BITS, _SMALL, _ROOT = 256, Fraction(1, 1 << 60), 2.0**-180
"""Binary digits of a root, chances that are not below 2**-60, and how far a product with the root is off then, relatively."""


class Step(NamedTuple):
    """Which of the counts of user 1's two values a report adds to."""

    first: Fraction  # P[the first alone]
    second: Fraction  # P[the second alone]
    both: Fraction  # P[both]

    @classmethod
    def mixed(cls, parts: Sequence[tuple[Fraction, Step]]) -> Step:
        """One of these, with these probabilities; else neither count."""
        return cls(*(sum((share * step[place] for share, step in parts), Fraction(0)) for place in range(3)))

    @property
    def mirrored(self) -> Step:
        """With the counts exchanged."""
        return Step(self.second, self.first, self.both)

    @property
    def counted(self) -> Fraction:
        """P[the first, alone or not]."""
        return self.first + self.both

    @property
    def masses(self) -> Masses:
        """The law of the first less the second."""
        return Masses(-1, np.array([float(self.second), float(1 - self.first - self.second), float(self.first)]), UNIT, 0.0)

    def times(self, users: int) -> Masses:
        r"""The same of the sums over this many users.

        A step is the difference of two coins, of chances s and t, where :math:`\sqrt p + \sqrt q \le 1`: then
        :math:`p = s(1-t)` and :math:`q = t(1-s)`, so that t is a root of :math:`t^2 - (1 - p + q)\,t + q`. Coins are summed to more
        digits than steps are, of which as many are lost as n has.
        """
        p, q = self.first, self.second
        if (square := (1 - p + q) ** 2 - 4 * q) < 0 or min(p, q, 1 - p - q) < _SMALL:
            return self.masses.times(users)
        t = (1 - p + q - Fraction(math.isqrt(int(square * 4**_BITS)), 1 << _BITS)) / 2
        found = Masses.binomial(users, t + p - q).plus(Masses.binomial(users, t).mirrored).trimmed
        return replace(found, error=found.error + users * _ROOT)


class OneOf(NamedTuple):
    """A report that adds 1 to the count of one of k values, or to all counts but one."""

    k: int
    p: Fraction  # P[that one is the value held]
    q: Fraction  # P[it is another one], of each of the others
    is_left_out: bool = False  # whether it is the value that nothing is added to


class Place(NamedTuple):
    """A report that adds to one of some places, drawn uniformly: to each of its bits, or to its one sign."""

    places: int
    apart: int  # in which user 1's two values have different laws, of a data set
    most: int  # in which any two values have, at most
    p: Fraction  # P[a bit or sign is not flipped], above 1/2
    bits: int = 0  # of a place; 0 of a sign


@dataclass(frozen=True)
class Exchanged:
    """What a report adds to the counts of user 1's two values."""

    own: Step  # of the first value; of the second one, the same with the counts exchanged
    third: Step | None  # of a third value; None where there is none
    # coordinates of the sum, with the noise of each, of which the difference of the counts adds a number, and takes off another
    cells: tuple[int, int] = (1, 1)
    # what a move from the first value to the second adds to some coordinates, at most
    change: tuple[int, ...] = (1, -1)
    is_counted: bool = True  # whether the sum shows each of the counts, and not only their difference
    one_of: OneOf | None = None  # where a report is so
    place: Place | None = None
    # laws of the most telling weighted sum of what a report adds, of either value, where all others hold the first
    weighed: Callable[[], tuple[Masses, Masses]] | None = None


@dataclass(frozen=True)
class AtDataSets(PrivacyProfile):
    """Profile of what is made of all reports, from what some data sets attain."""

    users: int
    rounds: int  # that are summed one by one
    added: tuple[Masses, ...]  # laws of the aggregators' noise
    above: PrivacyProfile  # what bounds it
    of: ClassVar[str] = "sum"  # what is made of all reports
    below: ClassVar[str]  # what is computed from that

    @property
    @abstractmethod
    def seen(self) -> tuple[TwoCoordinates, ...]:
        """The laws of what is computed, at all data sets that are tried."""

    def _with_parts(self, changed: Callable[[PrivacyProfile], PrivacyProfile]) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return changed(self.above)

    def delta(self, epsilon: Number) -> Enclosure:
        """From what a data set attains."""
        return self._enclosure(largest_low(self.seen, require_epsilon(epsilon)), self.above.delta(epsilon))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`."""
        return self._enclosure(self._low(delta), self.above.epsilon(delta))

    def _low(self, delta: Number) -> float:
        """What epsilon is at a data set."""
        goal = max(round_up(Fraction(require_delta(delta))), TINY)
        return max(each.epsilon(goal) for each in self.seen)

    def _enclosure(self, low: float, above: Enclosure) -> Enclosure:
        source = f"the {self.of} of {self.users} reports; above: {above.source}; below: {self.below}, at a data set"
        return Enclosure.met(low, above.high, Rigour.INTERVAL, source)

    def _repeated(self, pairs: Iterable[Pair]) -> tuple[TwoCoordinates, ...]:
        """Both orders of some pairs of laws, over all rounds."""
        both = (each for pair in pairs for each in (pair, pair.reversed))
        return tuple(TwoCoordinates(each.power(self.rounds).coarse()) for each in both)


@dataclass(frozen=True)
class ToldMore(PrivacyProfile):
    """The upper end of a sum: the least of some bounds, and of what something costs that tells more than the sum."""

    bound: PrivacyProfile  # by which a search begins

    @property
    @abstractmethod
    def told(self) -> str:
        """What is told."""

    @abstractmethod
    def _high(self, epsilon: float, enough: float = 1.0) -> float:
        """Upper bound of delta; or, where it is more, something that is more than enough."""

    def _with_parts(self, changed: Callable[[PrivacyProfile], PrivacyProfile]) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, bound=changed(self.bound))

    def delta(self, epsilon: Number) -> Enclosure:
        """From 0 to the least upper end."""
        found = self.bound.delta(require_epsilon(epsilon))
        return found if found.high <= TINY else self._least(found, self._high(round_down(epsilon), found.high))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From 0 to the least upper end."""
        found, goal = self.bound.epsilon(require_delta(delta)), round_down(Fraction(delta))
        if not (delta and 0 < found.high < math.inf) or self._high(found.high, goal) > goal:
            return found
        least = self._high(0.0) <= goal
        return self._least(found, 0.0 if least else crossing(self._high, goal, found.high / 2, 1.1, _WIDTH)[1])

    def _least(self, found: Enclosure, high: float) -> Enclosure:
        return found if high >= found.high else Enclosure(0.0, high, Rigour.INTERVAL, self.told)


@dataclass(frozen=True)
class ExchangedProfile(AtDataSets):
    """Profile of a sum of reports in which two counts are exchanged."""

    local: PrivacyProfile  # of one report
    counts: Exchanged
    both: Callable[[], Pair | None] = lambda: None  # of both counts, at a data set; it takes up to a second
    below = "a count, or the difference of two, or all of them"

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`; at delta = 0 the local epsilon, unless there is noise: only equal reports have the sum of equal reports."""
        if delta or self.added:
            return super().epsilon(delta)
        top, why = self.local.epsilon(0), "a sum hides nothing at delta = 0: where all reports are equal, it has the local ratio"
        return replace(top, source=f"{why}; {top.source}")

    @cached
    def seen(self) -> tuple[TwoCoordinates, ...]:
        """The laws of what is computed, at all data sets that are tried."""
        found = self._repeated(pair for held in self._data_sets() for pair in self._computed(*held))
        return found if (both := self.both()) is None else (*found, TwoCoordinates(both), TwoCoordinates(both.reversed))

    def _computed(self, first: int, second: int) -> Iterator[Pair]:
        """The laws of the difference, and of the first count where it is seen."""
        own, third, (added, taken) = self.counts.own, self.counts.third, self.counts.cells
        rest = self.users - 1 - first - second
        held = [(own, first), (own.mirrored, second), *([(third, rest)] if third else [])]
        noise = [each.times(added) for each in self.added]
        steps = [*(step.times(users) for step, users in held), *noise, *(each.mirrored.times(taken) for each in self.added)]
        others = reduce(Masses.plus, sorted(steps, key=lambda law: len(law.values)))
        yield Pair.of(others.plus(own.masses), others.plus(own.mirrored.masses))
        if self.counts.is_counted:
            coins = Counter[Fraction]()
            for step, users in held:
                coins[step.counted] += users
            others = reduce(Masses.plus, [*(Masses.binomial(users, p) for p, users in coins.items()), *noise])
            yield Pair.of(*(others.plus(Masses.counts(coin(step.counted))) for step in (own, own.mirrored)))
        if self.counts.weighed and not self.added and first == self.users - 1 <= _WEIGHED:
            laws = self.counts.weighed()
            others = laws[0].times(first)
            yield Pair.of(*map(others.plus, laws))

    def _data_sets(self) -> Iterator[tuple[int, int]]:
        """How many others hold user 1's first value, and how many the second."""
        n, is_third = self.users - 1, self.counts.third is not None
        if n <= _FEW:
            yield from ((a, b) for a in range(n + 1) for b in range(n + 1 - a) if is_third or a + b == n)
        else:
            yield from ((n, 0), (0, n), (n // 2, n - n // 2), *([(0, 0)] if is_third else []))
