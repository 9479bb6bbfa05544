"""Certified searches on a monotone quantity that is expensive to evaluate: every point returned is proved by its own
ball.

`certified_crossing` needs nothing but the function; `guided` starts from a float estimate of it, and needs two or three
evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball

RESOLUTION = 2.0**-34
"""Relative distance at which a search ends by default, well below the promised 1e-9. With 2**-30 an epsilon of shuffled
binary randomized response (n = 1e4) is known to 2e-9 instead of 2e-10, with 2**-38 to 6e-11, in the same time."""
_MOST_EVALUATIONS = 200
"""Plain halving needs 64 evaluations for a root of 1e-9 below a top of 1, and 200 for one of 1e-50.
The bracket that is left after this many is returned as it is, wider."""
ROUGH = 1e-2
"""Relative tolerance of a first evaluation, which decides far from the crossing; with 1e-3 or 1e-1 the time of a
shuffle bound changes by less than a third."""
_GUIDED_EVALUATIONS = 6
"""Certified evaluations next to the root of a float estimate; two or three are usual, and with 3 or 12 shuffle bounds
at n = 200 to 1e6 come out the same. Where they do not suffice, `certified_crossing` takes over."""
_ESTIMATED = 2.0**-40
"""Relative precision of the root of a float estimate; with 2**-36 or 2**-46 shuffle bounds have the same width."""
_MARGIN = 2.0**-6
"""First distance from that root, in units of the tolerance; with 2**-8 a shuffle bound at n = 1e5 takes 1.7 times as
long because the first evaluation may not decide, with 2**-4 it has the same width and time."""
_BLUR = 1 / 24
"""Part of a wide ball, as a distance in epsilon, that does not justify another evaluation; with a quarter or four times
of it shuffle bounds at n = 200 to 1e6 have the same width and time."""
_MOST_BLUR = 1e-4
"""Largest such distance, relative to epsilon; with 1e-5 or 1e-3 these bounds have the same width and time."""
_FAR = 32
"""Distance from the last root, in units of the margin, from which the result is refused and `certified_crossing` takes over; with
8 or 128 these bounds have the same width and time."""
_NUDGE = 1e-5
"""Relative step of the difference quotient for the slope of a float estimate; with 1e-6 or 1e-4 these bounds have the
same width and time."""


def close_in(
    evaluate: Callable[[float], tuple[bool, float]],
    good: float,
    bad: float,
    start: float | None = None,
    known: tuple[float, float] | None = None,
    resolution: float = RESOLUTION,
) -> tuple[float, float]:
    """Bring a point where a predicate holds and one where it is not shown to hold close together.

    ``evaluate``: a float to whether the predicate holds there, which alone decides, and to a number about
    proportional to the distance from where it begins to hold, of either sign, infinite where unknown. The number
    reduces the number of evaluations; ``good``, ``bad``: the predicate holds at `good`, and is not evaluated at
    `bad`; either order; ``start``: first point to evaluate; the middle by default; ``known``: a point and the number
    that `evaluate` would give there; ``resolution``: relative distance at which to stop. Returns within the
    resolution of each other, or where 200 evaluations led; the predicate holds at `good`.
    """
    points = [] if known is None else [known]
    x, nudge = (good + bad) / 2 if start is None else start, resolution / 4
    for _ in range(_MOST_EVALUATIONS):
        if abs(good - bad) <= resolution * max(abs(good), abs(bad)):
            break
        if not min(good, bad) < x < max(good, bad):
            x = (good + bad) / 2
        holds, distance = evaluate(x)
        good, bad = (x, bad) if holds else (good, x)
        if math.isfinite(distance):
            points = [*points[-1:], (x, distance)]
        root = _root(points)
        if root is None:
            x = (good + bad) / 2
            continue
        # A step beyond the root, away from the last point, so that both ends close in.
        nudge = min(4 * nudge, 0.01) if abs(root - x) <= nudge * abs(root) else max(nudge / 4, resolution / 4)
        beyond = bad if holds else good
        step = min(max(nudge * abs(root), 0.02 * abs(root - x)), 0.3 * abs(beyond - root))
        x = root + math.copysign(step, beyond - x)
    return good, bad


def _root(points: list[tuple[float, float]]) -> float | None:
    """Where the line through the last two points is zero."""
    if len(points) < 2:
        return None
    (x, y), (x2, y2) = points
    return None if y == y2 else x2 - y2 * (x2 - x) / (y2 - y)


def depth(value: flint.arb) -> float:
    """Square root of -log of a probability: about linear in epsilon where losses are nearly normal; infinite at 0."""
    if not value > 0:
        return math.inf
    return math.sqrt(max(0.0, -float(value.log())))


def certified_crossing(
    value: Callable[[float, float], flint.arb],
    delta: Fraction,
    top: float,
    finest: float,
    start: float | None = None,
    both: bool = True,
) -> tuple[float, float]:
    """Certified bracket of the epsilon at which a decreasing function reaches delta; first evaluations are rough.

    ``value``: epsilon and a relative tolerance to a ball that contains the function's value; ``delta``: above 0;
    ``top``: epsilon at which the value is 0; ``finest``: the tolerance to ask for where delta is inside the rough
    ball; the two ends are brought no closer than this; ``start``: first epsilon to evaluate; ``both``: whether the
    first end must be as close as the second. Returns the value is above delta at the first, and at most delta at the
    second; both are 0 where it is at most delta at 0. Within a relative 2**-34 of each other, or the finest
    tolerance, where the balls allow.
    """
    goal, resolution = ball(delta), max(RESOLUTION, finest)
    target, last = depth(goal), [0.0, top]
    near = [math.inf, 0.0]  # between these a rough ball contains delta

    def enclose(epsilon: float) -> flint.arb:
        found = value(epsilon, finest if near[0] <= epsilon <= near[1] else ROUGH)
        if not (found > goal or found <= goal or near[0] <= epsilon <= near[1]):
            near[:] = min(near[0], epsilon), max(near[1], epsilon)
            found = value(epsilon, finest)
        if found > goal:
            last[0] = max(last[0], epsilon)
        elif found <= goal:
            last[1] = min(last[1], epsilon)
        return found

    def below(epsilon: float) -> tuple[bool, float]:
        found = enclose(epsilon)
        return bool(found <= goal), target - depth(found.upper())

    def above(epsilon: float) -> tuple[bool, float]:
        found = enclose(epsilon)
        return bool(found > goal), depth(found.lower()) - target

    at_zero = enclose(0.0)
    if at_zero <= goal:
        return 0.0, 0.0
    close_in(below, top, 0.0, start, (0.0, target - depth(at_zero.upper())), resolution)
    if both and at_zero > goal and last[1] - last[0] > resolution * last[1]:  # some balls around it contain delta
        close_in(above, last[0], last[1], last[1] * (1 - 2 * resolution), None, resolution)
    return last[0], last[1]


def guided(
    value: Callable[[float, float], flint.arb],
    delta: Fraction,
    top: float,
    finest: float,
    estimate: Callable[[float], float],
    side: float,
) -> float | None:
    """One end of `certified_crossing`, in few evaluations because a float estimate of the function is known.

    ``value``, ``delta``, ``top``, ``finest``: as for `certified_crossing`; ``estimate``: epsilon to about the
    logarithm of the value, in floats; it reduces the number of evaluations, nothing rests on it; ``side``: -1 for the
    first end, where the value is above delta; 1 for the second, where it is at most delta. Returns None where the
    estimate does not lead there.
    """
    return _guided(_End(value, ball(delta), finest, estimate, side), top)


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a crossing: the value is certainly above the goal (side -1) or certainly at most the goal (side 1)."""

    value: Callable[[float, float], flint.arb]
    goal: flint.arb
    finest: float
    estimate: Callable[[float], float]
    side: float

    def evaluate(self, epsilon: float) -> tuple[bool, float, float]:
        """Whether epsilon is on this end's side, the logarithm of the bound that decided, and the ball's width."""
        found = self.value(epsilon, self.finest)
        low, high = log_of(found.lower()), log_of(found.upper())
        if self.side > 0:
            return bool(found <= self.goal), high, high - low
        return bool(found > self.goal), low, high - low

    def root(self, level: float, top: float, start: float | None) -> float:
        """The epsilon at which the float estimate is at that level."""
        aim = _root_of(level)

        def estimated(epsilon: float) -> tuple[bool, float]:
            found = self.estimate(epsilon)
            return found <= level, aim - _root_of(found)

        return close_in(estimated, top, 0.0, start, None, _ESTIMATED)[0]

    def steepness(self, epsilon: float) -> float:
        """About minus the slope of the float estimate there."""
        fallen = self.estimate(epsilon) - self.estimate(epsilon * (1 + _NUDGE))
        return max(fallen, _NUDGE) / (epsilon * _NUDGE)


def _guided(end: _End, top: float) -> float | None:
    """Evaluate at the root of the estimate, correct the estimate by what is found there, and repeat."""
    goal = log_of(end.goal)
    start = end.estimate(0.0)
    if start == math.inf:
        return None
    if start <= goal + 1:
        at_zero = end.value(0.0, end.finest)
        if at_zero <= end.goal:
            return 0.0
        if not at_zero > end.goal or start <= goal:
            return None
    # Nearly normal losses of standard deviation s have delta(0) = s / sqrt(2 pi), then exp(-(epsilon / s)**2 / 2) of it.
    root: float | None = math.sqrt(4 * math.pi * max(start - goal, 0.1)) * math.exp(start)
    correction, best = 0.0, None
    near = least = max(RESOLUTION / 4, end.finest * _MARGIN)
    margin = near
    for _ in range(_GUIDED_EVALUATIONS):
        root = end.root(goal - correction, top, root)
        if best is not None and abs(best - root) <= 3 * near * best:
            return best
        epsilon = min(top, root * (1 + end.side * margin))
        holds, level, width = end.evaluate(epsilon)
        correction = level - end.estimate(epsilon)
        if not math.isfinite(correction):
            return None
        # Where balls are wide, the next ball's end varies by a part of their width.
        near = max(least, min(_BLUR * width / (epsilon * end.steepness(epsilon)), _MOST_BLUR))
        margin = near if holds else max(near, 2 * margin)
        if holds and (best is None or end.side * (best - epsilon) > 0):
            best = epsilon
    settled = best is not None and root is not None and abs(best - root) <= _FAR * near * best
    return best if settled else None


def log_of(value: flint.arb) -> float:
    """The logarithm of a probability, as a float; -inf where it may be 0."""
    return float(value.log()) if value > 0 else -math.inf


def _root_of(level: float) -> float:
    return math.sqrt(max(0.0, -level))
