r"""Profile of a composition of given pairs: by formula, by enumeration, or on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.composition.coins import BinomialCoins, TrinomialCoins
from ldpaudit.accountants.composition.enumerated import enumerated
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.cached import cached
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import last_before
from ldpaudit.accountants.pld.distribution import Groups, infinite_mass
from ldpaudit.accountants.pld.profiles import OnlyInfinite, limit_of_delta
from ldpaudit.accountants.pld.total import TotalLoss
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import RESOLUTION, Number, PrivacyProfile, bracket, require_delta, require_epsilon

_WORK = 192  # bits of the balls around lattice masses: these have 88, and exponential weights cancel some tens

_LEAST_LOG = -744.0  # logarithm of the least delta for which a lattice is made: next to the least float above 0


def compose(groups: Groups, source: str) -> PrivacyProfile:
    """Profile of independent runs of these pairs of laws.

    ``groups``: different laws, with the number of runs of each; ``source``: what is composed. Returns in nats, for
    these pairs in the direction given; EXACT where no loss is moved to a lattice, else INTERVAL.
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

    @cached
    def _total(self) -> TotalLoss:
        return TotalLoss(self.groups)

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
        if require_epsilon(epsilon) >= self._pure.high:
            return limit_of_delta(self.groups, self.source)
        return self._read(self._total.moments.for_epsilon(float(epsilon)), epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search on one lattice, under a tilt made for this delta; infinite below the infinite-loss mass."""
        if require_delta(delta) == 0:
            return self._pure
        with working_precision(_WORK):
            rest = ball(Fraction(delta)) - infinite_mass(self.groups)  # what is left to finite losses
        if rest < 0:
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        if not rest > 0:  # this precision does not decide whether delta covers the infinite-loss mass
            return Enclosure(0.0, math.inf, Rigour.INTERVAL, self.source)
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
