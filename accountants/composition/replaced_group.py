r"""A group of users who are replaced, of any plan: one after the other.

With :math:`\delta` the profile for one user, the views of K + 1 data sets of which each differs in one user from the one before are
as far apart as

.. math:: \delta_K(\varepsilon) \le \sum_{i=0}^{K-1} e^{i \varepsilon / K}\, \delta(\varepsilon / K)

Proof: :math:`P_0(S) \le e^a P_1(S) + \delta(a) \le e^{2a} P_2(S) + e^a \delta(a) + \delta(a)`, and so on. At delta = 0 it is K
times epsilon, and otherwise about K times that at a smaller delta. Source: Vadhan 2017, Lemma 2.2. From below a group costs no
less than one of its users. Independent reports need none of this: K of them are K runs (`groups.of_one_user`).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_BITS = 192
_LOOKS = 24
"""Epsilons of one user that are tried; each is at least the one before, and a few suffice."""


@dataclass(frozen=True)
class ReplacedGroup(PrivacyProfile):
    """From what one user costs to what as many do, one after the other."""

    inner: PrivacyProfile  # of one user
    users: int  # K, at least 1

    def delta(self, epsilon: Number) -> Enclosure:
        """At most 1."""
        low = self.inner.delta(require_epsilon(epsilon))
        step = round_down(Fraction(epsilon) / self.users) if math.isfinite(epsilon) else math.inf
        found = self.inner.delta(step)
        with working_precision(_BITS):
            high = round_up(self._times(step) * ball(Fraction(found.high))) if math.isfinite(step) else found.high
        return self._enclosed(low.low, min(1.0, max(high, low.low)), found)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At most K times that at delta = 0."""
        low, found = self.inner.epsilon(require_delta(delta)), self.inner.epsilon(0)
        step, tried = found.high, 0.0
        for look in range(_LOOKS if delta else 0):
            with working_precision(_BITS):
                goal = round_down(ball(Fraction(delta)) / self._times(tried))
            one = self.inner.epsilon(goal)  # enough for the goal, which is less the larger the step is
            if one.high <= tried < step:
                step, found = tried, one
            if one.high <= tried or not one.high < step:
                break
            tried = one.high * (1 + 2.0 ** (look - 30))
        high = round_up(Fraction(step) * self.users) if math.isfinite(step) else math.inf
        return self._enclosed(low.low, max(high, low.low), found)

    def _times(self, step: float) -> flint.arb:
        """The sum of powers, at the current precision."""
        one = ball(Fraction(step))
        return (self.users * one).expm1() / one.expm1() if step else flint.arb(self.users)

    def _enclosed(self, low: float, high: float, found: Enclosure) -> Enclosure:
        return Enclosure(low, high, min(found.rigour, Rigour.INTERVAL), f"{self.users} users, one after the other: {found.source}")
