"""Certified searches on a monotone quantity: few looks, each of which is a proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from ldpaudit.accountants._ball import ball

RESOLUTION = 2.0**-34
"""Relative distance at which a search ends."""
_MOST_LOOKS = 200


def close_in(
    look: Callable[[float], tuple[bool, float]],
    good: float,
    bad: float,
    guess: float | None = None,
    known: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Bring a point where something holds and one where it is not shown to hold close together.

    Parameters
    ----------
    look : callable
        A float to whether it holds there, which alone decides, and to a number that is about proportional to the
        distance from where it begins to hold, of either sign, infinite where unknown: that only saves looks.
    good, bad : float
        It holds at `good`, and is not asked for at `bad`; either order.
    guess : float or None
        Where to look first.
    known : pair of float or None
        A point and the second number that `look` would give there.

    Returns
    -------
    good, bad : float
        Within a relative 2**-34 of each other.
    """
    points = [] if known is None else [known]
    x, nudge = (good + bad) / 2 if guess is None else guess, RESOLUTION / 4
    for _ in range(_MOST_LOOKS):
        if abs(good - bad) <= RESOLUTION * max(abs(good), abs(bad)):
            break
        if not min(good, bad) < x < max(good, bad):
            x = (good + bad) / 2
        holds, distance = look(x)
        good, bad = (x, bad) if holds else (good, x)
        if math.isfinite(distance):
            points = [*points[-1:], (x, distance)]
        root = _root(points)
        if root is None:
            x = (good + bad) / 2
            continue
        # A step beyond the root, toward the side that the last look was not on, so that both ends close in.
        nudge = min(4 * nudge, 0.01) if abs(root - x) <= nudge * abs(root) else max(nudge / 4, RESOLUTION / 4)
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
    """The square root of -log of a probability, about linear in epsilon; infinite at 0."""
    if not value > 0:
        return math.inf
    return math.sqrt(max(0.0, -float(value.log())))


def crossing(
    value: Callable[[float], flint.arb], delta: Fraction, top: float, guess: float | None = None
) -> tuple[float, float]:
    """Where a decreasing function of epsilon reaches delta.

    Parameters
    ----------
    value : callable
        Epsilon to an exact ball: an upper or a lower bound of delta.
    delta : Fraction
        Above 0.
    top : float
        Epsilon at which the value is 0.
    guess : float or None
        Where to look first.

    Returns
    -------
    above, below : float
        The value is above delta at the first, and at most delta at the second; both are 0 where it is at most delta
        at 0.
    """
    target, start = depth(ball(delta)), value(0.0)
    if start <= ball(delta):
        return 0.0, 0.0

    def look(epsilon: float) -> tuple[bool, float]:
        found = value(epsilon)
        return bool(found <= ball(delta)), target - depth(found)

    below, above = close_in(look, top, 0.0, guess, (0.0, target - depth(start)))
    return above, below
