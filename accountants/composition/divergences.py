r"""Composition bounds by divergences: the published ones, by zero-concentrated and Renyi differential privacy, and what
a published rho or mu guarantees.

Every function returns the theorem's bound as ``high``, rounded up; the theorem gives no lower bound, hence ``low = 0``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.composition.theorems import require_part, require_slack, root, upper
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.accountants.pld.profiles import PostProcessedProfile
from ldpaudit.accountants.pld.searched import Quadratic
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.plan import Guarantee
from ldpaudit.profile import Number, PrivacyProfile

_ORDERS = tuple(1 + 1.1**step / 64 for step in range(200))
"""Renyi orders that are tried, from 1.016 to 2.7e6; steps of 1 % of the excess over 1 would gain at most 5e-4."""
_STEPS = 80  # halvings of the interval of an order's logarithm: to the last digits of a float
_NATS = 700.0  # largest logarithm, to either side, of what an order exceeds 1 by


def concentrated(parts: Sequence[tuple[int, Number]], slack: Number) -> Enclosure:
    r"""Pure parts, composed by zero-concentrated differential privacy, are :math:`(\varepsilon, \delta)`-private with

    .. math:: \rho = \sum n_i \varepsilon_i^2 / 2, \qquad \varepsilon = \rho + 2\sqrt{\rho \ln(1/\delta)}

    An upper bound, not tight. Source: Bun, Steinke 2016, Propositions 1.3 and 1.4, Lemma 1.7.
    """
    name = "zCDP composition"
    for times, epsilon in parts:
        require_part(name, epsilon, 0, times)
    rho = sum((times * Fraction(epsilon) ** 2 / 2 for times, epsilon in parts), Fraction(0))
    return concentrated_epsilon(rho, slack)


def concentrated_epsilon(rho: Number, slack: Number) -> Enclosure:
    r"""A rho-zCDP map is :math:`(\varepsilon, \delta)`-private with

    .. math:: \varepsilon = \rho + 2\sqrt{\rho\ln(1/\delta)}

    An upper bound, not tight. Source: Bun, Steinke 2016, Proposition 1.3.
    """
    if not (rho >= 0 and math.isfinite(rho)):
        raise ValueError(f"zCDP needs a finite rho >= 0, got rho={rho!r}")
    require_slack("zCDP", slack)
    exact = Fraction(rho)
    return upper(lambda: ball(exact) + 2 * ball(exact).sqrt() * root(1, slack), "zCDP")


def renyi_of_pure(order: Number, epsilon: Number) -> Enclosure:
    r"""Largest Renyi divergence of order alpha of an epsilon-private map.

    .. math:: \frac{1}{\alpha-1} \ln\bigl(p^\alpha q^{1-\alpha} + q^\alpha p^{1-\alpha}\bigr), \qquad
              p = \frac{e^\varepsilon}{1+e^\varepsilon} = 1 - q

    Tight: attained by randomized response, of which every epsilon-private map's pair is a post-processing. Source:
    Mironov 2017, Proposition 5 (randomized response); Kairouz, Oh, Viswanath 2015 (post-processing).
    """
    require_part("Renyi composition", epsilon, 0)
    _require_order(order)
    return upper(lambda: _renyi(Fraction(order), Fraction(epsilon)), "Renyi divergence of randomized response")


def _renyi(order: Fraction, epsilon: Fraction) -> flint.arb:
    e, a = ball(epsilon), ball(order)
    p, q = 1 / (1 + (-e).exp()), 1 / (1 + e.exp())
    return (p * ((a - 1) * e).exp() + q * (-(a - 1) * e).exp()).log() / (a - 1)


def renyi_epsilon(order: Number, divergence: Number, slack: Number) -> Enclosure:
    r"""A map whose Renyi divergence of order alpha is at most r is :math:`(\varepsilon, \delta)`-private with

    .. math:: \varepsilon = r + \ln\frac{\alpha-1}{\alpha} - \frac{\ln\delta + \ln\alpha}{\alpha - 1}

    or 0 where that is negative. Not tight. Source: Canonne, Kamath, Steinke 2020, Proposition 12; it improves on
    :math:`r + \ln(1/\delta)/(\alpha-1)` (Mironov 2017, Proposition 3).
    """
    _require_order(order)
    require_slack("Renyi conversion", slack)
    if not 0 <= divergence < math.inf:
        raise ValueError(f"a Renyi divergence is finite and at least 0, got {divergence!r}")
    a, r, d = Fraction(order), Fraction(divergence), Fraction(slack)

    def value() -> flint.arb:
        found = ball(r) + ball((a - 1) / a).log() - ball(d * a).log() / ball(a - 1)
        return found.max(flint.arb(0))

    return upper(value, "Renyi conversion")


def renyi(parts: Sequence[tuple[int, Number]], slack: Number) -> Enclosure:
    """Epsilon of pure parts by Renyi divergences: the least over a grid of orders, each of which gives a valid bound.

    An upper bound, not tight. Source: Mironov 2017, Proposition 1 (divergences add); `renyi_of_pure`, `renyi_epsilon`.
    """
    for times, epsilon in parts:
        require_part("Renyi composition", epsilon, 0, times)
    divergences = {a: sum((n * Fraction(renyi_of_pure(a, e).high) for n, e in parts), Fraction(0)) for a in _ORDERS}
    return min((renyi_epsilon(a, found, slack) for a, found in divergences.items()), key=lambda bound: bound.high)


def _require_order(order: Number) -> None:
    if not (order > 1 and math.isfinite(order)):
        raise ValueError(f"a Renyi order is finite and above 1, got {order!r}")


@dataclass(frozen=True)
class Concentrated(PrivacyProfile):
    r"""Upper bounds of delta and epsilon for any rho-zCDP map; not tight.

    .. math:: \delta(\varepsilon) \le \min_{\alpha > 1} \frac{e^{(\alpha - 1)(\alpha \rho - \varepsilon)}}{\alpha - 1}
              \Bigl(1 - \frac1\alpha\Bigr)^\alpha

    Every order gives a bound; the best one is where :math:`(2 \alpha - 1) \rho + \ln(1 - 1/\alpha) = \varepsilon`, or
    for a given delta :math:`(\alpha - 1)^2 \rho + \ln \alpha = \ln(1/\delta)`. Source: Canonne, Kamath, Steinke 2020,
    Proposition 12.
    """

    bound: Fraction  # rho, above 0
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """From 0 to the bound of the best order that is found."""
        if math.isinf(epsilon):
            return self._up_to(0.0)
        rho, e = round_up(self.bound), float(epsilon)
        above = _crossing(lambda t: (2 * t + 1) * rho - math.log1p(1 / t) - e)

        def value() -> flint.arb:
            t, at = ball(above), ball(1 + above)
            return (t * (at * ball(self.bound) - ball(Fraction(epsilon))) + at * (t / at).log() - t.log()).exp()

        return self._up_to(min(1.0, narrow(value, self.source).high))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From 0 to the bound of the best order that is found; infinite at delta = 0."""
        if delta == 0:
            return self._up_to(math.inf)
        rho, nats = round_up(self.bound), -log(delta)
        above = _crossing(lambda t: t * (t * rho) + math.log1p(t) - nats)
        return self._up_to(renyi_epsilon(1 + above, (1 + above) * self.bound, delta).high)

    def renyi(self, order: Number) -> Enclosure:
        """alpha rho: the definition."""
        return self._up_to(round_up(Fraction(order) * self.bound))

    def rho(self) -> Enclosure:
        """The stated one."""
        return self._up_to(round_up(self.bound))

    def gdp(self) -> Enclosure:
        """No mu follows from a rho: a rho-zCDP map may have tails that are a little heavier than normal ones."""
        return self._up_to(math.inf)

    def _up_to(self, high: float) -> Enclosure:
        return Enclosure(0.0, high, Rigour.INTERVAL, self.source)


def _crossing(value: Callable[[float], float]) -> Fraction:
    """About where an increasing function of what the order exceeds 1 by is 0: it need not be found for a bound to hold."""
    return Fraction(math.exp(bisect(lambda log_t: not value(math.exp(log_t)) > 0, -_NATS, _NATS, _STEPS)))


def stated(guarantee: Guarantee) -> PrivacyProfile:
    """Upper bound of the profile of a guarantee by rho or mu above 0; for mu the profile of the worst map.

    Source: Dong, Roth, Su 2022, Definition 2.6 and Theorem 2.10: a mu-GDP map is a post-processing of Gaussian noise.
    """
    source = f"the worst map with {guarantee}"
    if guarantee.mu is not None:
        return PostProcessedProfile(Quadratic(guarantee.mu**2, source))
    return Concentrated(guarantee.rho or Fraction(0), source)
