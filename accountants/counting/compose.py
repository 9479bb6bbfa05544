r"""Profile of many independent noisy counters, enclosed at any depth.

Losses are put on a lattice under an exponential tilt that is made for the query (`pld.lattice`), so that a delta of
1e-300 takes as long as one of 1e-3.

- The upper bound is the profile of the counters' dominating pairs (`counter.dominating`), whose losses are moved to the
  lattice by connect-the-dots discretization once more.
- The lower bound is an event: the losses of the counters' cells, rounded to the lattice, sum to at least a threshold.
  Its two probabilities are exact up to the rounding of integers; the rounding of losses makes the event at most less
  than the best.
"""

import math
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.counting.counter import Remainder, ShownCells
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.numerics.search import crossing, last_before
from ldpaudit.accountants.pld.curve import dominating_curve
from ldpaudit.accountants.pld.distribution import Groups, Loss
from ldpaudit.accountants.pld.hockey_stick import HockeyStick
from ldpaudit.accountants.pld.lattice import BITS, LatticePLD, UnknownError, as_mass, exactly
from ldpaudit.accountants.pld.profiles import SummedLosses, UpperEnd
from ldpaudit.accountants.pld.tilt import DEPTH, lattice_step
from ldpaudit.accountants.pld.total import TotalLoss, product
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, require_delta, require_epsilon

_POINTS = 1 << 13
"""Points of the upper bound's lattice. With 2**12 an epsilon of 20 counters at n = 1e6 is known to 3e-4 instead of
1.1e-4, with 2**14 to 8e-5 in 1.25 times the time."""
_EVENT_POINTS = 1 << 15
"""Points of the lower bound's lattice; the rounding of losses has an error of first order, so it needs more of them.
With 2**14 this epsilon is known to 1.5e-4 instead of 1.1e-4, with 2**17 to 9e-5 in 1.4 times the time."""
PRECISION = 192
"""Bits of the balls: 88 of a lattice's masses, and what tilts cancel."""
_WIDTH = 2.0**-40
"""Relative precision of the search for an epsilon."""
_NEAREST = 2.0**-20
"""First step of the search for a lower bound of epsilon, relative to the upper bound; with 2**-12 an epsilon at n = 1e4
is known to 1.2e-4 instead of 4e-5."""
_SPARE = 24.0
"""Nats between delta and the probability that a total leaves out, 4e-11 of delta."""
_CALMER, _ATTEMPTS = 16, 6
"""Factor between the tilts that are tried where a lattice would be too long, and the number of them, before none at all."""
_DEEPEST = 720.0
"""Nats used for delta = 0, beyond the 708 of the smallest normal float."""
_CURVE = 64
"""Points of the curve of several pairs, each of some lattices; with 256 five queries of boxes take four times as long, and are
known to 1e-3 instead of 5e-3."""
_THRESHOLDS = 2
"""Thresholds that are tried on either side of epsilon, where the best one is without rounding."""


def _tilts(tilt: float) -> list[float]:
    """A tilt, and smaller ones: under each a bound holds, but it is wider the farther the tilt is from the first."""
    return [tilt, *(tilt / _CALMER**i for i in range(1, _ATTEMPTS)), 0.0]


@dataclass(frozen=True)
class UpperTotal:
    """The sum of independent losses of dominating pairs, one for each counter."""

    groups: Groups  # laws, with the number of counters of each
    remainder: Remainder | None = None  # bound of what the true loss may exceed this sum by

    @cached
    def total(self) -> TotalLoss:
        """The sum on a lattice of 2**13 points."""
        return TotalLoss(self.groups, _POINTS)

    @cached
    def largest(self) -> float:
        """No finite sum exceeds this."""
        if self.remainder is not None:
            return math.inf
        return round_up(sum((law.loss_balls()[0] * times for law, times in self.total.moments.groups), flint.arb(0)))

    def delta(self, epsilon: Number) -> float:
        """Upper bound of delta, on a lattice under a tilt made for this epsilon."""
        with working_precision(PRECISION):
            high = self.total.infinite
            if epsilon < self.largest:
                tilt = self.total.moments.for_epsilon(float(epsilon))
                more, failure = self.beyond(_SPARE - self.total.moments.log_delta(tilt))
                divergence = self.divergence(tilt)
                high += 1 if divergence is None else divergence.high(ball(Fraction(epsilon)) - more) + failure
            return round_up(high)

    def epsilon(self, delta: Fraction) -> float:
        """Smallest epsilon found with delta(epsilon) <= delta, on a lattice under a tilt made for this delta."""
        with working_precision(PRECISION):
            more, failure = self.beyond(_SPARE - (log(delta) if delta else -_DEEPEST))
            infinite = self.total.infinite
            if not (rest := ball(delta) - infinite - failure) > 0:
                return math.inf
            if not self.total.moments.groups:
                return 0.0
            divergence = self.divergence(self.total.moments.for_delta(float(rest.log())))
            if divergence is None:
                return math.inf

            def cost(epsilon: float) -> float:
                return round_up(infinite + failure + divergence.high(ball(Fraction(epsilon)) - more))

            return 0.0 if cost(0.0) <= delta else crossing(cost, delta, 1.0, 16.0, _WIDTH)[1]

    def divergence(self, tilt: float) -> HockeyStick | None:
        """From a lattice under this tilt, or a smaller one where that needs too long a lattice; None where all do."""
        return next((found for each in _tilts(tilt) if (found := self.total.known_at(each)) is not None), None)

    def beyond(self, nats: float) -> tuple[flint.arb, flint.arb]:
        """(eta, p): the loss exceeds the sum by at most eta, except with probability p, which is about e**-nats."""
        if self.remainder is None:
            return flint.arb(0), flint.arb(0)
        return self.remainder.at(nats) or (flint.arb(0), flint.arb(1))


@dataclass(frozen=True)
class SumEvent:
    """(P, Q) of the events that the rounded losses sum to at least a threshold."""

    ours: LatticePLD  # tilted laws of the sum under P and under Q
    theirs: LatticePLD
    our_log: flint.arb  # logarithms of their normalizing constants
    their_log: flint.arb

    def delta(self, epsilon: flint.arb) -> flint.arb:
        """Lower bound of delta: the best of five thresholds."""
        best, step = flint.arb(0), self.ours.step.ball()
        near = round(float(epsilon / step))
        for threshold in range(near - _THRESHOLDS, near + _THRESHOLDS + 1):
            place = threshold * step
            sure = (self.our_log - ball(self.ours.tilt) * place).exp() * _tail_sum(self._tail_sums[0], self.ours, threshold)
            most = (self.their_log - ball(self.theirs.tilt) * place).exp() * (
                _tail_sum(self._tail_sums[1], self.theirs, threshold) + as_mass(self.theirs.outside)
            )
            best = best.max(sure - epsilon.exp() * most)
        return best

    @cached
    def _tail_sums(self) -> tuple[list[flint.arb], list[flint.arb]]:
        return _tail_sums(self.ours, 0), _tail_sums(self.theirs, self.theirs.error)


def _tail_sums(law: LatticePLD, error: int) -> list[flint.arb]:
    """Sums of all masses from an index on, weighted by the tilt's falling powers from there; the last index first."""
    fall, unit, total = (-ball(law.tilt) * law.step.ball()).exp(), as_mass(1), flint.arb(0)
    found = [total]
    for mass in reversed(law.masses.coeffs()):
        total = unit * (int(mass) + error) + fall * total
        found.append(total)
    return found


def _tail_sum(sums: list[flint.arb], law: LatticePLD, threshold: int) -> flint.arb:
    """The sum from a threshold on."""
    left = law.start + len(sums) - 1 - threshold
    if left < len(sums):
        return sums[max(left, 0)]
    # Below the first index: the whole sum, weighted from that threshold.
    return sums[-1] * (-ball(law.tilt) * law.step.ball() * (law.start - threshold)).exp()


@dataclass(frozen=True)
class LowerTotal:
    """The sum of independent losses of counters whose cells are shown, a post-processing of the counters."""

    parts: tuple[tuple[ShownCells, int], ...]  # cells of a counter, with the number of such counters

    @cached
    def total(self) -> TotalLoss:
        """Float estimates of the sum, and its infinite-loss mass."""
        return TotalLoss(tuple((shown.estimated(), times) for shown, times in self.parts))

    @property
    def shows_all(self) -> bool:
        """Whether every counter has a cell; else no event of finite losses is known to be likely at all."""
        return all(shown.ours for shown, _ in self.parts)

    def at(self, tilt: float) -> SumEvent | None:
        """The events under this tilt, or a smaller one where that needs too long a lattice; None where all do or none is shown."""
        if not self.shows_all:
            return None
        for each in _tilts(tilt):
            with suppress(UnknownError):
                return self._under(each)
        return None

    def _under(self, tilt: float) -> SumEvent:
        """The events; Q is tilted by one more than P, so that both laws have their mass at the same losses."""
        rate = Fraction(float(f"{tilt:.3g}"))
        exponent = lattice_step(self.total.moments.width(float(rate), DEPTH), _EVENT_POINTS)
        (ours, our_log), (theirs, their_log) = (self._law(rate + extra, exponent, theirs=extra > 0) for extra in (0, 1))
        return SumEvent(ours, theirs, our_log, their_log)

    def _law(self, tilt: Fraction, exponent: int, *, theirs: bool) -> tuple[LatticePLD, flint.arb]:
        """The tilted law of the rounded sum under P or under Q, and the logarithm of its normalizing constant."""
        step, laws, log_total = Fraction(2) ** exponent, [], flint.arb(0)
        for shown, times in self.parts:
            weights: dict[int, flint.arb] = defaultdict(flint.arb)
            for loss, mass in zip(shown.losses, shown.theirs if theirs else shown.ours, strict=True):
                index = round(loss / float(step))
                weights[index] += mass * (ball(tilt) * ball(index * step)).exp()
            whole = sum(weights.values(), flint.arb(0))
            log_total += times * whole.log()
            masses = {index: weight / whole for index, weight in weights.items()}
            light = {index: mass for index, mass in masses.items() if mass < flint.arb(2) ** -BITS}
            kept = {index: mass for index, mass in masses.items() if index not in light}
            laws.append(exactly(kept, Loss(nats=step), tilt, sum(light.values(), flint.arb(0))).power(times))
        return product(laws), log_total


@dataclass(frozen=True)
class CountersProfile(SummedLosses):
    """The largest of the profiles of several pairs of laws, each of independent counters; INTERVAL, about 1e-4 wide in epsilon."""

    # every pair that could be the worst, in both directions where these differ
    pairs: tuple[tuple[LowerTotal, UpperTotal], ...]
    source: str  # what is composed

    @cached
    def dominating(self) -> Groups:
        """Of a single pair without a remainder the losses of its counters' dominating pairs; else a pair above all upper ends."""
        if len(self.pairs) == 1 and self.pairs[0][1].remainder is None:
            return self.pairs[0][1].groups
        upper = UpperEnd(
            lambda epsilon: max(upper.delta(epsilon) for _, upper in self.pairs),
            lambda delta: max(upper.epsilon(Fraction(delta)) for _, upper in self.pairs),
        )
        return ((dominating_curve(upper, _CURVE), 1),)

    @property
    def occurring(self) -> tuple[Groups, ...]:
        """The counters' cells, for every pair."""
        return tuple(tuple((shown.pair, times) for shown, times in lower.parts) for lower, _ in self.pairs)

    def delta(self, epsilon: Number) -> Enclosure:
        """From lattices under a tilt made for this epsilon."""
        require_epsilon(epsilon)
        found = []
        with working_precision(PRECISION):
            for lower, upper in self.pairs:
                low = lower.total.infinite
                if epsilon < upper.largest:
                    event = lower.at(upper.total.moments.for_epsilon(float(epsilon)))
                    low += 0 if event is None else event.delta(ball(Fraction(epsilon)))
                found.append((round_down(low), upper.delta(epsilon)))
        low_end, high_end = max(low for low, _ in found), max(high for _, high in found)
        return Enclosure(low_end, high_end, Rigour.INTERVAL, self.source).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By searches on lattices under tilts made for this delta."""
        require_delta(delta)
        with working_precision(PRECISION):
            highs = [upper.epsilon(Fraction(delta)) for _, upper in self.pairs]
            low = max(_refused(lower, Fraction(delta), high) for (lower, _), high in zip(self.pairs, highs, strict=True))
            high = max(highs)
        return Enclosure(low, high, Rigour.INTERVAL, self.source)


def _refused(lower: LowerTotal, delta: Fraction, high: float) -> float:
    """Largest epsilon found with delta(epsilon) > delta, searched for below `high`; 0 where none is found."""
    infinite = lower.total.infinite
    rest = ball(delta) - infinite
    if rest < 0:
        return math.inf
    if not rest > 0 or high == 0 or not lower.shows_all:
        return 0.0
    moments = lower.total.moments
    tilt = moments.for_delta(float(rest.log()))
    if (event := lower.at(tilt)) is None:
        return 0.0
    end = high if math.isfinite(high) else 2 * moments.at(tilt)[1]

    def holds(epsilon: float) -> bool:
        return round_down(infinite + event.delta(ball(Fraction(epsilon)))) > delta

    # The bound is poor far from the epsilon for which the tilt is made, so the search goes down from the upper bound.
    return last_before(holds, end, _NEAREST, _WIDTH)
