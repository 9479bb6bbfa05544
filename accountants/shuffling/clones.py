r"""The clones: what shuffling does for any epsilon0-LDP randomizer.

Every output law of an :math:`\varepsilon_0`-LDP randomizer R has :math:`R(x) \ge e^{-\varepsilon_0} R(x_1)` and
:math:`R(x) \ge e^{-\varepsilon_0} R(x_2)` pointwise, so it contains
:math:`\tfrac12 e^{-\varepsilon_0} (R(x_1) + R(x_2))`: every other user is, with probability :math:`e^{-\varepsilon_0}`, a
clone of user 1 on a random one of the two values. And by Kairouz, Oh, Viswanath 2015 there are laws Q1, Q2 with

.. math:: R(x_1) = p\, Q_1 + (1-p)\, Q_2, \quad R(x_2) = (1-p)\, Q_1 + p\, Q_2, \qquad
          p = \frac{e^{\varepsilon_0}}{1 + e^{\varepsilon_0}}

so a clone is Q1 or Q2 with equal chances. Telling which messages are neither, and replacing the others by "1" or "2",
leaves the pair of counts (A + D, C - A + 1 - D) against its mirror image, with C of law
:math:`\mathrm{Bin}(n-1, e^{-\varepsilon_0})`, A of law Bin(C, 1/2) and D of law Bern(p). Its divergence is computed exactly.

Source: Feldman, McMillan, Talwar 2021 (arXiv 2012.12803), theorem 3.1 with the pair of section 3's numerical bound. The
*stronger* clone of Feldman, McMillan, Talwar 2022, which has :math:`2/(1 + e^{\varepsilon_0})` in place of
:math:`e^{-\varepsilon_0}`, is wrong as proved there for general randomizers (erratum), because Q1 and Q2 may overlap; it
stands only as a conjecture in `theorems`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.certified_search import ROUGH
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_epsilon

TOLERANCE = 1e-10
"""Relative width aimed at."""
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Clones:
    """The dominating pair."""

    epsilon0: Fraction  # what every report satisfies, above 0, in nats

    def delta(self, epsilon: Number, users: int, tolerance: float = TOLERANCE) -> flint.arb:
        """Divergence of the pair; exactly 0 from epsilon0 on."""
        if epsilon >= self.epsilon0:
            return flint.arb(0)
        with working_precision(precision(users)):
            return self.pair().delta(ball(Fraction(epsilon)).exp(), users, tolerance)

    def pair(self) -> Blanket:
        """The pair of laws, at the current precision."""
        return among(ball(self.epsilon0), (-ball(self.epsilon0)).exp())


def among(epsilon0: flint.arb, clone: flint.arb) -> Blanket:
    """User 1 answers truly with probability ``e**epsilon0 / (1 + e**epsilon0)``, another one is a clone with that of `clone`."""
    lie = 1 / (1 + epsilon0.exp())
    return Blanket(((1 - lie, lie, clone / 2), (lie, 1 - lie, clone / 2)))


@dataclass(frozen=True)
class CloneProfile(PrivacyProfile):
    """The dominating pair's own profile, from both sides: how exact the computation is, not how good the theorem."""

    epsilon0: Fraction  # local epsilon, above 0, in nats
    users: int  # n, at least 1
    tolerance: float = TOLERANCE  # relative width of delta to aim at

    def __post_init__(self) -> None:
        if not (self.epsilon0 > 0 and self.users >= 1):
            raise ValueError(f"CloneProfile needs epsilon0 > 0 and users >= 1, got {self.epsilon0}, {self.users}")

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclosure of the pair's divergence.

        EXACT where its relative width is below 1e-9: everywhere but next to epsilon = 0 among tens of millions of clones
        and more, where it is INTERVAL and up to some 1e-8 wide.
        """
        value = Clones(self.epsilon0).delta(require_epsilon(epsilon), self.users, self.tolerance)
        source = f"Feldman, McMillan, Talwar 2021: the dominating pair of {self.users} users"
        found = Enclosure.of(value, rigour=Rigour.INTERVAL, source=source).clamp(0.0, 1.0)
        return replace(found, rigour=Rigour.EXACT) if found.relative_width <= _EXACT else found


@dataclass(frozen=True)
class RareFailures(PrivacyProfile):
    r"""The clones of a report that is :math:`(\varepsilon_0, \delta_0)`-LDP: what shuffling does for it.

    .. math:: \delta(\varepsilon) \le \delta_0 + (1 - \delta_0)\, D(\varepsilon)
              + (1 + e^\varepsilon)(n-1) e^{-\varepsilon_0} \delta_0

    where D is the divergence of the pair of `Clones`, in which another user is a clone with probability
    :math:`(1-\delta_0) e^{-\varepsilon_0}`. An upper bound, not tight. Source: Feldman, McMillan, Talwar
    2021, whose theorem for approximate privacy has a last term of the same form. With these constants it is proved here:

    - By Kairouz, Oh, Viswanath 2015 there are laws with :math:`R(x_1) = \delta_0 A_1 + (1-\delta_0)(p Q_1 + (1-p) Q_2)` and
      :math:`R(x_2) = \delta_0 A_2 + (1-\delta_0)((1-p) Q_1 + p Q_2)`, p as in the module. What user 1 does with probability
      :math:`\delta_0` may name the input: that is the first term, since the divergence is convex.
    - Another user's law has :math:`R(x) \ge e^{-\varepsilon_0}(R(x_i) - \nu_i)` for i = 1 and 2, :math:`\nu_i` of mass
      :math:`\delta_0` at most. So :math:`R(x) \ge c - e^{-\varepsilon_0}(\nu_1 + \nu_2)/2`, with
      :math:`c = e^{-\varepsilon_0}(R(x_1) + R(x_2))/2`, and moving a mass of :math:`e^{-\varepsilon_0}\delta_0` makes of it a law
      above c, which is above :math:`(1-\delta_0) e^{-\varepsilon_0} (Q_1 + Q_2)/2`: that of a user who is a clone.
    - With these laws for the n - 1 others the divergence is the first two terms. Moving the masses back changes the probability of
      any event by :math:`(n-1) e^{-\varepsilon_0}\delta_0` at most, under either data set: the last term.

    The right side is convex in :math:`e^\varepsilon`, so that it falls up to one epsilon and then rises; what it says there holds
    at larger epsilons too.

    A report alone is better where epsilon is large. From below it is 0.
    """

    local: PrivacyProfile  # of one report
    epsilon0: Fraction  # above 0, in nats
    delta0: Fraction  # in (0, 1)
    users: int  # n, at least 2

    def delta(self, epsilon: Number) -> Enclosure:
        """The theorem's, with the relative error of the clones in its second term."""
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
