"""What is known of a shuffled plan: both ends of epsilon, by a search; its curve; and pairs that compositions are made of."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Self

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.certified_search import RESOLUTION, ROUGH, certified_crossing, guided
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.accountants.pld.curve import dominated_pair, dominating_curve
from ldpaudit.accountants.pld.distribution import Groups
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import OnePairProfile, SummedLosses, UpperEnd
from ldpaudit.accountants.pld.renyi import gdp
from ldpaudit.accountants.shuffling.binary_bound import BinaryBound
from ldpaudit.accountants.shuffling.bounds import Bound, Value
from ldpaudit.accountants.shuffling.clones import TOLERANCE
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import serialized
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.plan import Mixed, Shuffle, Subsample
from ldpaudit.profile import Number, PrivacyProfile, Witness, require_delta, require_epsilon

_ATTEMPTS = 3
"""Data sets tried as the worst one before the upper bound is searched by itself; each is the worst at the last epsilon found."""
_NEARLY = 1 - 1e-6  # part of a report's own epsilon that is not enough where a search that nothing guides is not worth its time
LARGEST = 1e4
"""Nats. Among any number of users a plan of a larger epsilon0 is as private as it is alone, to all digits of a float."""
_COARSE = 1e-3  # relative width at which the arithmetic aims where a curve is only looked at
_COMPOSED, _POINTS, _LOWER_POINTS = 1e-5, 72, 136
"""Relative width at which curves are computed that are composed, and points of upper and of lower ones; with 1e-7 and 256 and 384
twenty shuffles of ternary response take some three times as long, and are known to 1e-4 instead of 6e-4. A lower curve's chords are
extended, which loses three times as much as chords do."""
_DATA_SET = 2e-4
"""The same of a data set: with 1e-5 a curve takes twice as long, and epsilons of compositions move by less than 3e-5."""
_FAR, _STEPS = 20.0, 8
"""Nats of the smallest epsilon at which a curve may end, and of what steps this is found: about a tenth too far."""
_USUAL, _LARGE, _QUICK, _FEW = 1e-6, 1e-2, 100, 16
"""Delta at half of whose epsilon data sets are compared that are composed; and a larger one, for few users, each with two thirds of
the points, and from above as well where a look takes long: a composition of shuffles of a hundred is known by a thousandth of
epsilon less well. Of fewer still, half of these are enough from below, as each takes longer, or a third."""
_LOOSE, _LESS = 0.95, 1e-3
"""Ratio of the ends of epsilon at a usual delta, or at this part of the largest one, up to which half of the looks are enough: the
upper end is some .4 % larger then, and the lower one as much less."""
_EXACT = 1e-9  # relative width up to which the two ends of a worst data set count as one number


@dataclass(frozen=True)
class OneDataSet(OnePairProfile):
    """A lower bound that two data sets attain at every epsilon, with user 1's two values in one order."""

    value: Value  # a ball around its delta, in either direction
    local: PrivacyProfile  # of the unshuffled plan

    def delta(self, epsilon: Number) -> Enclosure:
        """To a relative 2e-4 or so."""
        if require_epsilon(epsilon) >= self.local.epsilon(0).high:
            return Enclosure(0.0, 0.0, Rigour.INTERVAL, "as alone")
        found = self.value(Fraction(epsilon), _DATA_SET)
        return Enclosure.of(found, rigour=Rigour.INTERVAL, source="one data set").clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 that of one report."""
        return self.local.epsilon(0) if require_delta(delta) == 0 else super().epsilon(delta)


@dataclass(frozen=True)
class ShuffleProfile(SummedLosses):
    """What is known of a shuffled plan."""

    plan: Shuffle | Subsample  # the plan, of two users at least; or of a secret sample
    local: PrivacyProfile  # of the unshuffled plan, finite at delta = 0
    bound: Bound  # the theorems
    # relative width of delta at which the arithmetic aims; that between the theorems is not in its hands
    tolerance: float = TOLERANCE
    runs: int = 1  # that are to be composed
    is_lower: bool = False  # whether nothing more is asked for from above than that shuffling never hurts

    def delta(self, epsilon: Number) -> Enclosure:
        """From what a data set attains to what the theorems allow; `Enclosure.relative_width` says how close these are."""
        unshuffled = self.local.delta(require_epsilon(epsilon))
        if unshuffled.high == 0 or math.isinf(epsilon):
            return Enclosure(0.0, unshuffled.high, unshuffled.rigour, "shuffling is post-processing")
        exact = Fraction(epsilon)
        low = self.bound.attained(exact, self.tolerance).value.abs_lower()
        high = flint.arb(unshuffled.high) if self.is_lower else self._hidden(unshuffled, exact, self.tolerance)
        return self._enclosure(round_down(low), round_up(high), unshuffled.high, self._told(exact)).clamp(0.0, 1.0)

    @cached
    def _crowd(self) -> float:
        """The nats that a crowd takes from what a view tells alone, at most: the logarithm of the number of its users."""
        alike = isinstance(self.plan, Shuffle) and not isinstance(self.plan.plan, Mixed)
        return round_up(ball(self.plan.users).log()) if alike else math.inf

    def _told(self, epsilon: Fraction) -> float:
        r"""Of the event that some view is in the best event A of user 1's view alone, where all others hold the second value.

        By the union bound its delta is at least :math:`P_1(A) - n e^\varepsilon P_2(A)`: that alone, log n nats further.
        """
        further = epsilon + Fraction(self._crowd) if self._crowd < math.inf else math.inf
        return self.local.delta(further).low if further < self._pure.high else 0.0

    @cached
    def _pure(self) -> Enclosure:
        """Epsilon of the unshuffled plan at delta = 0."""
        return self.local.epsilon(0)

    @cached
    def _alone(self) -> PrivacyProfile:
        """What the unshuffled plan costs at most."""
        return self.local.upper_end()

    @cached
    def _curve(self) -> UpperEnd:
        """Its upper ends, of which compositions are made."""
        quick = replace(self, bound=self.bound.quick)

        def highest(epsilon: Number) -> float:
            at_last = math.isinf(epsilon)  # where no epsilon is enough for delta = 0
            return self._alone.delta(epsilon).high if at_last else round_up(quick._high(Fraction(epsilon), _COMPOSED))

        def far(delta: Number) -> float:
            """Not the least one: where a curve ends need not be known well."""
            if delta == 0 or not highest(LARGEST) <= delta:
                return self._pure.high
            return math.exp(bisect(lambda e: highest(math.exp(e)) > delta, -_FAR, math.log(LARGEST), _STEPS))

        return UpperEnd(highest, far)

    def upper_end(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return self._curve

    def from_below(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, is_lower=True)

    @cached
    def dominating(self) -> Groups:
        """Of a pair that dominates the plan, from the curve of its upper ends."""
        if self.bound.takes_long and not self._is_loose:
            return ((dominating_curve(self._curve, self._points, self.runs), 1),)
        return ((self._first.pairs[0], 1),)

    @property
    def _points(self) -> int:
        return _POINTS * 2 // 3 if self.bound.takes_long and self.bound.users <= _QUICK else _POINTS

    @cached
    def _first(self) -> FiniteProfile:
        """Of the pair of the curve, or of one of half as many points, where a look takes long."""
        pair = dominating_curve(self._curve, self._points >> self.bound.takes_long, self.runs)
        return FiniteProfile((pair,), "the curve of upper ends", Rigour.INTERVAL)

    @cached
    def _is_loose(self) -> bool:
        """Whether a look takes long, and the upper ends are so far from the data sets that half of the looks are enough."""
        if not self.bound.takes_long:
            return False
        usual = min(_USUAL, self._first.delta(0).high * _LESS)
        at = self._first.epsilon(usual).high * _LOOSE
        return all(one.delta(at).low < usual for each in self._sets for one in each)

    @cached
    def _sets(self) -> list[list[OneDataSet]]:
        """The best data sets, for either order of the inputs."""
        deltas = (_USUAL, _LARGE) if self.bound.users <= _QUICK else (_USUAL,)
        found = dict.fromkeys(self.bound.quick.both_ways(self._first.epsilon(delta).high / 2) for delta in deltas)
        return [[OneDataSet(value, self.local) for value in each] for each in found if each]

    @cached
    def occurring(self) -> tuple[Groups, ...]:
        """Of the best data sets, from their curves; none where none are known."""
        points = _LOWER_POINTS * 2 // 3 if self.bound.users <= _QUICK else _LOWER_POINTS
        if self.bound.users <= _FEW:
            points //= 2 + self.bound.takes_long
        looks = points >> self._is_loose, self.runs, self._curve
        pairs = (dominated_pair(each[0], each[-1], *looks) for each in self._sets)
        return tuple(((pair, 1),) for each in pairs for pair in each)

    def repeated(self, runs: int) -> Self:
        """See `SummedLosses`."""
        return replace(self, runs=runs)

    def gdp(self) -> Enclosure:
        """From the curve of which compositions are made."""
        ((pair, _),) = self.dominating
        return self._as_alone(gdp(self.coarse(), pair if isinstance(pair, ExactPLD) else None), self.local.gdp)

    def rho(self) -> Enclosure:
        """From the same curve."""
        return self._as_alone(super().rho(), self.local.rho)

    def renyi(self, order: Number) -> Enclosure:
        """From the same curve."""
        return self._as_alone(super().renyi(order), lambda: self.local.renyi(order))

    @staticmethod
    def _as_alone(found: Enclosure, alone: Callable[[], Enclosure]) -> Enclosure:
        """What is found, or where the curve has no end, at most what one report costs."""
        if math.isfinite(found.high) or math.isinf(high := alone().high):
            return found
        return Enclosure.met(found.low, high, Rigour.INTERVAL, f"{found.source}; at most as alone")

    def _high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        return self._hidden(self._alone.delta(epsilon), epsilon, tolerance)

    def _hidden(self, unshuffled: Enclosure, epsilon: Fraction, tolerance: float) -> flint.arb:
        """Upper bound of delta, which is at most what is seen of one view that is not shuffled."""
        if unshuffled.high == 0:
            return flint.arb(0)
        high = self.bound.high(epsilon, tolerance)
        return high.min(flint.arb(unshuffled.high)) if unshuffled.rigour >= Rigour.INTERVAL else high

    def _enclosure(self, low: float, high: float, unshuffled: float, told: float = 0.0) -> Enclosure:
        above, below = self.bound.sources
        if told >= low and told > 0:
            low, below = told, "the best event of one view, in a crowd that holds the second value (union bound)"
        if high >= unshuffled:
            above = "as if it were not shuffled, for no theorem shows less"
        source = f"{self.plan.users} users; above: {above}; below: {below}"
        found = Enclosure(low, high, Rigour.INTERVAL, source)  # an error where they contradict each other: both are certified
        exact = isinstance(self.bound, BinaryBound) and found.relative_width <= _EXACT
        return replace(found, rigour=Rigour.EXACT) if exact else found

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 the local epsilon itself; else found by search, each end certified by `delta`."""
        top, alone = self._pure, cache(lambda: self.local.epsilon(delta))
        if require_delta(delta) == 0:
            source = f"shuffling buys nothing at delta = 0: all views alike have the local ratio; {top.source}"
            return replace(top, source=source)
        goal = Fraction(delta)
        if (bound := self.bound.near(float(goal))) is not self.bound:
            return replace(self, bound=bound).epsilon(delta)
        if math.isinf(top.high):
            top = alone()
        told = max(0.0, round_down(Fraction(alone().low) - Fraction(self._crowd))) if self._crowd < top.high else 0.0
        below, beyond = self.bound.estimates()
        found = None if below is None else guided(*self._looks(self.bound.low, goal), below, -1.0)
        if found is None and not isinstance(self.bound, BinaryBound):
            at_least = self.bound.low(Fraction(told), self.tolerance)
            found = None if at_least > ball(goal) else told  # what is not known to exceed the goal there exceeds it nowhere
        low, above = (found, found) if found is not None else self._crossing(self.bound.low, goal, told)
        if isinstance(self.bound, BinaryBound):
            for _ in range(_ATTEMPTS):
                near = Fraction(min(top.high, above * (1 + 2 * RESOLUTION)))
                if self._high(near, self.tolerance) <= ball(goal):  # no data set is worse than the one looked at
                    return self._enclosure(low, float(near), top.high)
                again, above = self._crossing(self.bound.fixed(near, self.tolerance), goal, low)
                low = max(low, again)
        if self.is_lower:
            return self._enclosure(low, alone().high, top.high, told)
        high = None if beyond is None else guided(*self._looks(self._high, goal), beyond, 1.0)
        if high is None and (last := alone().high * _NEARLY) > low and self._high(Fraction(last), self.tolerance) > ball(goal):
            high = alone().high
        elif high is None:
            high = self._crossing(self._high, goal, low, both=False)[1]
        if self.local.delta(high).high <= goal:  # what guides the search knows nothing of the report alone
            high = min(high, alone().high)
        return self._enclosure(low, high, top.high, told)

    def coarse(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, tolerance=max(self.tolerance, _COARSE))

    def about(self) -> Callable[[float], float] | None:
        """See `PrivacyProfile`."""
        if isinstance(self.bound, BinaryBound):
            return serialized(lambda epsilon: float(self.bound.low(Fraction(epsilon), ROUGH)))
        _, beyond = self.bound.estimates()
        if beyond is None:
            return None
        return serialized(lambda epsilon: min(math.exp(min(beyond(epsilon), 0.0)), self._alone.delta(epsilon).high))

    def _crossing(self, value: Value, goal: Fraction, guess: float = 0.0, both: bool = True) -> tuple[float, float]:
        return certified_crossing(*self._looks(value, goal), guess or None, both)

    def _looks(self, value: Value, goal: Fraction) -> tuple[Callable[[float, float], flint.arb], Fraction, float, float]:
        """What a search needs to know."""
        finest, top = max(self.tolerance, self.bound.finest), self._pure.high
        top = self.local.epsilon(goal).high if math.isinf(top) else top
        return lambda e, t: value(Fraction(e), t), goal, top, finest

    def witness(self, epsilon: Number) -> Witness | None:
        """The data sets and the event of the lower end; None where it is 0."""
        if self.local.delta(require_epsilon(epsilon)).high == 0 or math.isinf(epsilon):
            return None
        found = self.bound.attained(Fraction(epsilon), self.tolerance)
        if found.pair is None or not found.value > 0:
            return None
        return Witness(self.plan, found.pair, found.event, epsilon)
