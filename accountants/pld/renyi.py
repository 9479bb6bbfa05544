r"""Renyi divergences of pairs of laws and of profiles, their largest ratio to the order, rho, and the smallest mu of
Gaussian differential privacy.

For a pair of laws, :math:`(\alpha - 1) R_\alpha = \ln E_P[e^{(\alpha - 1) L}]`; of independent parts these add. A
profile D that is the largest of several pairs' at every epsilon bounds all of them by the pair that has it in both
directions,

.. math:: E_Q\Bigl[\Bigl(\frac PQ\Bigr)^\alpha\Bigr] \le 1 + \alpha (\alpha - 1) \int_1^\infty \bigl(x^{\alpha - 2}
          + x^{-\alpha - 1}\bigr) D(\ln x)\, dx,

and no pair of two orders that differ attains that: of those, an upper end is one of all pairs only where all are
listed. From below, neighbours whose delta at epsilon is at least d have an event S with :math:`P(S) \ge d +
e^\varepsilon Q(S)`, and to be told this event alone is post-processing.

Two normal laws of variance 1 at distance mu have the trade-off curve :math:`\Phi^{-1}(p) = \Phi^{-1}(q) + \mu`, of the
best events' probabilities p and q under the two. A profile that is a polygon in :math:`e^\varepsilon` is that of a pair
with finitely many best events. So a mu is enough for it where :math:`\mu \ge \Phi^{-1}(p) - \Phi^{-1}(q)` for each of
them; between two events the pair's trade-off curve is straight, and the normal one is concave.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import as_ball, ball, between
from ldpaudit.accountants.numerics.normal import divergence
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.pld.curve import dominated_curve, dominating_curve
from ldpaudit.accountants.pld.distribution import BallPLD, Groups, GuaranteePLD, PrivacyLossDistribution
from ldpaudit.accountants.pld.exact import Atom, ExactPLD
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import PrivacyProfile, bracket

_EVENTS = 4  # events of a dominating pair next to which delta is asked for, for a lower end
_LAST_BITS = 1 << 14  # of the last attempt: orders next to 1 of two laws that are nearly the same cancel by that much
_WIDTH = 2.0**-40  # relative width that is enough: well below the 1e-9 that is promised
_FIRST = 2.0**-34
"""Excess over 1 of the first order: below, a divergence changes by less than its own share of 1e-10 or so."""
_CLOSE = 2.0**-31  # relative width to which rho is searched
_ORDERS = 400  # most orders of that search beside the powers of two
_LAST = 2.0**60  # excess over 1 of the last order that is asked about
_POWERS = range(-10, 11)  # powers of two that are asked about where losses have no bound
_SIDES = (1 - 2.0**-10, 1.0, 1 + 2.0**-10)
"""Parts of an event's epsilon at which delta is asked for, for a lower end of mu."""
_LARGEST, _SPREAD = 3, 8
"""Events next to which delta is asked for, for a lower end of mu: those that need the largest mu, and some over the
whole curve, because where delta may be far below what the upper end allows the former show nothing."""
_ROUGH_BITS = 96  # at which most events are seen not to be the worst

_Interval: TypeAlias = tuple[Fraction, float, float]
"""Between two orders that were asked about, by their excess over 1: the opposite of the largest bound of R/alpha, and the two."""


def log_moment(law: PrivacyLossDistribution, order: flint.arb) -> flint.arb:
    """``log E_P[e**((order - 1) L)]``, at the current precision; views of an exact pair that are not listed have the loss 0."""
    infinite = as_ball(law.infinite)
    if infinite > 0:
        return flint.arb("inf")
    rate, parts = order - 1, zip(law.masses(), law.loss_balls(), strict=True)
    if isinstance(law, BallPLD):
        found = sum((mass * (rate * loss).exp() for mass, loss in parts), flint.arb(0)).log()
    else:
        found = sum((mass * (rate * loss).expm1() for mass, loss in parts), flint.arb(0)).log1p()
    return found if infinite == 0 else between(found.lower(), flint.arb("inf"))


def of_pairs(pairs: Iterable[Groups], order: Fraction, source: str) -> Enclosure:
    """The largest Renyi divergence of some pairs, each the product of its groups; EXACT for these pairs."""
    listed = tuple(pairs)
    if any(not law.infinite == 0 and as_ball(law.infinite) > 0 for groups in listed for law, _ in groups):
        return Enclosure(math.inf, math.inf, Rigour.EXACT, source)

    def value() -> flint.arb:
        at = ball(order)
        found = [sum((n * log_moment(law, at) for law, n in groups), flint.arb(0)) for groups in listed]
        return reduce(flint.arb.max, found, flint.arb(0)) / (at - 1)

    bits = 128 + 2 * max(0, (order - 1).denominator.bit_length() - (order - 1).numerator.bit_length())
    return narrow(value, source, bits=bits, most=_LAST_BITS, width=_WIDTH).clamp(0.0, math.inf)


def enclosed(low: Enclosure, high: Enclosure) -> Enclosure:
    """From the lower end of one to the upper end of the other; as rigorous as both where these are the same.

    A curve that is listed in one order alone may have a lower end, of both orders, above the upper end of that one.
    """
    if (low.low, low.high) == (high.low, high.high):
        return Enclosure(low.low, high.high, min(low.rigour, high.rigour), high.source)
    return Enclosure(min(low.low, high.high), high.high, Rigour.INTERVAL, high.source)


def renyi(profile: PrivacyProfile, order: Fraction) -> Enclosure:
    """Of the curve alone: from what an event shows to what the pair with this curve in both directions has."""
    return enclosed(by_events(profile, order), from_above(profile, order))


def from_above(profile: PrivacyProfile, order: Fraction) -> Enclosure:
    """Of a dominating pair, or of any map with the epsilon at delta = 0; infinite where that has no end."""
    pure, source = profile.epsilon(0), f"the pair with this curve in both directions: {profile.delta(0).source}"
    high = of_pairs([((_pair_of(profile, dominating_curve), 1),)], order, source).high
    if pure.high == 0:
        return Enclosure(0.0, 0.0, pure.rigour, source)
    if math.isfinite(pure.high):  # any map of this epsilon is a post-processing of randomized response
        response = GuaranteePLD(Fraction(pure.high), Fraction(0))
        if high > (coin := of_pairs([((response, 1),)], order, "").high):
            high, source = coin, f"any map of this epsilon at delta = 0: {pure.source}"
    return Enclosure(0.0, high, Rigour.INTERVAL, source)


def of_one_pair(profile: PrivacyProfile, order: Fraction) -> Enclosure:
    """Of a profile that one pair attains in both directions at every epsilon: from above and below by polygons."""
    below = of_pairs([((_pair_of(profile, dominated_curve), 1),)], order, "one pair of inputs")
    above = from_above(profile, order)
    unbounded = math.isinf(above.high) and profile.delta(math.inf).low > 0
    return enclosed(above if unbounded else below, above)


def _pair_of(profile: PrivacyProfile, curve: Callable[[PrivacyProfile], ExactPLD]) -> ExactPLD:
    """The pair of a profile's curve, made once for all orders."""
    kept = vars(profile)
    if curve.__name__ not in kept:
        kept[curve.__name__] = curve(profile)
    found: ExactPLD = kept[curve.__name__]
    return found


def by_events(profile: PrivacyProfile, order: Fraction) -> Enclosure:
    """From below: the least divergence of neighbours with the lower ends of delta at some epsilons."""
    source = "two neighbours that attain delta at one epsilon"
    if profile.delta(math.inf).low > 0:
        return Enclosure(math.inf, math.inf, Rigour.INTERVAL, source)
    pair = _pair_of(profile, dominating_curve)
    events = [(_of_event(float(p), float(q), float(order)), ratio)
              for (p, q), ratio in zip(pair.events, pair.ratios, strict=True) if q > 0]  # fmt: skip
    best = 0.0
    for _, ratio in sorted(events, reverse=True)[:_EVENTS]:
        epsilon = log(ratio) * (1 - 2.0**-20)
        best = max(best, least(profile.delta(epsilon).low, epsilon, order))
    return Enclosure(best, math.inf, Rigour.INTERVAL, source)


def _of_event(p: float, q: float, order: float) -> float:
    """Float estimate of the divergence of the laws of one event."""
    if not 0 < q < p < 1:
        return 0.0
    kept, rest = math.log(p / q) * (order - 1), math.log((1 - p) / (1 - q)) * (order - 1)
    return (kept + math.log(p + (1 - p) * math.exp(rest - kept))) / (order - 1)


def least(delta: float, epsilon: float, order: Fraction, halvings: int = 100) -> float:
    r"""Lower bound of the divergence of an event with :math:`p = \delta + e^\varepsilon q`, whatever q is.

    The moment is convex in q, so that it is above its tangent at the q that floats find.
    """
    if not delta > 0:
        return 0.0
    x, a = math.exp(epsilon), float(order)
    low, high = 0.0, (1 - delta) / x

    def rising(q: float) -> bool:
        u, v = (delta + x * q) / q, max(0.0, 1 - delta - x * q) / (1 - q)
        return bool(a * x - (a - 1) * u > (v / u) ** (a - 1) * (a * x - (a - 1) * v))

    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if middle > 0 and rising(middle) else (middle, high)
    if not 0 < low < 1:
        return 0.0

    def value() -> flint.arb:
        q, at, ratio, d = ball(Fraction(low)), ball(order), ball(Fraction(epsilon)).exp(), ball(Fraction(delta))
        u, v = (d + ratio * q) / q, ((1 - d - ratio * q) / (1 - q)).max(flint.arb(0))
        ahead, behind = u ** (at - 1), v ** (at - 1) if v > 0 else between(0, v.upper() ** (at - 1))
        slope = ahead * (at * ratio - (at - 1) * u) - behind * (at * ratio - (at - 1) * v)
        moment = q * u * ahead + (1 - q) * v * behind
        last = (1 - d) / ratio
        moment -= (slope.max(flint.arb(0)) * q).max((-slope).max(flint.arb(0)) * (last - q))
        return moment.max(flint.arb(1)).log() / (at - 1)

    return max(0.0, narrow(value, "", bits=160, width=_WIDTH).low)


def rho(profile: PrivacyProfile) -> Enclosure:
    """The largest of ``renyi(order)/order``: by halving the orders between which the chord allows most."""
    pure, source = profile.epsilon(0), profile.renyi(2).source
    if profile.delta(math.inf).low > 0:
        return Enclosure(math.inf, math.inf, pure.rigour, source)
    found: dict[float, Enclosure] = {}
    low = top = Fraction(0)  # of R/alpha, at the orders that were asked about

    def ask(t: float) -> None:
        nonlocal low, top
        found[t] = profile.renyi(1 + Fraction(t))
        low = max(low, Fraction(found[t].low) / (1 + Fraction(t)))
        if pure.high < math.inf:
            top = max(top, Fraction(found[t].high) / (1 + Fraction(t)))

    if math.isinf(pure.high):  # nothing is known of orders beyond the last one that is asked about
        for power in _POWERS:
            ask(2.0**power)
        return Enclosure(round_down(low), math.inf, Rigour.INTERVAL, source)
    ask(t := _FIRST)
    while Fraction(pure.high) > low * (1 + Fraction(t)) and t < _LAST:
        ask(t := 2 * t)
    # Next to 1 the divergence is at most that of the first order; beyond the last the ratio is at most `low`, or the order huge.
    ends = max(Fraction(found[_FIRST].high), Fraction(pure.high) / Fraction(_LAST))
    queue = [between_orders(a, b, found) for a, b in pairwise(sorted(found))]
    heapify(queue)
    for _ in range(_ORDERS):
        if not queue or -queue[0][0] <= max(top * (1 + Fraction(_CLOSE)), ends):
            break
        _, a, b = heappop(queue)
        ask(middle := math.sqrt(a * b))
        heappush(queue, between_orders(a, middle, found))
        heappush(queue, between_orders(middle, b, found))
    high = max(ends, *(-bound for bound, *_ in queue[:1]))
    high = min(high, Fraction(pure.high) ** 2 / 2)  # Bun, Steinke 2016, Proposition 1.4
    rigour = min(each.rigour for each in found.values())
    return Enclosure.met(round_down(low), round_up(high), rigour, source)


def between_orders(first: float, last: float, found: dict[float, Enclosure]) -> _Interval:
    r"""Bound between two orders, where :math:`t R \le A + B t`, its chord, as it is convex in t, the excess over 1.

    :math:`(A + B t)/(t (1 + t))` rises, then falls; where it turns, it is :math:`B/(1 + 2 t)`.
    """
    a, b = Fraction(first), Fraction(last)
    start, end = Fraction(found[first].high), Fraction(found[last].high)
    slope = (b * end - a * start) / (b - a)
    lost = a * (slope - start)  # -A

    def turns(t: Fraction) -> bool:
        return slope * t * (1 + t) <= (slope * t - lost) * (1 + 2 * t)

    if turns(a):
        return -start / (1 + a), first, last
    if not turns(b):
        return -end / (1 + b), first, last
    root = Fraction(math.nextafter(math.sqrt(round_down(lost**2 + lost * slope)), 0.0))
    return -slope / (1 + 2 * (lost + root) / slope), first, last


def gdp(profile: PrivacyProfile, pair: ExactPLD | None = None) -> Enclosure:
    """From above by the polygon above the curve, which `pair` has in both directions; from below by what single epsilons need."""
    source = f"normal laws above the curve: {profile.delta(0).source}"
    if profile.delta(math.inf).low > 0:
        return Enclosure(math.inf, math.inf, Rigour.INTERVAL, source)
    above = _pair_of(profile, dominating_curve) if pair is None else pair
    shown = [(float(_distance(e)), log(ratio)) for e, ratio in zip(above.events, above.ratios, strict=True) if e[1]]

    def needed(epsilon: float) -> float:
        """Lower bound of the mu that delta at one epsilon needs."""
        delta, at = ball(Fraction(profile.delta(epsilon).low)), Fraction(epsilon)
        return bracket(lambda mu: not divergence(Fraction(mu) ** 2, at) <= delta)[0] if delta > 0 else 0.0

    asked = sorted(shown, reverse=True)[:_LARGEST] + shown[:: len(shown) // _SPREAD + 1]
    low = max((needed(epsilon * side) for _, epsilon in asked for side in _SIDES), default=0.0)
    return Enclosure.met(low, gdp_of_pair(above, source).high, Rigour.INTERVAL, source)


def gdp_of_pair(pair: ExactPLD, source: str) -> Enclosure:
    """Of a pair that is equal to its reversed pair; EXACT."""
    if pair.infinite or not pair.events:
        value = math.inf if pair.infinite else 0.0
        return Enclosure(value, value, Rigour.EXACT, source)
    with working_precision(_ROUGH_BITS):
        rough = [_distance(event) for event in pair.events]
        most = reduce(flint.arb.max, rough).lower()
        left = [event for event, about in zip(pair.events, rough, strict=True) if not about < most]
    return narrow(lambda: reduce(flint.arb.max, map(_distance, left)), source).clamp(0.0, math.inf)


def _distance(event: Atom) -> flint.arb:
    """The mu of normal laws whose best events have these probabilities; infinite where one of them is certain."""
    p, q = event
    if q <= 0 or p >= 1:
        return flint.arb("inf")
    return flint.arb(2).sqrt() * (ball(2 * q).erfcinv() - ball(2 * p).erfcinv())
