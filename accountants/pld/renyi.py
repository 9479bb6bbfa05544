r"""Renyi divergences of pairs of laws, of profiles, and their largest ratio to the order.

For a pair of laws, :math:`(\alpha - 1) R_\alpha = \ln E_P[e^{(\alpha - 1) L}]`; of independent parts these add. A profile D that
is the largest of several pairs' at every epsilon bounds all of them by the pair that has it in both directions,

.. math:: E_Q\Bigl[\Bigl(\frac PQ\Bigr)^\alpha\Bigr] \le 1 + \alpha (\alpha - 1) \int_1^\infty \bigl(x^{\alpha - 2}
          + x^{-\alpha - 1}\bigr) D(\ln x)\, dx,

and no pair of two orders that differ attains that: of those, an upper end is one of all pairs only where all are listed.
From below, neighbours whose delta at epsilon is at least d have an event S with :math:`P(S) \ge d + e^\varepsilon Q(S)`, and to be
told this event alone is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import pairwise

import flint

from ldpaudit.accountants.numerics.balls import as_ball, ball, between
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.pld.curve import dominated_curve, dominating_curve
from ldpaudit.accountants.pld.distribution import BallPLD, Groups, GuaranteePLD, PrivacyLossDistribution
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import PrivacyProfile

_EVENTS = 4  # events of a dominating pair next to which delta is asked for, for a lower end
_LAST_BITS = 1 << 14  # of the last attempt: orders next to 1 of two laws that are nearly the same cancel by that much
_WIDTH = 2.0**-40  # relative width that is enough: well below the 1e-9 that is promised
_FIRST = 2.0**-34
"""Excess over 1 of the first order: below, a divergence changes by less than its own share of 1e-10 or so."""
_CLOSE = 2.0**-31  # relative width to which rho is searched
_ORDERS = 400  # most orders of that search beside the powers of two
_LAST = 2.0**60  # excess over 1 of the last order that is asked about
_POWERS = range(-10, 11)  # powers of two that are asked about where losses have no bound
_PURE = "any map of this epsilon at delta = 0"


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

    def value() -> flint.arb:
        at = ball(order)
        found = [sum((n * log_moment(law, at) for law, n in groups), flint.arb(0)) for groups in listed]
        best = flint.arb(0)
        for each in found:
            best = best.max(each)
        return best / (at - 1)

    if any(not law.infinite == 0 and as_ball(law.infinite) > 0 for groups in listed for law, _ in groups):
        return Enclosure(math.inf, math.inf, Rigour.EXACT, source)
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
    found = of_pairs([((dominating(profile), 1),)], order, source)
    if pure.high == 0:
        return Enclosure(0.0, 0.0, pure.rigour, source)
    coin = of_coin(pure.high, order)
    best = found if found.high <= coin else Enclosure(0.0, coin, Rigour.INTERVAL, f"{_PURE}: {pure.source}")
    return Enclosure(0.0, best.high, Rigour.INTERVAL, best.source)


def of_coin(epsilon: float, order: Fraction) -> float:
    """Upper end for any map of this epsilon at delta = 0, whose worst is randomized response."""
    if math.isinf(epsilon):
        return math.inf
    return of_pairs([((GuaranteePLD(Fraction(epsilon), Fraction(0)), 1),)], order, _PURE).high


def dominating(profile: PrivacyProfile) -> ExactPLD:
    """The dominating pair of a profile, made once for all orders."""
    kept: ExactPLD | None = vars(profile).get("_polygon_above")
    if kept is None:
        kept = vars(profile)["_polygon_above"] = dominating_curve(profile)
    return kept


def of_one_pair(profile: PrivacyProfile, order: Fraction) -> Enclosure:
    """Of a profile that one pair attains in both directions at every epsilon: from above and below by polygons."""
    kept: ExactPLD | None = vars(profile).get("_polygon_below")
    if kept is None:
        kept = vars(profile)["_polygon_below"] = dominated_curve(profile)
    below, above = of_pairs([((kept, 1),)], order, "one pair of inputs"), from_above(profile, order)
    unbounded = math.isinf(above.high) and profile.delta(math.inf).low > 0
    return enclosed(above if unbounded else below, above)


def by_events(profile: PrivacyProfile, order: Fraction) -> Enclosure:
    """From below: the least divergence of neighbours with the lower ends of delta at some epsilons."""
    source = "two neighbours that attain delta at one epsilon"
    if profile.delta(math.inf).low > 0:
        return Enclosure(math.inf, math.inf, Rigour.INTERVAL, source)
    pair = dominating(profile)
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
    kept = math.log(p / q) * (order - 1)
    rest = math.log((1 - p) / (1 - q)) * (order - 1)
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


@dataclass(frozen=True, order=True)
class _Between:
    """Orders between two that were asked about, t being the excess over 1: the largest bound of R/alpha first."""

    bound: Fraction  # its opposite
    a: float
    b: float


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
    # Next to 1 the divergence is at most that of the first order; beyond the last it is at most that of order infinity.
    ends = max(Fraction(found[_FIRST].high), Fraction(pure.high) / (1 + Fraction(t)))
    queue = [between_orders(a, b, found) for a, b in pairwise(sorted(found))]
    heapify(queue)
    for _ in range(_ORDERS):
        if not queue or -queue[0].bound <= max(top * (1 + Fraction(_CLOSE)), ends):
            break
        worst = heappop(queue)
        ask(middle := math.sqrt(worst.a * worst.b))
        heappush(queue, between_orders(worst.a, middle, found))
        heappush(queue, between_orders(middle, worst.b, found))
    high = max(ends, *(-each.bound for each in queue[:1]))
    high = min(high, Fraction(pure.high) ** 2 / 2)  # Bun, Steinke 2016, Proposition 1.4
    rigour = min(each.rigour for each in found.values())
    return Enclosure.met(round_down(low), round_up(high), rigour, source)


def between_orders(first: float, last: float, found: dict[float, Enclosure]) -> _Between:
    r"""Bound between two orders, where :math:`t R \le A + B t`, its chord, as it is convex in t.

    :math:`(A + B t)/(t (1 + t))` rises, then falls; where it turns, it is :math:`B/(1 + 2 t)`.
    """
    a, b = Fraction(first), Fraction(last)
    start, end = Fraction(found[first].high), Fraction(found[last].high)
    slope = (b * end - a * start) / (b - a)
    lost = a * (slope - start)  # -A

    def turns(t: Fraction) -> bool:
        return slope * t * (1 + t) <= (slope * t - lost) * (1 + 2 * t)

    if turns(a):
        return _Between(-start / (1 + a), first, last)
    if not turns(b):
        return _Between(-end / (1 + b), first, last)
    root = Fraction(math.nextafter(math.sqrt(round_down(lost**2 + lost * slope)), 0.0))
    return _Between(-slope / (1 + 2 * (lost + root) / slope), first, last)
