r"""From a profile's curve to privacy loss distributions: of a pair that dominates it, and of one that it dominates.

With :math:`\alpha = e^\varepsilon`, delta is a convex decreasing function h. Chords through points on or above h lie
above it, so the polygon through these points is the divergence of a pair that dominates. Between two points h lies
above the extensions of the two neighbouring chords; the convex hull of these extensions is the divergence of a pair
that is dominated. The gap is quadratic in the distance of the points.

Source: Zhu, Dong, Wang 2022, Proposition 8 (a convex decreasing curve is the divergence of a pair of laws); chords as
in Doroshenko et al. 2022.
"""

import math
from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.rationals import fraction, rational
from ldpaudit.accountants.pld.exact import ExactPLD, Line, pair_of, symmetric_pair
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, dyadic, round_up
from ldpaudit.profile import PrivacyProfile

POINTS = 256
"""At which a curve is evaluated; 128, 256 and 512 know an epsilon of 40 Laplace reports to 9e-6, 4e-6 and 3e-6."""
_TILT, _DEEPEST = 0.8, 2.0**-53
"""Power of delta by whose inverse a part of the curve counts, and the delta from which on it does not count more: two shuffles with
64 points are known to 3e-3 at 1e-6 and to 7e-3 at 1e-10; with a power of .7 to 1.3e-2 there."""
_FEW, _FALLS = 3, 0.3
"""Runs up to which that is the power; beyond, it falls with this power of their number, as single large losses matter less: twenty
samples are known to a thousandth of epsilon better."""
_SMALL = Fraction(1, 1 << 200)
"""Where epsilon has no upper end, the curve is followed down to this delta, and the rest becomes infinite-loss mass,
6e-61 per run: invisible at the deltas that people ask for."""
_CLOSE = Fraction(1, 1 << 30)
"""Part of a limit of delta above 0 to which the curve is followed; the rest becomes infinite-loss mass."""
_ALPHA_BITS = 53
"""Significant bits of alpha - 1, where floats do not hold alpha: two small epsilons have one, and a large one has none."""
_LARGEST = 1e4
"""Nats. What delta is left there becomes infinite-loss mass: e**1e4 exceeds the ratio of any two positive floats."""

Vertex: TypeAlias = tuple[Fraction, Fraction]  # (alpha, delta)
_Fast: TypeAlias = tuple[flint.fmpq, flint.fmpq]  # a vertex, as it is computed with
_BEFORE: Vertex = Fraction(-1), Fraction(1)
r"""As :math:`h(\alpha) = 1 - \alpha + \alpha h(1/\alpha)` is convex, its slope at 1 is at least :math:`-(1 - h(1))/2`: h is convex
with the line from this point to h(1), too. Without it the masses of a loose curve's pair add up to more than 1."""


def dominating_curve(profile: PrivacyProfile, points: int = POINTS, runs: int = 1) -> ExactPLD:
    """A pair, equal to its reversed pair, whose divergence is at least the profile's upper end at every epsilon.

    It is looked at most closely where it matters to a composition of as many `runs`.
    """
    seen = _looks(profile, points, runs)
    vertices = [(alpha, Fraction(e.high)) for alpha, e in zip(_alphas([*seen]), seen.values(), strict=True)]
    # The profile itself is convex: where an upper end is above the chord of two others, that chord is above the profile.
    hull = lower_hull([_BEFORE, *vertices])
    return symmetric_pair(_lines(hull[1:] if len(hull) > 1 and hull[1][0] == 1 else hull))


def dominated_curve(profile: PrivacyProfile, points: int = POINTS) -> ExactPLD:
    """A pair, equal to its reversed pair, whose divergence is at most the profile's lower end at every epsilon.

    In composition it gives a lower bound only if one pair of inputs, in both directions, attains the profile at every
    epsilon.
    """
    return dominated_pair(profile, profile, points)[0]


def dominated_pair(
    there: PrivacyProfile, back: PrivacyProfile, points: int = POINTS, runs: int = 1, above: PrivacyProfile | None = None
) -> tuple[ExactPLD, ...]:
    """A pair, and its reversed pair if it is another one, whose divergences are at most the lower ends of two profiles.

    In composition it gives a lower bound if one pair of inputs attains `there` at every epsilon, and `back` in the other order.
    The curve ends where that of `above` does, if that is given.
    """
    seen = _looks(there, points, runs, above)
    alphas, epsilons = _alphas([*seen]), list(seen)
    orders = [[*seen.values()], [*seen.values()] if back is there else [back.delta(epsilon) for epsilon in epsilons]]
    bottoms = [_bottoms(*_ends(alphas, epsilons, each)) for each in orders]
    # At 1 both divergences are the distance of the two laws.
    start = Fraction(1), min(delta for each in bottoms for alpha, delta in each if alpha == 1)
    return pair_of(*(_lines(lower_hull([start, *each])) for each in bottoms))


def _looks(profile: PrivacyProfile, points: int, runs: int, ends_with: PrivacyProfile | None = None) -> dict[float, Enclosure]:
    """Delta at epsilons from 0 to the end of the curve, or of another one, closer to each other where it bends.

    The profile keeps them: the curve that dominates it and the one that it dominates look at the same.
    """
    kept: dict[float, _Looks] = vars(profile).setdefault("_looks", {})
    tilt = _TILT * min(1.0, _FEW / runs) ** _FALLS
    if tilt not in kept:
        kept[tilt] = _Looks(profile, tilt, _end(ends_with or profile))
    return kept[tilt].at(points)


def _end(profile: PrivacyProfile) -> float:
    """Where its curve ends, which the profile keeps, too."""
    kept = vars(profile)
    if "_end" not in kept:
        kept["_end"] = _last(profile)
    return float(kept["_end"])


class _Looks:
    """Those at one curve, which grow in number."""

    def __init__(self, profile: PrivacyProfile, tilt: float, last: float) -> None:
        self._profile, self._tilt = profile, tilt
        self._found: dict[float, Enclosure] = {}  # in the order in which they were looked at
        self._look(0.0)
        self._look(last)
        self._queue = [(self._cost(0.0, last), 0.0, last)] if last > 0 else []

    def at(self, points: int) -> dict[float, Enclosure]:
        """The first ones, this many, whatever was asked for before."""
        self._go_on(points)
        return _falling(dict(islice(self._found.items(), points)))

    def _look(self, epsilon: float) -> None:
        self._found[epsilon] = self._profile.delta(epsilon)
        self._known = _falling(self._found)

    def _cost(self, a: float, b: float) -> float:
        # Composed with others a loss counts the more the larger it is: by as much as the tilt that leads to the delta asked for.
        known = self._known
        share: float = max(known[a].high, _DEEPEST) ** self._tilt
        least = 0.0 if self._is_loose(b) and not self._is_loose(a) else known[b].high
        return (least - known[a].high) / share * (b - a) ** 2

    def _is_loose(self, epsilon: float) -> bool:
        """Whether less is known from a smaller epsilon."""
        return self._known[epsilon].high < self._found[epsilon].high

    def _go_on(self, points: int) -> None:
        found, queue = self._found, self._queue
        while len(found) < points and queue:
            before, a, b = heappop(queue)
            if (now := self._cost(a, b)) > before:  # meanwhile less is known to be between them
                heappush(queue, (now, a, b))
                continue
            middle = (a + b) / 2
            if middle in found:  # between these two there is no float
                continue
            self._look(middle)
            heappush(queue, (self._cost(a, middle), a, middle))
            heappush(queue, (self._cost(middle, b), middle, b))


def _falling(found: dict[float, Enclosure]) -> dict[float, Enclosure]:
    """From the smallest epsilon on, each at most as large as those before: delta never rises."""
    known, least = {}, math.inf
    for epsilon, each in sorted(found.items()):
        known[epsilon] = replace(each, high=least) if each.high > least else each
        least = known[epsilon].high
    return known


def _last(profile: PrivacyProfile) -> float:
    """Largest epsilon of the grid: the pure epsilon, or one at which delta is next to its limit."""
    if math.isfinite(pure := profile.epsilon(0).high):
        return min(pure, _LARGEST)
    limit = Fraction(profile.delta(math.inf).high)
    limit = limit if limit < 1 else Fraction(0)  # of a bound that grows again with epsilon, the limit tells nothing
    more = max(_SMALL, limit * _CLOSE)
    while limit + more < 1:
        if math.isfinite(end := profile.epsilon(limit + more).high):
            return min(end, _LARGEST)
        more *= 1 << 20
    return _LARGEST


def _alphas(epsilons: list[float]) -> list[Fraction]:
    """Rationals just at or above e**epsilon, where delta is at most that at epsilon: floats where these tell them apart."""
    with working_precision(128):
        floats = [round_up(ball(Fraction(epsilon)).exp()) for epsilon in epsilons]
    if math.isfinite(floats[-1]) and len(set(floats)) == len(floats):
        return list(map(Fraction, floats))
    with working_precision(_ALPHA_BITS):  # above e**epsilon by a small part of what that exceeds 1 by
        return [1 + dyadic(ball(Fraction(epsilon)).expm1().upper()) for epsilon in epsilons]


def _ends(alphas: list[Fraction], epsilons: list[float], seen: list[Enclosure]) -> tuple[list[flint.fmpq], ...]:
    """Different alphas, and the lower and the upper ends of delta there: from those at epsilons whose exponentials are just below.

    On the way delta falls at most as steeply as it did on average since the last point.
    """
    kept: dict[Fraction, tuple[Fraction, Fraction]] = {}
    with working_precision(160):
        for alpha, epsilon, found in zip(alphas, epsilons, seen, strict=True):
            if alpha in kept:
                continue
            low, high = Fraction(found.low), Fraction(found.high)
            if kept:
                gap = dyadic((ball(alpha) - ball(Fraction(epsilon)).exp()).upper())
                last, (_, before) = next(reversed(kept.items()))
                since = alpha - gap - last
                low -= gap * (min(Fraction(1), (before - low) / since) if since > 0 else 1)
            kept[alpha] = max(low, Fraction(0)), high
    return tuple(list(map(rational, each)) for each in (kept, *zip(*kept.values(), strict=True)))


def _lines(vertices: list[Vertex]) -> list[Line]:
    """The lines of a convex decreasing polygon, from right to left; the constant beyond its end comes first."""
    lines = [(vertices[-1][1], Fraction(0))]
    for (a, high), (b, low) in zip(vertices[-2::-1], vertices[:0:-1], strict=True):
        fall = (high - low) / (b - a)
        if fall > lines[-1][1]:
            lines.append((high + a * fall, fall))
    return lines


def _bottoms(alphas: list[flint.fmpq], lows: list[flint.fmpq], highs: list[flint.fmpq]) -> list[Vertex]:
    """Between any two alphas, the point where the extended neighbouring chords meet; then the last chord's zero."""
    found: list[_Fast] = []
    last, nothing = len(alphas) - 1, flint.fmpq(0)
    for i in range(last):
        a, b = alphas[i], alphas[i + 1]
        # Of the chords that the enclosures allow, the steepest on the left and the flattest on the right stay below h.
        down = (highs[i - 1] - lows[i]) / (a - alphas[i - 1]) if i else None
        after = alphas[i + 2] - b if i + 2 <= last else None
        up = max(nothing, (lows[i + 1] - highs[i + 2]) / after) if after else nothing
        if down is None:
            found.append((a, max(nothing, lows[i + 1] + up * (b - a))))
            continue
        x = a if down <= up else min(b, max(a, a + (lows[i] - lows[i + 1] - up * (b - a)) / (down - up)))
        found.append((x, max(nothing, lows[i] - down * (x - a), lows[i + 1] + up * (b - x))))
    if last and lows[last] > 0 and (fall := (highs[last - 1] - lows[last]) / (alphas[last] - alphas[last - 1])) > 0:
        found.append((alphas[last] + lows[last] / fall, nothing))
    return [(fraction(x), fraction(y)) for x, y in found] or [(Fraction(1), Fraction(0))]


def lower_hull(points: list[Vertex]) -> list[Vertex]:
    """Vertices of the largest convex function below these points, up to where it stops falling."""
    hull: list[_Fast] = []
    for x, y in sorted((rational(x), rational(y)) for x, y in points):
        if hull and x == hull[-1][0]:  # the lowest point comes first
            continue
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (hull[-1][0] - hull[-2][0]):
            hull.pop()
        hull.append((x, y))
    while len(hull) > 1 and hull[-1][1] >= hull[-2][1]:
        hull.pop()
    return [(fraction(x), fraction(y)) for x, y in hull]
