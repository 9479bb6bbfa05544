"""Searches that floats guide: roots of decreasing functions that are expensive to evaluate, and monotone predicates.

A search returns points at which the caller's own certified predicate was asked and answered; how it got there never counts.
Where a float estimate of a certified function is known, see `certified_search`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ldpaudit.profile import Number

_CAP = 1e4
"""Nats that a logarithm counts for at most: a cost may be 0, or infinite."""
_NEAR = 1.1
"""Factor of the first step where a good guess was not as good as that."""
_GROWTH = 8
"""Factor from one step to the next, away from a guess."""


def crossing(
    cost: Callable[[float], float], goal: Number, guess: float, spread: float, width: float
) -> tuple[float, float]:
    """Two floats within a relative `width`: at the first the decreasing cost exceeds the goal, at the second it does not.

    Brent's method on the logarithm of the cost, then steps to both sides until each is on its own.

    Parameters
    ----------
    cost : callable
        Of a positive float; it exceeds the goal next to 0, and does not far out.
    goal : number
        What is looked for.
    guess, spread : float
        Where to start, and with which factor above 1 to step from there.
    width : float
        Relative.

    Returns
    -------
    tuple of float
        A little farther apart where the cost is flat.
    """
    from scipy.optimize import brentq  # here: it takes a while to import

    def excess(log: float) -> float:
        value = cost(math.exp(log))
        if goal <= 0 or value <= 0:
            return _CAP if value > goal else -_CAP
        ratio = math.log(value) - math.log(goal)
        return min(_CAP, ratio or 5e-324) if value > goal else max(-_CAP, min(ratio, 0.0))

    low, high = _around(cost, goal, guess, spread)
    if not low > 0:
        return 0.0, high
    # Where both have the logarithms that the cost was asked for, or the rounding of exp could undo the bracket.
    ends = math.nextafter(math.log(low), -math.inf), math.nextafter(math.log(high), math.inf)
    root = math.exp(brentq(excess, *ends, xtol=width / 8, rtol=1e-15))
    return _around(cost, goal, root, 1 + width / 4)


def near_crossing(cost: Callable[[float], float], goal: Number, guess: float, width: float) -> tuple[float, float]:
    """As `crossing`, with two evaluations where the guess is as good as the width."""
    low, high = guess * (1 - width / 4), guess * (1 + width / 4)
    if cost(high) > goal:
        return crossing(cost, goal, high, _NEAR, width)
    if not cost(low) > goal:
        return crossing(cost, goal, low, _NEAR, width)
    return low, high


def _around(cost: Callable[[float], float], goal: Number, start: float, factor: float) -> tuple[float, float]:
    """Two floats around `start` on either side of the crossing, the distances in the logarithm growing fourfold."""
    low = high = start
    step = math.log(factor)
    if cost(start) > goal:
        while cost(high) > goal and math.isfinite(high):
            low, high, step = high, high * math.exp(min(step, 300.0)), 4 * step
        return low, high
    while not cost(low) > goal and low > 0:
        low, high, step = low * math.exp(-min(step, 300.0)), low, 4 * step
    return low, high


def first(holds: Callable[[int], bool], guess: int, low: int, high: int) -> int:
    """Smallest integer in ``low..high`` where a monotone predicate holds, `high` if none; fast where `guess` is near."""
    guess, step = min(max(guess, low), high), 1
    if holds(guess):
        while guess > low and holds(max(low, guess - step)):
            guess, step = max(low, guess - step), 2 * step
        low, high = max(low, guess - step), guess
    else:
        while guess < high and not holds(min(high, guess + step)):
            guess, step = min(high, guess + step), 2 * step
        low, high = min(guess + 1, high), min(high, guess + step)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def last_before(holds: Callable[[float], bool], end: float, nearest: float, width: float) -> float:
    """About the last point below `end` at which a predicate holds that fails from some point on; 0 where none is found.

    Parameters
    ----------
    holds : callable
        Far below the end it may fail again: the search steps away from the end, and then halves.
    end : float
        Above 0.
    nearest, width : float
        Distance of the first step, and of the two points in the end; relative.
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


def bisect(low_side: Callable[[float], bool], low: float, high: float) -> float:
    """The upper end of 60 halvings between a point on the low side and one that is not, as floats tell."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if low_side(middle) else (low, middle)
    return high


def step_up(enough: Callable[[float], bool], guess: float, gap: float, top: float = math.inf) -> float:
    """A point from the guess on, in growing steps, at which a predicate holds; the top, unasked, where none does before."""
    high = guess
    while high < top and not enough(high):
        high, gap = min(top, guess + gap), _GROWTH * gap
    return high


def step_down(refused: Callable[[float], bool], start: float, guess: float, gap: float) -> float:
    """A point from `start` down, in growing steps below the guess, at which a predicate holds; 0, unasked, where none does."""
    low = start
    while low > 0 and not refused(low):
        low, gap = max(0.0, guess - gap), _GROWTH * gap
    return low
