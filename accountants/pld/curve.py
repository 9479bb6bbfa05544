r"""From a profile's curve to losses: a law that dominates it, and one that it dominates.

With :math:`\alpha = e^\varepsilon`, delta is a convex decreasing function h. Chords through points on or above h lie
above it, so the polygon through them is the divergence of a pair that dominates. Between two points h lies above the
neighbouring chords, prolonged; the lowest polygon under these is the divergence of a pair that is dominated. The gap is
quadratic in the distance of the points.
"""

from __future__ import annotations

import math
from fractions import Fraction
from heapq import heappop, heappush
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, ceil, floor
from ldpaudit.accountants.pld.exact import ExactPLD, Line, symmetric_pair
from ldpaudit.enclosure import round_up
from ldpaudit.errors import Unsupported
from ldpaudit.profile import PrivacyProfile

POINTS = 256
"""Points at which a curve is asked for; the gap that is left is quadratic in their distance."""
_SMALL = Fraction(1, 1 << 200)
"""Where epsilon has no upper end, the curve is followed down to this delta; the rest counts as an infinite loss."""
_FINE = 1 << 100
"""Denominator of the epsilons on the two sides of a logarithm."""

Vertex: TypeAlias = tuple[Fraction, Fraction]
"""(alpha, delta)."""


def dominating_curve(profile: PrivacyProfile) -> ExactPLD:
    """A pair whose divergence is at least the profile's upper end everywhere, and which is its own reversed pair.

    Raises
    ------
    Unsupported
        Where no epsilon makes delta small.
    """
    vertices = [(_above(e), Fraction(profile.delta(e).high)) for e in _grid(profile)]
    # Convex again where upper ends, each rounded by itself, are not: a vertex is raised to its right neighbours' line.
    convex: list[Vertex] = []
    for alpha, delta in reversed(vertices):
        if convex:
            delta = max(delta, convex[-1][1])
        if len(convex) > 1:
            delta = max(delta, _at(alpha, convex[-1], convex[-2]))
        convex.append((alpha, delta))
    return symmetric_pair(_lines(convex[::-1]))


def dominated_curve(profile: PrivacyProfile) -> ExactPLD:
    """A pair whose divergence is at most the profile's lower end everywhere, and which is its own reversed pair.

    Only a lower bound in composition where one pair, in both directions, attains the profile at every epsilon.
    """
    alphas = sorted({_above(e) for e in _grid(profile)})
    lows, highs = zip(*(_ends(profile, alpha) for alpha in alphas), strict=True)
    hull = _lower_hull(_bottoms(alphas, lows, highs))
    pair = symmetric_pair(_lines(hull))
    total = sum((mass for _, mass in pair.atoms), pair.infinite)
    # Less mass is less divergence.
    return pair if total <= 1 else ExactPLD(tuple((r, mass / total) for r, mass in pair.atoms), pair.infinite / total)


def _grid(profile: PrivacyProfile) -> list[float]:
    """Epsilons from 0 to where the curve ends, closer to each other where it bends."""
    last = _last(profile)
    known = {0.0: profile.delta(0.0).high, last: profile.delta(last).high}
    queue: list[tuple[float, float, float]] = []

    def enqueue(a: float, b: float) -> None:
        heappush(queue, ((known[b] - known[a]) * (b - a) ** 2, a, b))

    if last > 0:
        enqueue(0.0, last)
    while len(known) < POINTS and queue:
        _, a, b = heappop(queue)
        middle = (a + b) / 2
        known[middle] = profile.delta(middle).high
        enqueue(a, middle)
        enqueue(middle, b)
    return sorted(known)


def _last(profile: PrivacyProfile) -> float:
    pure = profile.epsilon(0).high
    small = _SMALL
    while math.isinf(pure):
        pure, small = profile.epsilon(small).high, small * (1 << 20)
        if small >= 1:
            raise Unsupported(profile, "no epsilon makes its delta small enough to be composed")
    return pure


def _above(epsilon: float) -> Fraction:
    """A rational alpha next to e**epsilon, not below it: there delta is not larger."""
    with flint.ctx.workprec(128):
        return Fraction(round_up(ball(Fraction(epsilon)).exp()))


def _ends(profile: PrivacyProfile, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Lower and upper end of delta at the logarithm of alpha."""
    with flint.ctx.workprec(160):
        log = ball(alpha).log() * _FINE
        below, above = floor(log), ceil(log)
    low, high = profile.delta(Fraction(above, _FINE)).low, profile.delta(Fraction(max(below, 0), _FINE)).high
    return Fraction(low), Fraction(high)


def _at(alpha: Fraction, a: Vertex, b: Vertex) -> Fraction:
    """The line through two vertices, at alpha."""
    return a[1] + (b[1] - a[1]) * (alpha - a[0]) / (b[0] - a[0])


def _lines(vertices: list[Vertex]) -> list[Line]:
    """The lines of a convex decreasing polygon, the constant after its end first."""
    lines = [(vertices[-1][1], Fraction(0))]
    for (a, high), (b, low) in zip(vertices[-2::-1], vertices[:0:-1], strict=True):
        fall = (high - low) / (b - a)
        if fall > lines[-1][1]:
            lines.append((high + a * fall, fall))
    return lines


def _bottoms(alphas: list[Fraction], lows: tuple[Fraction, ...], highs: tuple[Fraction, ...]) -> list[Vertex]:
    """Between any two alphas, where the prolonged neighbouring chords meet; then where the last one reaches 0."""
    found: list[Vertex] = []
    last = len(alphas) - 1
    for i in range(last):
        a, b = alphas[i], alphas[i + 1]
        # From the left the steepest the chord may be, from the right the flattest: both stay below h.
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


def _lower_hull(points: list[Vertex]) -> list[Vertex]:
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
