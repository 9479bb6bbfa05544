r"""The smallest mu of Gaussian differential privacy, from a curve.

Two normal laws of variance 1 at distance mu have the trade-off curve :math:`\Phi^{-1}(p) = \Phi^{-1}(q) + \mu`, of the best
events' probabilities p and q under the two. A profile that is a polygon in :math:`e^\varepsilon` is that of a pair with finitely
many best events. So a mu is enough for it where :math:`\mu \ge \Phi^{-1}(p) - \Phi^{-1}(q)` for each of them; between two events
the pair's trade-off curve is straight, and the normal one is concave.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.normal import divergence
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.pld.exact import Atom, ExactPLD
from ldpaudit.accountants.pld.renyi import dominating
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import PrivacyProfile, bracket

_SIDES = (1 - 2.0**-10, 1.0, 1 + 2.0**-10)  # parts of an event's epsilon at which delta is asked for, for a lower end
_EVENTS, _SPREAD = 3, 8
"""Events next to which delta is asked for, for a lower end: those that need the largest mu, and some over the whole curve, because
where delta may be far below what the upper end allows the former show nothing."""
_ROUGH_BITS = 96  # at which most events are seen not to be the worst


def gdp(profile: PrivacyProfile, pair: ExactPLD | None = None) -> Enclosure:
    """From above by the polygon above the curve, which `pair` has in both directions; from below by what single epsilons need."""
    source = f"normal laws above the curve: {profile.delta(0).source}"
    if profile.delta(math.inf).low > 0:
        return Enclosure(math.inf, math.inf, Rigour.INTERVAL, source)
    above = dominating(profile) if pair is None else pair
    shown = [
        (float(_distance(event)), log(ratio))
        for event, ratio in zip(above.events, above.ratios, strict=True)
        if event[1]
    ]
    asked = sorted(shown, reverse=True)[:_EVENTS] + shown[:: len(shown) // _SPREAD + 1]
    low = max((_needed(profile, epsilon * side) for _, epsilon in asked for side in _SIDES), default=0.0)
    high = of_pair(above, source).high
    return Enclosure.met(low, high, Rigour.INTERVAL, source)


def of_pair(pair: ExactPLD, source: str) -> Enclosure:
    """Of a pair that is equal to its reversed pair; EXACT."""
    if pair.infinite or not pair.events:
        value = math.inf if pair.infinite else 0.0
        return Enclosure(value, value, Rigour.EXACT, source)
    with working_precision(_ROUGH_BITS):
        rough = [_distance(event) for event in pair.events]
        least = reduce(flint.arb.max, rough).lower()
        left = [event for event, about in zip(pair.events, rough, strict=True) if not about < least]
    return narrow(lambda: reduce(flint.arb.max, map(_distance, left)), source).clamp(0.0, math.inf)


def _distance(event: Atom) -> flint.arb:
    """The mu of normal laws whose best events have these probabilities; infinite where one of them is certain."""
    p, q = event
    if q <= 0 or p >= 1:
        return flint.arb("inf")
    return flint.arb(2).sqrt() * (ball(2 * q).erfcinv() - ball(2 * p).erfcinv())


def _needed(profile: PrivacyProfile, epsilon: float) -> float:
    """Lower bound of the mu that delta at one epsilon needs."""
    delta, at = ball(Fraction(profile.delta(epsilon).low)), Fraction(epsilon)
    return bracket(lambda mu: not divergence(Fraction(mu) ** 2, at) <= delta)[0] if delta > 0 else 0.0
