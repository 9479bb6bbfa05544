"""Profiles of plans on a sample of the users, from that of the plan on those who are drawn: see `sampling.subsample`."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.pld.profiles import UpperEnd
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_PRECISION = 192
"""Bits: far more than a float's 53, and expm1 and log1p keep relative accuracy."""


@dataclass(frozen=True)
class NamedSample(PrivacyProfile):
    r"""What is known of a subsampled plan whose reports name their users: who was drawn is seen.

    :math:`\delta_{sub}(\varepsilon) = q\, \delta(\varepsilon)`, tight: with probability 1 - q the views do not depend on user 1's
    value, with probability q they show user 1's report, and which of the two it was.
    """

    inner: PrivacyProfile  # of the plan on the users who are drawn, replace-one
    rate: Fraction  # q, in (0, 1)

    def upper_end(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        end = self.inner.upper_end()
        return self if end is self.inner else replace(self, inner=end)

    def delta(self, epsilon: Number) -> Enclosure:
        """q times the inner delta."""
        found = self.inner.delta(require_epsilon(epsilon))
        ends = round_down(Fraction(found.low) * self.rate), round_up(Fraction(found.high) * self.rate)
        return Enclosure(*ends, found.rigour, self._source(found))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The inner epsilon at delta/q."""
        goal = Fraction(require_delta(delta)) / self.rate
        if goal >= 1:
            return Enclosure(0.0, 0.0, Rigour.EXACT, "delta is at least the rate")
        found = self.inner.epsilon(goal)
        return replace(found, source=self._source(found))

    def _source(self, found: Enclosure) -> str:
        return f"drawn at rate {float(self.rate):.6g}, and a report names its user: {found.source}"


@dataclass(frozen=True)
class SubsampledProfile(PrivacyProfile):
    """What is known of a subsampled plan."""

    inner: PrivacyProfile  # of the plan on the users who are drawn, replace-one
    rate: Fraction  # q, in (0, 1)
    tight: bool  # whether the bound is attained

    def upper_end(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        if (inner := self.inner.upper_end()) is self.inner:
            return self

        def deltas(epsilon: Number) -> float:
            return round_up(Fraction(inner.delta(self._ends(epsilon, 1 / self.rate)[0]).high) * self.rate)

        return UpperEnd(deltas, lambda delta: self.epsilon(delta).high)

    def delta(self, epsilon: Number) -> Enclosure:
        """q times the inner delta at the larger epsilon."""
        require_epsilon(epsilon)
        near, far = self._ends(epsilon, 1 / self.rate)
        high, low = self.inner.delta(near), self.inner.delta(far)
        ends = round_down(Fraction(low.low) * self.rate), round_up(Fraction(high.high) * self.rate)
        return self._known(*ends, min(low.rigour, high.rigour), high.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """``log(1 + q (e**epsilon - 1))`` of the inner epsilon at delta/q."""
        require_delta(delta)
        goal = Fraction(delta) / self.rate
        if goal >= 1:
            return self._known(0.0, 0.0, Rigour.EXACT, "delta is at least the rate")
        above = round_up(goal)
        high = self.inner.epsilon(round_down(goal))
        low = self.inner.epsilon(above) if above < 1 else replace(high, low=0.0)
        ends = self._ends(low.low, self.rate)[0], self._ends(high.high, self.rate)[1]
        return self._known(*ends, min(low.rigour, high.rigour), high.source)

    @staticmethod
    def _ends(epsilon: Number, rate: Fraction) -> tuple[float, float]:
        """Both ends of the subsample's epsilon for one of the plan; at the inverse rate, of the plan's for one of the subsample."""
        if math.isinf(epsilon):
            return math.inf, math.inf
        with working_precision(_PRECISION):
            e, q = ball(Fraction(epsilon)), ball(rate)
            # e**epsilon itself may be beyond balls; below 1 the difference of the two would cancel.
            value = e + (q + (1 - q) * (-e).exp()).log() if e > 1 else (e.expm1() * q).log1p()
        return max(round_down(value), 0.0), round_up(value)

    def _known(self, low: float, high: float, rigour: Rigour, source: str) -> Enclosure:
        """What holds of the subsample; from 0 where the bound is not attained."""
        source = f"drawn at rate {float(self.rate):.6g} (Balle, Barthe, Gaboardi 2018): {source}"
        if self.tight:
            return Enclosure(low, high, rigour, source)
        return Enclosure(0.0, high, min(rigour, Rigour.INTERVAL), source)
