r"""Profile of a composition of given pairs: by formula, by enumeration, or on a lattice."""

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.composition.coins import BinomialCoins, TrinomialCoins
from ldpaudit.accountants.numerics.balls import as_ball, ball
from ldpaudit.accountants.numerics.certified_search import log_of
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import last_before, step_down, step_up
from ldpaudit.accountants.pld.distribution import Groups, infinite_mass
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.lattice import Point
from ldpaudit.accountants.pld.profiles import OnlyInfinite, limit_of_delta
from ldpaudit.accountants.pld.tilt import Tilted, summed
from ldpaudit.accountants.pld.total import TotalLoss
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import RESOLUTION, Number, PrivacyProfile, bracket

_WORK = 192  # bits of the balls around lattice masses: these have 88, and exponential weights cancel some tens

_FEW_LOSSES, _FEW_BITS = 1 << 9, 1 << 13  # most total losses, and bits of their masses, enumerated in rationals
_FEW_POINTS = 1 << 14
"""Most total losses that are enumerated in balls: with 15,708 epsilon is known to 2e-15, on a lattice to 1e-6 in the same time."""
_NEAREST = 2.0**-4
"""First step away from the float estimate of epsilon, per `RESOLUTION`: with 1 an epsilon is known to 3e-14 instead of 2e-15."""
_COARSE_POINTS, _DEVIATIONS = 1 << 14, 4.0
"""Points of a lattice of a curve, and standard deviations of epsilon that one tilt is for: an upper delta is up to 1e-5 larger, and
a curve of 256 points needs some five lattices."""
_LEAST_LOG = -744.0  # logarithm of the least delta for which a lattice is made: next to the least float above 0


def compose(groups: Groups, source: str) -> PrivacyProfile:
    """Profile of independent runs of these pairs of laws.

    For these pairs in the direction given; EXACT where no loss is moved to a lattice, else INTERVAL.
    """
    live = tuple((law, times) for law, times in groups if law.has_loss or not law.infinite == 0)
    if len(live) == 1 and live[0][0].is_coin:
        law, times = live[0]
        return (BinomialCoins if law.size == 2 else TrinomialCoins)(law, times, source)
    if any(law.is_only_infinite for law, _ in live):
        return OnlyInfinite(live, source)
    return enumerated(live, source) or LatticeProfile(live, source)


@dataclass(frozen=True)
class LatticeProfile(PrivacyProfile):
    """Profile of given pairs by convolution of their losses on a lattice.

    EXACT where all losses are multiples of one loss; otherwise INTERVAL, and `low` and `high` differ by the bound of
    what connect-the-dots discretization adds.
    """

    groups: Groups  # different laws, with the number of runs of each
    source: str  # what is composed
    is_coarse: bool = False  # whether lattices have fewer points, and each is for many epsilons

    @cached
    def _total(self) -> TotalLoss:
        return TotalLoss(self.groups, _COARSE_POINTS if self.is_coarse else None)

    def coarse(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, is_coarse=True)

    @cached
    def _apart(self) -> float:
        """Nats from one epsilon that has its own tilt to the next, of a coarse one."""
        return _DEVIATIONS * math.sqrt(self._total.moments.at(0.0)[2])

    @cached
    def _pure(self) -> Enclosure:
        """Epsilon at delta = 0: the sum of all largest losses, infinite where one of them is."""
        if not all(law.infinite == 0 for law, _ in self.groups):
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        return narrow(
            lambda: sum((times * law.loss_balls()[0] for law, times in self.groups), flint.arb(0)), self.source
        ).clamp(0.0, math.inf)

    def delta(self, epsilon: Number) -> Enclosure:
        """From a lattice under a tilt made for this epsilon; 0 from the sum of all largest losses on."""
        if epsilon >= self._pure.high:
            return limit_of_delta(self.groups, self.source)
        mean = epsilon - epsilon % self._apart if self.is_coarse and self._apart else epsilon
        return self._read(self._total.moments.for_epsilon(float(mean)), epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search on one lattice, under a tilt made for this delta; infinite below the infinite-loss mass."""
        if delta == 0:
            return self._pure
        with working_precision(_WORK):
            rest = ball(Fraction(delta)) - infinite_mass(self.groups)  # what is left to finite losses
            listed = math.prod((as_ball(law.listed) ** times for law, times in self.groups), start=flint.arb(1))
        if rest < 0:
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        if not rest > 0:  # this precision does not decide whether delta covers the infinite-loss mass
            return Enclosure(0.0, math.inf, Rigour.INTERVAL, self.source)
        if listed < rest:  # of a lower bound
            return Enclosure(0.0, 0.0, Rigour.INTERVAL, self.source)
        tilt = self._total.moments.for_delta(max(float(rest.log()), _LEAST_LOG))
        at_zero = self._read(tilt, 0.0)
        if at_zero.high <= delta:
            return Enclosure(0.0, 0.0, at_zero.rigour, self.source)
        high = min(bracket(lambda e: self._read(tilt, e).high <= delta)[1], self._pure.high)
        low = last_before(lambda e: self._read(tilt, e).low > delta, high, RESOLUTION, RESOLUTION)
        return Enclosure.met(low, high, at_zero.rigour, self.source)

    def _read(self, tilt: float, epsilon: Number) -> Enclosure:
        with working_precision(_WORK):
            infinite, at = infinite_mass(self.groups), ball(Fraction(epsilon))
            if not self._total.moments.groups:
                return Enclosure.of(infinite, source=self.source).clamp(0.0, 1.0)
            found = self._total.known_at(tilt)
            if found is None:
                return Enclosure.of(infinite, flint.arb(1), rigour=Rigour.INTERVAL, source=self.source)
            rigour = Rigour.INTERVAL if found.law.variance > 0 else Rigour.EXACT
            low, high = infinite + found.low(at), infinite + found.high(at)
            return Enclosure.of(low, high, rigour=rigour, source=self.source).clamp(0.0, 1.0)


def enumerated(groups: Groups, source: str) -> PrivacyProfile | None:
    """Profile of independent runs of these pairs, EXACT; None where there are too many different total losses."""
    rational = [(law, times) for law, times in groups if isinstance(law, ExactPLD)]
    count = math.prod(math.comb(times + law.size - 1, times) for law, times in groups)
    bits = sum(times * law.bits for law, times in rational)
    if len(rational) == len(groups) and count <= _FEW_LOSSES and bits <= _FEW_BITS:
        masses, kept = defaultdict(Fraction, {Fraction(1): Fraction(1)}), Fraction(1)
        for law, times in rational:
            kept *= (1 - law.infinite) ** times
            for _ in range(times):
                before, masses = masses, defaultdict(Fraction)
                for (a, p), (b, q) in product(before.items(), law.atoms):
                    masses[a * b] += p * q
        return FiniteProfile((ExactPLD(tuple(sorted(masses.items(), reverse=True)), 1 - kept),), source)
    return FewLosses(groups, source) if count <= _FEW_POINTS else None


@dataclass(frozen=True)
class FewLosses(PrivacyProfile):
    """Profile of independent runs of given pairs by the sum over all total losses, EXACT."""

    groups: Groups  # different laws, with the number of runs of each
    source: str  # what is composed

    def delta(self, epsilon: Number) -> Enclosure:
        """Relative width below 1e-15, except where delta underflows."""
        if math.isinf(epsilon):
            return limit_of_delta(self.groups, self.source)
        return narrow(lambda: self._delta_ball(Fraction(epsilon)), self.source).clamp(0.0, 1.0)

    def _delta_ball(self, epsilon: Fraction) -> flint.arb:
        at, zero = ball(epsilon), flint.arb(0)
        gains = ((mass * -(at - loss).expm1()).max(zero) for loss, mass in self._points())
        return infinite_mass(self.groups) + sum(gains, zero)

    def _points(self) -> list[Point]:
        """All finite total losses with their probabilities, at the current precision."""
        if working_bits() not in self._listed:
            points = [(flint.arb(0), flint.arb(1))]
            for law, times in self.groups:
                tilted = Tilted(law, Fraction(0))
                whole = tilted.total**times
                points = summed(points, [(loss, mass * whole) for loss, mass in tilted.points(times)])
            self._listed[working_bits()] = points
        return self._listed[working_bits()]

    @cached
    def _listed(self) -> dict[int, list[Point]]:
        """These, by the precision: curves ask often."""
        return {}

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By steps away from a float estimate; both ends are certified by `delta`."""
        if self.delta(math.inf).low > delta:
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        top = narrow(lambda: sum((n * law.loss_balls()[0] for law, n in self.groups), flint.arb(0)), self.source).high
        if self.delta(0.0).high <= delta:
            return Enclosure(0.0, 0.0, Rigour.EXACT, self.source)
        start = min(self._estimate(float(delta)), top)
        gap = _NEAREST * RESOLUTION * max(start, RESOLUTION * top)
        high = step_up(lambda e: self.delta(e).high <= delta, start, gap, top)
        low = step_down(lambda e: self.delta(e).low > delta, high, start, gap)
        # Epsilon is at most the largest loss, unless the infinite-loss mass may exceed delta.
        reached = high < top or self.delta(math.inf).high <= delta
        return Enclosure(low, high if reached else math.inf, Rigour.EXACT, self.source)

    @cached
    def _floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Losses, decreasing; P and the logarithm of Q of the events {loss >= each of them}, in floats."""
        with working_precision(64):
            points = sorted(((float(loss), log_of(mass)) for loss, mass in self._points()), reverse=True)
            infinite = float(infinite_mass(self.groups))
        losses, logs = (np.array(column) for column in zip(*points, strict=True))
        # Q itself may be below every float: a few runs of a large epsilon suffice.
        return losses, infinite + np.cumsum(np.exp(logs)), np.logaddexp.accumulate(logs - losses)

    def _estimate(self, delta: float) -> float:
        _, p, log_q = self._floats
        some = p > delta
        return float(max(0.0, (np.log(p[some] - delta) - log_q[some]).max())) if some.any() else 0.0
