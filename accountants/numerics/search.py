"""Searches on floats and integers: roots of decreasing functions that are expensive to evaluate, and monotone
predicates.

A search returns points at which the caller's own certified predicate was evaluated; validity rests on that alone.
For functions that return balls at a chosen tolerance, see `certified_search`.
"""

import math
from collections.abc import Callable
from functools import cache

from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.profile import Number

_CAP = 1e4
"""Largest modulus of a logarithm: a cost may be 0 or infinite, and Brent's method needs finite values. The logarithms
of two positive floats differ by less than 1500."""
_NEAR = 1.1  # factor of the first step where a start was not within the width
_GROWTH = 8  # factor from one step to the next, away from the start


def crossing(cost: Callable[[float], float], goal: Number, start: float, factor: float, width: float) -> tuple[float, float]:
    """Two floats within a relative `width`, unless the cost is flat: it exceeds the goal at the first, and not at the
    second.

    Brent's method on the logarithm of the cost, then steps both ways until the two floats bracket the crossing.

    ``cost``: decreasing function of a positive float; it exceeds the goal near 0, and is at most the goal far out;
    ``start``, ``factor``: first float to evaluate, and the factor above 1 of the first step from there.
    """
    from scipy.optimize import brentq  # here: it takes a while to import

    cost = cache(cost)  # the last steps start at a float that Brent's method has evaluated

    def excess(place: float) -> float:
        value = cost(math.exp(place))
        if goal <= 0 or value <= 0:
            return _CAP if value > goal else -_CAP
        ratio = math.log(value) - log(goal)
        return min(_CAP, ratio or 5e-324) if value > goal else max(-_CAP, min(ratio, 0.0))

    low, high = _around(cost, goal, start, factor)
    if not low > 0 or math.isinf(high):
        return low, high
    # One float farther out on both sides, or the rounding of exp and log could undo the bracket.
    ends = math.nextafter(math.log(low), -math.inf), math.nextafter(math.log(high), math.inf)
    root = math.exp(brentq(excess, *ends, xtol=width / 8, rtol=1e-15))
    return _around(cost, goal, root, 1 + width / 4)


def near_crossing(cost: Callable[[float], float], goal: Number, start: float, width: float) -> tuple[float, float]:
    """As `crossing`, with only two evaluations where the start is within a quarter of the width of the crossing."""
    low, high = start * (1 - width / 4), start * (1 + width / 4)
    if cost(high) > goal:
        return crossing(cost, goal, high, _NEAR, width)
    if not cost(low) > goal:
        return crossing(cost, goal, low, _NEAR, width)
    return low, high


def _around(cost: Callable[[float], float], goal: Number, start: float, factor: float) -> tuple[float, float]:
    """Two floats on either side of the crossing, by steps from `start` that grow fourfold in the logarithm."""
    low = high = start
    step = math.log(factor)
    if cost(start) > goal:
        while math.isfinite(high) and cost(high) > goal:
            low, high, step = high, high * math.exp(min(step, 300.0)), 4 * step
        return low, high
    while not cost(low) > goal and low > 0:
        low, high, step = low * math.exp(-min(step, 300.0)), low, 4 * step
    return low, high


def first(holds: Callable[[int], bool], start: int, low: int, high: int) -> int:
    """Smallest integer of ``low..high`` where a monotone predicate holds, `high` if none; fast if `start` is near."""
    x, step = min(max(start, low), high), 1
    if holds(x):
        while x > low and holds(max(low, x - step)):
            x, step = max(low, x - step), 2 * step
        low, high = max(low, x - step), x
    else:
        while x < high and not holds(min(high, x + step)):
            x, step = min(high, x + step), 2 * step
        low, high = min(x + 1, high), min(high, x + step)
    return halved(holds, low, high)


def halved(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Smallest integer of ``low..high`` where a monotone predicate holds, `high`, not evaluated, if none; of any size."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def last_before(holds: Callable[[float], bool], end: float, nearest: float, width: float) -> float:
    """A point below `end`, above 0, at which a predicate holds, about the last one; 0 where none is found.

    Next to the end it fails, and far below it may fail again: so the search steps away from the end, and then halves.
    ``nearest``, ``width``: relative distance of the first step from the end, and of the last two points from each
    other.
    """
    gap = end * nearest
    while gap < end and not holds(end - gap):
        gap *= 2
    if gap >= end:
        return 0.0
    low, high = end - gap, end - gap / 2
    while high - low > width * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def bisect(low_side: Callable[[float], bool], low: float, high: float, halvings: int = 60) -> float:
    """The upper end after some halvings between a point on the low side and one that is not: a float estimate."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if low_side(middle) else (low, middle)
    return high


def step_up(holds: Callable[[float], bool], start: float, gap: float, top: float = math.inf) -> float:
    """First point at which a predicate holds, by growing steps up from `start`; `top`, not evaluated, if none."""
    high = start
    while high < top and not holds(high):
        high, gap = min(top, start + gap), _GROWTH * gap
    return high


def step_down(holds: Callable[[float], bool], end: float, start: float, gap: float) -> float:
    """First point at which a predicate holds: `end`, or growing steps down from `start`; 0, not evaluated, if none."""
    low = end
    while low > 0 and not holds(low):
        low, gap = max(0.0, start - gap), _GROWTH * gap
    return low
