"""Certified searches on a monotone quantity that is expensive to evaluate: every point returned is proved by its own
ball.

`certified_crossing` needs nothing but the function; `guided` starts from a float estimate of it, and needs two or three
evaluations.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball

RESOLUTION = 2.0**-34  # relative distance at which a search ends by default, well below the promised 1e-9
_MOST_EVALUATIONS = 200  # plain halving needs as many for a root of 1e-50 below a top of 1; beyond, the bracket is returned wider
ROUGH = 1e-2  # relative tolerance of a first evaluation, which decides far from the crossing
_GUIDED_EVALUATIONS = 8  # next to the root of a float estimate, where two or three are usual; else `certified_crossing` takes over
_ESTIMATED = 2.0**-40  # relative precision of the root of a float estimate
_MARGIN = 2.0**-6
"""First distance from that root, in tolerances; with 2**-8 the first evaluation may not decide, for 1.7 times the time."""
_PATIENCE = 3  # evaluations after which an interval is cut in half unless a quarter is left: where balls are wide, numbers mislead
_BLUR = 1 / 24  # part of a wide ball, as a distance in epsilon, that does not justify another evaluation
_MOST_BLUR = 1e-4  # largest such distance, relative to epsilon
_MOST_TOO_STEEP = 0.95  # part of an estimate's slope that may be too much
_FAR = 32  # distance from the last root, in units of the margin, from which the result is refused
_NUDGE = 1e-5  # relative step of the difference quotient for the slope of a float estimate


def close_in(
    evaluate: Callable[[float], tuple[bool, float]],
    good: float,
    bad: float,
    start: float | None = None,
    known: tuple[float, float] | None = None,
    resolution: float = RESOLUTION,
) -> tuple[float, float]:
    """Bring a point where a predicate holds and one where it is not shown to hold within the resolution of each other.

    ``evaluate``: a float to whether the predicate holds there, which alone decides, and to a number about proportional
    to the distance from where it begins to hold, of either sign, infinite where unknown: it saves evaluations, of which
    there are at most 200; ``good``, ``bad``: in either order; the predicate holds at `good`, as at the first point
    returned, and is not evaluated at `bad`; ``start``: first point to evaluate, else the middle; ``known``: a point and
    the number that `evaluate` would give there.
    """
    points = [] if known is None else [known]
    x, nudge, before = (good + bad) / 2 if start is None else start, resolution / 4, math.inf
    for i in range(_MOST_EVALUATIONS):
        if abs(good - bad) <= resolution * max(abs(good), abs(bad)):
            break
        if not min(good, bad) < x < max(good, bad):
            x = (good + bad) / 2
        if i % _PATIENCE == 0:
            x, before = (good + bad) / 2 if abs(good - bad) > before / 4 else x, abs(good - bad)
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


def log_of(value: flint.arb) -> float:
    """The logarithm of a probability, as a float; -inf where it may be 0."""
    return float(value.log()) if value > 0 else -math.inf


def depth(value: flint.arb) -> float:
    """Square root of -log of a probability: about linear in epsilon where losses are nearly normal; infinite at 0."""
    return _root_of(log_of(value))


def _root_of(level: float) -> float:
    return math.sqrt(max(0.0, -level))


def certified_crossing(
    value: Callable[[float, float], flint.arb],
    delta: Fraction,
    top: float,
    finest: float,
    start: float | None = None,
    both: bool = True,
) -> tuple[float, float]:
    """Certified bracket of the epsilon at which a decreasing function reaches delta; first evaluations are rough.

    The value is above delta at the first end, and at most delta at the second; both are 0 where it is at most delta at
    0. They are within a relative 2**-34 of each other, or the finest tolerance, where the balls allow.

    ``value``: epsilon and a relative tolerance to a ball that contains the function's value; ``delta``: above 0;
    ``top``: epsilon at which the value is 0; ``finest``: the tolerance to ask for where delta is inside the rough ball;
    ``start``: first epsilon to evaluate; ``both``: whether the first end must be as close as the second.
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
    """One end of `certified_crossing`, in few evaluations because a float estimate of the function is known; None where
    it misleads.

    ``value``, ``delta``, ``top``, ``finest``: as there; ``estimate``: epsilon to about the logarithm of the value, in
    floats; nothing rests on it; ``side``: -1 for the first end, where the value is above delta; 1 for the second, where
    it is at most delta.

    It evaluates at the root of the estimate, corrects the estimate by what is found there, and its steepness by what was found
    before, and repeats.
    """
    bound = ball(delta)
    goal, start = log_of(bound), estimate(0.0)
    at, correction, slope = 0.0, 0.0, 0.0

    def corrected(level: float) -> float:
        return level + correction + slope * (level - at)

    def look(epsilon: float) -> tuple[bool, float]:
        found = corrected(estimate(epsilon))
        return found <= goal, _root_of(goal) - _root_of(found)

    if start == math.inf:
        return None
    if start <= goal + 1:
        at_zero = value(0.0, finest)
        if at_zero <= bound:
            return 0.0
        if not at_zero > bound or start <= goal:
            return None
    # Nearly normal losses of standard deviation s have delta(0) = s / sqrt(2 pi), then exp(-(epsilon / s)**2 / 2) of it.
    root = math.sqrt(4 * math.pi * max(start - goal, 0.1)) * math.exp(min(start, 0.0))  # no delta is above 1
    best = None
    margin = near = least = max(RESOLUTION / 4, finest * _MARGIN)
    for i in range(_GUIDED_EVALUATIONS):
        if corrected(start) <= goal:
            return 0.0 if value(0.0, finest) <= bound else None
        root = close_in(look, top, 0.0, root, None, _ESTIMATED)[0]
        if best is not None and abs(best - root) <= 3 * near * best:
            return best
        if root >= top and correction > 0:  # the estimate never falls that low, although it reaches the goal
            return None
        epsilon = min(top, root * (1 + side * margin))
        found = value(epsilon, finest)
        low, high, about = log_of(found.lower()), log_of(found.upper()), estimate(epsilon)
        holds = bool(found <= bound) if side > 0 else bool(found > bound)
        lacking = (high if side > 0 else low) - about
        if not math.isfinite(lacking):
            return None
        # Where balls are wide, the next ball's end varies by a part of their width; minus the slope is about `steepness`.
        steepness = max(about - estimate(epsilon * (1 + _NUDGE)), _NUDGE) / (epsilon * _NUDGE)
        near = max(least, min(_BLUR * (high - low) / (epsilon * steepness), _MOST_BLUR))
        if i and abs(about - at) > _FAR * near * epsilon * steepness:  # nearer, it is their width that differs
            slope = max((lacking - correction) / (about - at), -_MOST_TOO_STEEP)
        at, correction = about, lacking
        margin = near if holds else max(near, 2 * margin)
        if holds and (best is None or side * (best - epsilon) > 0):
            best = epsilon
    return best if best is not None and abs(best - root) <= _FAR * near * best else None
