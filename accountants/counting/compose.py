r"""Many noisy counters at once: the profile of independent losses, enclosed at any depth.

Losses are put on a lattice under an exponential tilt that is made for the question (`pld.lattice`), so that a delta of 1e-300
costs what one of 1e-3 does.

- The upper end is the profile of pairs that dominate, their losses spread once more, over the points of the lattice.
- The lower end is an event: every counter shows some cell, and their losses, rounded to the lattice, sum to a threshold at
  least. Its two probabilities are exact but for the rounding of integers, and the rounding of losses only makes it less
  than best.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint

from ldpaudit.accountants.counting.counter import ShownCells
from ldpaudit.accountants.counting.totals import Remainder
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.search import crossing, last_before
from ldpaudit.accountants.pld.distribution import Groups, Loss
from ldpaudit.accountants.pld.lattice import BITS, LatticePLD, exactly
from ldpaudit.accountants.pld.points import DEPTH
from ldpaudit.accountants.pld.tilt import lattice_step
from ldpaudit.accountants.pld.total import TotalLoss, product
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_POINTS, _EVENT_POINTS = 1 << 13, 1 << 15
"""Points of a lattice, from above and from below: rounding costs more than spreading."""
PRECISION = 192
"""Bits: those of a lattice's masses, and what tilts cancel."""
_WIDTH, _NEAREST = 2.0**-40, 2.0**-20
"""Relative precision of the search for an epsilon, and where the search for a lower one begins."""
_SPARE, _DEEPEST = 24.0, 720.0
"""Nats by which what is left out is below delta, and those of the smallest delta."""
_THRESHOLDS = 2
"""Thresholds that are tried on either side of the best without rounding."""


@dataclass(frozen=True)
class UpperTotal:
    """The sum of independent losses, each of a pair that dominates.

    Parameters
    ----------
    groups : tuple of (PrivacyLossDistribution, int)
        Laws, with the number of counters of each.
    remainder : Remainder or None
        By how much the loss may exceed this sum.
    """

    groups: Groups
    remainder: Remainder | None = None

    @cached_property
    def total(self) -> TotalLoss:
        """On a coarser lattice than losses that are known exactly."""
        return TotalLoss(self.groups, _POINTS)

    def beyond(self, nats: float) -> tuple[flint.arb, flint.arb]:
        """(eta, p): the loss exceeds the sum by eta at most, except with a probability p of about e**-nats."""
        if self.remainder is None:
            return flint.arb(0), flint.arb(0)
        return self.remainder.at(nats) or (flint.arb(0), flint.arb(1))


@dataclass(frozen=True)
class SumEvent:
    """Probabilities of the events that rounded losses sum to a threshold at least, under one law and under the other.

    Parameters
    ----------
    ours, theirs : LatticePLD
        Tilted laws of the sum.
    our_log, their_log : flint.arb
        Logarithms of what their masses were divided by.
    """

    ours: LatticePLD
    theirs: LatticePLD
    our_log: flint.arb
    their_log: flint.arb

    def delta(self, epsilon: flint.arb) -> flint.arb:
        """A lower bound of delta: the best of some thresholds."""
        best, step = flint.arb(0), self.ours.step.ball()
        near = round(float(epsilon / step))
        for threshold in range(near - _THRESHOLDS, near + _THRESHOLDS + 1):
            place = threshold * step
            sure = (self.our_log - ball(self.ours.tilt) * place).exp() * _tail_sum(self._tail_sums[0], self.ours, threshold)
            most = (self.their_log - ball(self.theirs.tilt) * place).exp() * (
                _tail_sum(self._tail_sums[1], self.theirs, threshold) + _unit(self.theirs.outside)
            )
            best = best.max(sure - epsilon.exp() * most)
        return best

    @cached_property
    def _tail_sums(self) -> tuple[list[flint.arb], list[flint.arb]]:
        return _tail_sums(self.ours, 0), _tail_sums(self.theirs, self.theirs.error)


def _unit(masses: int) -> flint.arb:
    return ball(Fraction(masses, 1 << BITS))


def _tail_sums(law: LatticePLD, error: int) -> list[flint.arb]:
    """Sums of all masses from an index on, falling at the rate of the tilt from there; the last index first."""
    fall, unit, total = (-ball(law.tilt) * law.step.ball()).exp(), _unit(1), flint.arb(0)
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
    # Below the first index: what there is, seen from farther away.
    return sums[-1] * (-ball(law.tilt) * law.step.ball() * (law.start - threshold)).exp()


@dataclass(frozen=True)
class LowerTotal:
    """The sum of independent losses, from what is shown of each counter.

    Parameters
    ----------
    parts : tuple of (ShownCells, int)
        What is shown, with the number of counters of each.
    """

    parts: tuple[tuple[ShownCells, int], ...]

    @cached_property
    def total(self) -> TotalLoss:
        """Float estimates of the sum, and its infinite-loss mass."""
        return TotalLoss(tuple((shown.estimated(), times) for shown, times in self.parts))

    def at(self, tilt: float) -> SumEvent:
        """The events, with the other law tilted once more, so that both lie at the same losses."""
        rate = Fraction(float(f"{tilt:.3g}"))
        exponent = lattice_step(self.total.moments.width(float(rate), DEPTH), _EVENT_POINTS)
        (ours, our_log), (theirs, their_log) = (self._law(rate + extra, exponent, theirs=extra > 0) for extra in (0, 1))
        return SumEvent(ours, theirs, our_log, their_log)

    def _law(self, tilt: Fraction, exponent: int, *, theirs: bool) -> tuple[LatticePLD, flint.arb]:
        """The law of the rounded sum under one of the two laws, and the logarithm of what its masses were divided by."""
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
class CountersProfile(PrivacyProfile):
    """The larger of the profiles of some pairs of laws, each of independent counters; INTERVAL.

    The two ends of an epsilon are within about 1e-4 of each other, relatively.

    Parameters
    ----------
    pairs : tuple of (LowerTotal, UpperTotal)
        Every pair that could be the worst, in both directions where these differ.
    source : str
        What is composed.
    """

    pairs: tuple[tuple[LowerTotal, UpperTotal], ...]
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """At a tilt made for this epsilon."""
        require_epsilon(epsilon)
        found = []
        with flint.ctx.workprec(PRECISION):
            for lower, upper in self.pairs:
                low, high = lower.total.infinite, upper.total.infinite
                if not math.isinf(epsilon):
                    tilt, at = upper.total.moments.for_epsilon(float(epsilon)), ball(Fraction(epsilon))
                    low += lower.at(tilt).delta(at)
                    more, failure = upper.beyond(_SPARE - upper.total.moments.log_delta(tilt))
                    high += upper.total.at(tilt).high(at - more) + failure
                found.append((round_down(low), round_up(high)))
        low_end, high_end = max(low for low, _ in found), max(high for _, high in found)
        return Enclosure(low_end, high_end, Rigour.INTERVAL, self.source).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search at tilts made for this delta."""
        require_delta(delta)
        with flint.ctx.workprec(PRECISION):
            highs = [_enough(upper, Fraction(delta)) for _, upper in self.pairs]
            low = max(_refused(lower, Fraction(delta), high) for (lower, _), high in zip(self.pairs, highs, strict=True))
            high = max(highs)
        return Enclosure(low, high, Rigour.INTERVAL, self.source)


def _enough(upper: UpperTotal, delta: Fraction) -> float:
    """Smallest epsilon found with delta(epsilon) <= delta."""
    more, failure = upper.beyond(_SPARE - (math.log(delta) if delta else -_DEEPEST))
    infinite = upper.total.infinite
    if not (rest := ball(delta) - infinite - failure) > 0:
        return math.inf
    divergence = upper.total.at(upper.total.moments.for_delta(float(rest.log())))

    def cost(epsilon: float) -> float:
        return round_up(infinite + failure + divergence.high(ball(Fraction(epsilon)) - more))

    return 0.0 if cost(0.0) <= delta else crossing(cost, delta, 1.0, 16.0, _WIDTH)[1]


def _refused(lower: LowerTotal, delta: Fraction, high: float) -> float:
    """Largest epsilon found with delta(epsilon) > delta, near one at which it is not; 0 where none is known."""
    infinite, moments = lower.total.infinite, lower.total.moments
    rest = ball(delta) - infinite
    if rest < 0:
        return math.inf
    if not rest > 0 or high == 0:
        return 0.0
    tilt = moments.for_delta(float(rest.log()))
    event, end = lower.at(tilt), high if math.isfinite(high) else 2 * moments.at(tilt)[1]

    def holds(epsilon: float) -> bool:
        return round_down(infinite + event.delta(ball(Fraction(epsilon)))) > delta

    # Far from where the tilt belongs the bound is poor, so the search begins at the other end.
    return last_before(holds, end, _NEAREST, _WIDTH)
