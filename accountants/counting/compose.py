r"""Many noisy counters at once: the profile of independent losses, enclosed at any depth.

Losses are put on a lattice under an exponential tilt that is made for the question (`pld.lattice`), so that a delta of 1e-300
costs what one of 1e-3 does.

- The upper end is the profile of laws that dominate, their losses spread once more, over the points of the lattice.
- The lower end is an event: every counter shows some cell, and their losses, rounded to the lattice, sum to a threshold at
  least. Its two probabilities are exact but for the rounding of integers, and the rounding of losses only makes it less
  than best.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.counting.counter import Losses, Shown
from ldpaudit.accountants.counting.totals import Remainder
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.accountants.pld.distribution import Loss
from ldpaudit.accountants.pld.hockey_stick import Tail
from ldpaudit.accountants.pld.lattice import BITS, LatticeLaw, exactly, place
from ldpaudit.accountants.pld.points import DEPTH
from ldpaudit.accountants.pld.tilt import Moments, lattice_step
from ldpaudit.accountants.pld.total import product
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_POINTS, _EVENT_POINTS = 1 << 13, 1 << 15
"""Points of a lattice, from above and from below: rounding costs more than spreading."""
PRECISION = 192
_KEPT = 4
_WIDTH, _NEAREST = 2.0**-40, 2.0**-20
"""Relative precision of the search for an epsilon, and where the search for a lower one begins."""
_SPARE, _DEEPEST = 24.0, 720.0
"""Nats by which what is left out is below delta, and those of the smallest delta."""
_THRESHOLDS = 2
"""Thresholds that are tried on either side of the best without rounding."""

Column: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], int]
"""Losses, decreasing, with logarithms of their probabilities, and how many there are of the kind."""


@dataclass(frozen=True)
class _Cumulants(Moments):
    """Cumulants of losses that are given as floats."""

    groups: tuple[()] = ()
    columns: tuple[Column, ...] = ()

    @cached_property
    def _arrays(self) -> list[Column]:
        return list(self.columns)

    def log_delta(self, tilt: float) -> float:
        """About the logarithm of delta at the epsilon that the tilt is for."""
        return self._log_delta(tilt)


def _column(losses: Sequence[float], masses: Sequence[flint.arb], times: int) -> Column:
    kept = sorted(((x, float(p.log())) for x, p in zip(losses, masses, strict=True) if p > 0), reverse=True)
    found, logs = (np.array(each) for each in zip(*kept, strict=True))
    return found, logs, times


def _lost(parts: Sequence[tuple[flint.arb, int]]) -> flint.arb:
    """Probability that one of so many at least escapes."""
    return -sum((times * (-escape).log1p() for escape, times in parts), flint.arb(0)).expm1()


def _step(exponent: int) -> Loss:
    return Loss(nats=Fraction(2) ** exponent)


def _tilted(
    losses: Sequence[flint.arb], masses: Sequence[flint.arb], tilt: Fraction
) -> tuple[list[flint.arb], flint.arb]:
    """Masses under the tilt, which sum to 1, and what they were divided by."""
    rate = ball(tilt)
    weights = [mass * (rate * loss).exp() for loss, mass in zip(losses, masses, strict=True)]
    total = sum(weights, flint.arb(0))
    return [weight / total for weight in weights], total


@dataclass(frozen=True)
class Above:
    """The sum of so many losses of each kind, each of which dominates.

    Parameters
    ----------
    parts : tuple of (Losses, int)
        Kinds and how many.
    remainder : Remainder or None
        By how much the loss may exceed this sum.
    """

    parts: tuple[tuple[Losses, int], ...]
    remainder: Remainder | None = None

    def beyond(self, nats: float) -> tuple[flint.arb, flint.arb]:
        """(eta, p): the loss exceeds the sum by eta at most, except with a probability p of about e**-nats."""
        if self.remainder is None:
            return flint.arb(0), flint.arb(0)
        return self.remainder.at(nats) or (flint.arb(0), flint.arb(1))

    @cached_property
    def escape(self) -> flint.arb:
        """Probability of an infinite loss."""
        return _lost([(law.escape, times) for law, times in self.parts])

    @cached_property
    def moments(self) -> _Cumulants:
        """In floats."""
        columns = (([float(x) for x, _ in law.points], [p for _, p in law.points], n) for law, n in self.parts)
        return _Cumulants(columns=tuple(_column(*each) for each in columns))

    def at(self, tilt: Fraction) -> Tail:
        """Delta of the finite losses."""
        exponent = lattice_step(self.moments.width(float(tilt), DEPTH), _POINTS)
        laws, log_total = [], flint.arb(0)
        for (law, times), column in zip(self.parts, self.moments.columns, strict=True):
            losses = [loss for loss, _ in law.points]
            masses, total = _tilted(losses, [mass for _, mass in law.points], tilt)
            log_total += times * total.log()
            own = lattice_step(_Cumulants(columns=((*column[:2], 1),)).width(float(tilt), DEPTH), _POINTS)
            one = place(list(zip(losses, masses, strict=True)), _step(min(own, exponent)), tilt, flint.arb(0))
            laws.append(one.power(times, _POINTS).on(_step(exponent)))
        return Tail(product(laws), log_total)


@dataclass(frozen=True)
class Event:
    """Probabilities of the events that rounded losses sum to a threshold at least, under one law and under the other.

    Parameters
    ----------
    ours, theirs : LatticeLaw
        Tilted laws of the sum.
    our_log, their_log : flint.arb
        Logarithms of what their masses were divided by.
    """

    ours: LatticeLaw
    theirs: LatticeLaw
    our_log: flint.arb
    their_log: flint.arb

    def delta(self, epsilon: flint.arb) -> flint.arb:
        """A lower bound of delta: the best of some thresholds."""
        best, step = flint.arb(0), self.ours.step.ball()
        near = round(float(epsilon / step))
        for threshold in range(near - _THRESHOLDS, near + _THRESHOLDS + 1):
            place = threshold * step
            sure = (self.our_log - ball(self.ours.tilt) * place).exp() * _head(self._heads[0], self.ours, threshold)
            most = (self.their_log - ball(self.theirs.tilt) * place).exp() * (
                _head(self._heads[1], self.theirs, threshold) + _unit(self.theirs.outside)
            )
            best = best.max(sure - epsilon.exp() * most)
        return best

    @cached_property
    def _heads(self) -> tuple[list[flint.arb], list[flint.arb]]:
        return _heads(self.ours, 0), _heads(self.theirs, self.theirs.error)


def _unit(masses: int) -> flint.arb:
    return ball(Fraction(masses, 1 << BITS))


def _heads(law: LatticeLaw, error: int) -> list[flint.arb]:
    """Sums of all masses from an index on, falling at the rate of the tilt from there; the last index first."""
    fall, unit, total = (-ball(law.tilt) * law.step.ball()).exp(), _unit(1), flint.arb(0)
    found = [total]
    for mass in reversed(law.masses.coeffs()):
        total = unit * (int(mass) + error) + fall * total
        found.append(total)
    return found


def _head(heads: list[flint.arb], law: LatticeLaw, threshold: int) -> flint.arb:
    """The sum from a threshold on."""
    left = law.start + len(heads) - 1 - threshold
    if left < len(heads):
        return heads[max(left, 0)]
    # Below the first index: what there is, seen from farther away.
    return heads[-1] * (-ball(law.tilt) * law.step.ball() * (law.start - threshold)).exp()


@dataclass(frozen=True)
class Below:
    """The sum of so many losses of each kind, from what is shown of each.

    Parameters
    ----------
    parts : tuple of (Shown, int)
        Kinds and how many.
    """

    parts: tuple[tuple[Shown, int], ...]

    @cached_property
    def escape(self) -> flint.arb:
        """Probability of an infinite loss."""
        return _lost([(law.escape, times) for law, times in self.parts])

    @cached_property
    def moments(self) -> _Cumulants:
        """In floats."""
        return _Cumulants(columns=tuple(_column(law.losses, law.ours, times) for law, times in self.parts))

    def at(self, tilt: Fraction) -> Event:
        """The events, with the other law tilted once more, so that both lie at the same losses."""
        exponent = lattice_step(self.moments.width(float(tilt), DEPTH), _EVENT_POINTS)
        step = Fraction(2) ** exponent
        sides = []
        for extra in (0, 1):
            laws, log_total = [], flint.arb(0)
            for law, times in self.parts:
                indices = [round(loss / float(step)) for loss in law.losses]
                losses = [ball(index * step) for index in indices]
                masses, total = _tilted(losses, law.theirs if extra else law.ours, tilt + extra)
                log_total += times * total.log()
                found: dict[int, flint.arb] = defaultdict(flint.arb)
                light, outside = flint.arb(2) ** -BITS, flint.arb(0)
                for index, mass in zip(indices, masses, strict=True):
                    if mass < light:
                        outside += mass
                    else:
                        found[index] += mass
                laws.append(exactly(found, _step(exponent), tilt + extra, outside).power(times))
            sides.append((product(laws), log_total))
        (ours, our_log), (theirs, their_log) = sides
        return Event(ours, theirs, our_log, their_log)


@dataclass(frozen=True)
class CountersProfile(PrivacyProfile):
    """The larger of the profiles of some pairs of laws, each of independent counters; INTERVAL.

    The two ends of an epsilon are within about 1e-4 of each other, relatively.

    Parameters
    ----------
    pairs : tuple of (Below, Above)
        Every pair that could be the worst, in both orders where these differ.
    source : str
        What is composed.
    """

    pairs: tuple[tuple[Below, Above], ...]
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """At a tilt made for this epsilon."""
        require_epsilon(epsilon)
        found = []
        with flint.ctx.workprec(PRECISION):
            for below, above in self.pairs:
                low, high = below.escape, above.escape
                if not math.isinf(epsilon):
                    rate = above.moments.for_epsilon(float(epsilon))
                    tilt, at = _rate(rate), ball(Fraction(epsilon))
                    low += below.at(tilt).delta(at)
                    more, failure = above.beyond(_SPARE - above.moments.log_delta(rate))
                    high += above.at(tilt).high(at - more) + failure
                found.append((round_down(low), round_up(high)))
        low_end, high_end = max(low for low, _ in found), max(high for _, high in found)
        return Enclosure(low_end, high_end, Rigour.INTERVAL, self.source).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search at tilts made for this delta."""
        require_delta(delta)
        with flint.ctx.workprec(PRECISION):
            highs = [_enough(above, Fraction(delta)) for _, above in self.pairs]
            low = max(_reached(b, Fraction(delta), high) for (b, _), high in zip(self.pairs, highs, strict=True))
            high = max(highs)
        return Enclosure(low, high, Rigour.INTERVAL, self.source)


def _rate(tilt: float) -> Fraction:
    return Fraction(float(f"{tilt:.3g}"))


def _enough(above: Above, delta: Fraction) -> float:
    """An epsilon at which delta is enough."""
    more, failure = above.beyond(_SPARE - (math.log(delta) if delta else -_DEEPEST))
    if not (rest := ball(delta) - above.escape - failure) > 0:
        return math.inf
    tail = above.at(_rate(above.moments.for_delta(float(rest.log()))))

    def cost(epsilon: float) -> float:
        return round_up(above.escape + failure + tail.high(ball(Fraction(epsilon)) - more))

    return 0.0 if cost(0.0) <= delta else crossing(cost, delta, 1.0, 16.0, _WIDTH)[1]


def _reached(below: Below, delta: Fraction, high: float) -> float:
    """An epsilon at which delta is not enough, near one at which it is; 0 where none is known."""
    rest = ball(delta) - below.escape
    if rest < 0:
        return math.inf
    if not rest > 0 or high == 0:
        return 0.0
    tilt = below.moments.for_delta(float(rest.log()))
    event, start = below.at(_rate(tilt)), high if math.isfinite(high) else 2 * below.moments.at(tilt)[1]

    def holds(epsilon: float) -> bool:
        return round_down(below.escape + event.delta(ball(Fraction(epsilon)))) > delta

    # Far from where the tilt belongs the bound is poor, so the search begins at the other end.
    gap = start * _NEAREST
    while not holds(start - gap):
        gap *= 2
        if gap >= start:
            return 0.0
    low, end = start - gap, start - gap / 2
    while end - low > _WIDTH * end:
        middle = (low + end) / 2
        low, end = (middle, end) if holds(middle) else (low, middle)
    return low
