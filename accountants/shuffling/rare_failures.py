r"""The clones of a report that is :math:`(\varepsilon_0, \delta_0)`-LDP: what shuffling does for it.

.. math:: \delta(\varepsilon) \le \delta_0 + (1 - \delta_0)\, D(\varepsilon) + (1 + e^\varepsilon)(n-1) e^{-\varepsilon_0} \delta_0

where D is the divergence of the pair of `clones`, in which another user is a clone with probability
:math:`(1-\delta_0) e^{-\varepsilon_0}`. An upper bound, not tight. Source: Feldman, McMillan, Talwar
2021, whose theorem for approximate privacy has a last term of the same form. With these constants it is proved here:

- By Kairouz, Oh, Viswanath 2015 there are laws with :math:`R(x_1) = \delta_0 A_1 + (1-\delta_0)(p Q_1 + (1-p) Q_2)` and
  :math:`R(x_2) = \delta_0 A_2 + (1-\delta_0)((1-p) Q_1 + p Q_2)`, p as in `clones`. What user 1 does with probability
  :math:`\delta_0` may name the input: that is the first term, since the divergence is convex.
- Another user's law has :math:`R(x) \ge e^{-\varepsilon_0}(R(x_i) - \nu_i)` for i = 1 and 2, :math:`\nu_i` of mass
  :math:`\delta_0` at most. So :math:`R(x) \ge c - e^{-\varepsilon_0}(\nu_1 + \nu_2)/2`, with
  :math:`c = e^{-\varepsilon_0}(R(x_1) + R(x_2))/2`, and moving a mass of :math:`e^{-\varepsilon_0}\delta_0` makes of it a law
  above c, which is above :math:`(1-\delta_0) e^{-\varepsilon_0} (Q_1 + Q_2)/2`: that of a user who is a clone.
- With these laws for the n - 1 others the divergence is the first two terms. Moving the masses back changes the probability of
  any event by :math:`(n-1) e^{-\varepsilon_0}\delta_0` at most, under either data set: the last term.

The right side is convex in :math:`e^\varepsilon`, so that it falls up to one epsilon and then rises; what it says there holds
at larger epsilons too.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.cached import cached
from ldpaudit.accountants.numerics.certified_search import ROUGH
from ldpaudit.accountants.shuffling.blanket import precision
from ldpaudit.accountants.shuffling.clones import TOLERANCE, among
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_epsilon


@dataclass(frozen=True)
class RareFailures(PrivacyProfile):
    """The theorem's bound, or that of one report alone where it is smaller; from below 0."""

    local: PrivacyProfile  # of one report
    epsilon0: Fraction  # above 0, in nats
    delta0: Fraction  # in (0, 1)
    users: int  # n, at least 2

    def delta(self, epsilon: Number) -> Enclosure:
        """The theorem's, with the relative error of `clones` in its second term."""
        alone = self.local.delta(require_epsilon(epsilon))
        if epsilon < self.epsilon0:
            high = round_up(self._theorem(min(Fraction(epsilon), self._lowest), TOLERANCE))
            if high < alone.high:
                report = f"epsilon0 = {float(self.epsilon0):.6g}, delta0 = {float(self.delta0):.6g}"
                return Enclosure(0.0, high, Rigour.INTERVAL, f"{self.users} users; clones of a report with {report}")
        return Enclosure(0.0, alone.high, Rigour.INTERVAL, f"as if it were not shuffled: {alone.source}")

    @cached
    def _lowest(self) -> Fraction:
        """About where the bound is lowest; any other epsilon would do."""
        from scipy.optimize import minimize_scalar  # here: it takes a while to import

        found = minimize_scalar(
            lambda epsilon: float(self._theorem(Fraction(epsilon), ROUGH)), bounds=(0, float(self.epsilon0)), method="bounded"
        )
        return Fraction(float(found.x))

    def _theorem(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        with working_precision(precision(self.users)):
            e0, rare, e = ball(self.epsilon0), ball(self.delta0), ball(epsilon).exp()
            clone = (1 - rare) * (-e0).exp()
            hidden = among(e0, clone).delta(e, self.users, tolerance)
            return rare + (1 - rare) * hidden + (1 + e) * (self.users - 1) * (-e0).exp() * rare
