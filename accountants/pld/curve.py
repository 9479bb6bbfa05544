r"""From a profile's curve to privacy loss distributions: of a pair that dominates it, and of one that it dominates.

With :math:`\alpha = e^\varepsilon`, delta is a convex decreasing function h. Chords through points on or above h lie
above it, so the polygon through these points is the divergence of a pair that dominates. Between two points h lies
above the extensions of the two neighbouring chords; the convex hull of these extensions is the divergence of a pair
that is dominated. The gap is quadratic in the distance of the points.

Source: Zhu, Dong, Wang 2022, Proposition 8 (a convex decreasing curve is the divergence of a pair of laws); chords as
in Doroshenko et al. 2022.
"""

from __future__ import annotations

import math
from fractions import Fraction
from heapq import heappop, heappush
from typing import TypeAlias

from ldpaudit.accountants.numerics.balls import ball, ceil, floor
from ldpaudit.accountants.pld.exact import ExactPLD, Line, symmetric_pair
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic, round_up
from ldpaudit.profile import PrivacyProfile

POINTS = 256
"""At which a curve is evaluated; 128, 256 and 512 know an epsilon of 40 Laplace reports to 9e-6, 4e-6 and 3e-6."""
_SMALL = Fraction(1, 1 << 200)
"""Where epsilon has no upper end, the curve is followed down to this delta, and the rest becomes infinite-loss mass,
6e-61 per run: invisible at the deltas that people ask for."""
_CLOSE = Fraction(1, 1 << 30)
"""Part of a limit of delta above 0 to which the curve is followed; the rest becomes infinite-loss mass."""
_FINE = 1 << 100
"""Denominator of the two epsilons that enclose a logarithm: delta differs between them by 2**-100 at most."""
_ALPHA_BITS = 53
"""Significant bits of alpha - 1, where floats do not hold alpha: two small epsilons have one, and a large one has none."""
_LARGEST = 1e4
"""Nats. What delta is left there becomes infinite-loss mass: e**1e4 exceeds the ratio of any two positive floats."""

Vertex: TypeAlias = tuple[Fraction, Fraction]  # (alpha, delta)


def dominating_curve(profile: PrivacyProfile, points: int = POINTS) -> ExactPLD:
    """A pair, equal to its reversed pair, whose divergence is at least the profile's upper end at every epsilon."""
    highs = _highs(profile, points)
    vertices = [(alpha, Fraction(high)) for alpha, high in zip(_alphas([*highs]), highs.values(), strict=True)]
    # Convex again where upper ends, each rounded by itself, are not: a vertex is raised to its right neighbours' line.
    convex: list[Vertex] = []
    for alpha, delta in reversed(vertices):
        if convex:
            delta = max(delta, convex[-1][1])
        if len(convex) > 1:
            delta = max(delta, _at(alpha, convex[-1], convex[-2]))
        convex.append((alpha, delta))
    return symmetric_pair(_lines(convex[::-1]))


def dominated_curve(profile: PrivacyProfile, points: int = POINTS) -> ExactPLD:
    """A pair, equal to its reversed pair, whose divergence is at most the profile's lower end at every epsilon.

    In composition it gives a lower bound only if one pair of inputs, in both directions, attains the profile at every
    epsilon.
    """
    alphas = sorted(set(_alphas([*_highs(profile, points)])))
    lows, highs = zip(*(_ends(profile, alpha) for alpha in alphas), strict=True)
    hull = lower_hull(_bottoms(alphas, lows, highs))
    pair = symmetric_pair(_lines(hull))
    total = sum((mass for _, mass in pair.atoms), pair.infinite)
    # Scaling masses down lowers the divergence, so the pair stays dominated.
    return pair if total <= 1 else ExactPLD(tuple((r, mass / total) for r, mass in pair.atoms), pair.infinite / total)


def _highs(profile: PrivacyProfile, points: int = POINTS) -> dict[float, float]:
    """Upper ends of delta at epsilons from 0 to the end of the curve, closer to each other where it bends."""
    last = _last(profile)
    known = {0.0: profile.delta(0.0).high, last: profile.delta(last).high}
    queue: list[tuple[float, float, float]] = []

    def enqueue(a: float, b: float) -> None:
        heappush(queue, ((known[b] - known[a]) * (b - a) ** 2, a, b))

    if last > 0:
        enqueue(0.0, last)
    while len(known) < points and queue:
        _, a, b = heappop(queue)
        middle = (a + b) / 2
        if middle in known:  # between these two there is no float
            continue
        known[middle] = profile.delta(middle).high
        enqueue(a, middle)
        enqueue(middle, b)
    return dict(sorted(known.items()))


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


def _ends(profile: PrivacyProfile, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Lower and upper end of delta at the logarithm of alpha."""
    with working_precision(160):
        log = ball(alpha).log() * _FINE
        below, above = floor(log), ceil(log)
    low, high = profile.delta(Fraction(above, _FINE)).low, profile.delta(Fraction(max(below, 0), _FINE)).high
    return Fraction(low), Fraction(high)


def _at(alpha: Fraction, a: Vertex, b: Vertex) -> Fraction:
    """Value at alpha of the line through two vertices."""
    return a[1] + (b[1] - a[1]) * (alpha - a[0]) / (b[0] - a[0])


def _lines(vertices: list[Vertex]) -> list[Line]:
    """The lines of a convex decreasing polygon, from right to left; the constant beyond its end comes first."""
    lines = [(vertices[-1][1], Fraction(0))]
    for (a, high), (b, low) in zip(vertices[-2::-1], vertices[:0:-1], strict=True):
        fall = (high - low) / (b - a)
        if fall > lines[-1][1]:
            lines.append((high + a * fall, fall))
    return lines


def _bottoms(alphas: list[Fraction], lows: tuple[Fraction, ...], highs: tuple[Fraction, ...]) -> list[Vertex]:
    """Between any two alphas, the point where the extended neighbouring chords meet; then the last chord's zero."""
    found: list[Vertex] = []
    last = len(alphas) - 1
    for i in range(last):
        a, b = alphas[i], alphas[i + 1]
        # Of the chords that the enclosures allow, the steepest on the left and the flattest on the right stay below h.
        down = (highs[i - 1] - lows[i]) / (a - alphas[i - 1]) if i else None
        after = alphas[i + 2] - b if i + 2 <= last else None
        up = max(Fraction(0), (lows[i + 1] - highs[i + 2]) / after) if after else Fraction(0)
        if down is None:
            found.append((a, max(Fraction(0), lows[i + 1] + up * (b - a))))
            continue
        x = a if down <= up else min(b, max(a, a + (lows[i] - lows[i + 1] - up * (b - a)) / (down - up)))
        found.append((x, max(Fraction(0), lows[i] - down * (x - a), lows[i + 1] + up * (b - x))))
    if last and lows[last] > 0 and (fall := (highs[last - 1] - lows[last]) / (alphas[last] - alphas[last - 1])) > 0:
        found.append((alphas[last] + lows[last] / fall, Fraction(0)))
    return found or [(Fraction(1), Fraction(0))]


def lower_hull(points: list[Vertex]) -> list[Vertex]:
    """Vertices of the largest convex function below these points, up to where it stops falling."""
    hull: list[Vertex] = []
    for x, y in sorted(points):
        if hull and x == hull[-1][0]:
            hull[-1] = (x, min(y, hull[-1][1]))
            continue
        while len(hull) > 1 and _at(x, hull[-2], hull[-1]) >= y:
            hull.pop()
        hull.append((x, y))
    while len(hull) > 1 and hull[-1][1] >= hull[-2][1]:
        hull.pop()
    return hull
