r"""Published composition bounds by divergences: zero-concentrated and Renyi differential privacy; upper bounds.

Every function returns the theorem's bound as ``high``, rounded up; the theorem gives no lower bound, hence ``low = 0``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import flint

from ldpaudit.accountants.composition.theorems import require_part, require_slack, root, upper
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number

_ORDERS = tuple(1 + 1.1**step / 64 for step in range(200))
"""Renyi orders that are tried, from 1.016 to 2.7e6 in steps of 10 % of the excess over 1. Each gives a valid bound;
with steps of 1 % epsilon is at most 5e-4 of it smaller, with steps of 46 % up to 1 % larger."""


def concentrated(parts: Sequence[tuple[int, Number]], slack: Number) -> Enclosure:
    r"""Pure parts, composed by zero-concentrated differential privacy, are :math:`(\varepsilon, \delta)`-private with

    .. math:: \rho = \sum n_i \varepsilon_i^2 / 2, \qquad \varepsilon = \rho + 2\sqrt{\rho \ln(1/\delta)}

    An upper bound, not tight. Source: Bun, Steinke 2016, Propositions 1.3 and 1.4, Lemma 1.7.

    ``parts``: number of runs, and epsilon >= 0 in nats of each run; ``slack``: delta, in (0, 1). Returns epsilon in
    nats. Raises ValueError where a hypothesis fails.
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

    ``rho``: finite, at least 0; ``slack``: delta, in (0, 1). Returns epsilon in nats; ``high`` is the bound, rounded
    up, INTERVAL. Raises ValueError where not ``rho >= 0`` and ``0 < slack < 1``.
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

    ``order``: alpha > 1; ``epsilon``: at least 0, in nats. Returns in nats. Raises ValueError outside the domain.
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

    ``order``: alpha > 1; ``divergence``: r, at least 0; ``slack``: delta, in (0, 1). Returns in nats. Raises
    ValueError outside the domain.
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

    ``parts``: number of runs, and epsilon >= 0 in nats of each run; ``slack``: delta, in (0, 1). Returns in nats.
    Raises ValueError where a hypothesis fails.
    """
    for times, epsilon in parts:
        require_part("Renyi composition", epsilon, 0, times)
    divergences = {a: sum((n * Fraction(renyi_of_pure(a, e).high) for n, e in parts), Fraction(0)) for a in _ORDERS}
    return min((renyi_epsilon(a, found, slack) for a, found in divergences.items()), key=lambda bound: bound.high)


def _require_order(order: Number) -> None:
    if not (order > 1 and math.isfinite(order)):
        raise ValueError(f"a Renyi order is finite and above 1, got {order!r}")
