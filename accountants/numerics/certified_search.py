"""Certified searches on a monotone quantity: few looks, each of which is a proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball

RESOLUTION = 2.0**-34
"""Relative distance at which a search ends, unless it is told otherwise."""
_MOST_LOOKS = 200
ROUGH = 1e-2
"""Relative tolerance of a first look."""
_GUIDED_LOOKS, _SKETCHED, _MARGIN = 6, 2.0**-40, 2.0**-6
"""Certified looks next to a sketch's root; how well that is found; and how far beside it to look, per tolerance."""
_BLUR, _BLURRED, _FAR, _NUDGE = 1 / 24, 1e-4, 32, 1e-5
"""The part of a wide ball that is not worth another look, and the largest relative one; what is too far off after the last
look, relative to these; and a relative step to tell a slope from."""


def close_in(
    look: Callable[[float], tuple[bool, float]],
    good: float,
    bad: float,
    guess: float | None = None,
    known: tuple[float, float] | None = None,
    resolution: float = RESOLUTION,
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
    resolution : float
        Relative distance at which to stop.

    Returns
    -------
    good, bad : float
        Within the resolution of each other.
    """
    points = [] if known is None else [known]
    x, nudge = (good + bad) / 2 if guess is None else guess, resolution / 4
    for _ in range(_MOST_LOOKS):
        if abs(good - bad) <= resolution * max(abs(good), abs(bad)):
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
    """The square root of -log of a probability, about linear in epsilon; infinite at 0."""
    if not value > 0:
        return math.inf
    return math.sqrt(max(0.0, -float(value.log())))


def crossing(
    value: Callable[[float, float], flint.arb],
    delta: Fraction,
    top: float,
    finest: float,
    guess: float | None = None,
    both: bool = True,
) -> tuple[float, float]:
    """Where a decreasing function of epsilon reaches delta; first looks are rough.

    Parameters
    ----------
    value : callable
        Epsilon and a relative tolerance to a ball that contains the function's value.
    delta : Fraction
        Above 0.
    top : float
        Epsilon at which the value is 0.
    finest : float
        The tolerance to ask for where delta is inside the rough ball, and what the ends' distance is worth.
    guess : float or None
        Where to look first.
    both : bool
        Whether the first end is wanted as close as the second.

    Returns
    -------
    above, below : float
        The value is above delta at the first, and at most delta at the second; both are 0 where it is at most delta
        at 0. Within a relative 2**-34 of each other, or the finest tolerance, where the balls allow.
    """
    goal, resolution = ball(delta), max(RESOLUTION, finest)
    target, last = depth(goal), [0.0, top]

    def look(epsilon: float) -> flint.arb:
        found = value(epsilon, ROUGH)
        if not (found > goal or found <= goal):
            found = value(epsilon, finest)
        if found > goal:
            last[0] = max(last[0], epsilon)
        elif found <= goal:
            last[1] = min(last[1], epsilon)
        return found

    def below(epsilon: float) -> tuple[bool, float]:
        found = look(epsilon)
        return bool(found <= goal), target - depth(found)

    def above(epsilon: float) -> tuple[bool, float]:
        found = look(epsilon)
        return bool(found > goal), depth(found) - target

    start = look(0.0)
    if start <= goal:
        return 0.0, 0.0
    close_in(below, top, 0.0, guess, (0.0, target - depth(start)), resolution)
    if both and start > goal and last[1] - last[0] > resolution * last[1]:  # some balls around it contain delta
        close_in(above, last[0], last[1], last[1] * (1 - 2 * resolution), None, resolution)
    return last[0], last[1]


def guided(
    value: Callable[[float, float], flint.arb],
    delta: Fraction,
    top: float,
    finest: float,
    about: Callable[[float], float],
    side: float,
) -> float | None:
    """One end of `crossing`, found with few looks because a sketch of the function is known.

    Parameters
    ----------
    value, delta, top, finest
        As for `crossing`.
    about : callable
        Epsilon to about the logarithm of the value, in floats; it only saves looks.
    side : float
        -1 for the first end, where the value is above delta; 1 for the second.

    Returns
    -------
    float or None
        None where the sketch does not lead there.
    """
    return _guided(_End(value, ball(delta), finest, about, side), top)


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a crossing: certainly above the goal (side -1) or certainly not (side 1)."""

    value: Callable[[float, float], flint.arb]
    goal: flint.arb
    finest: float
    about: Callable[[float], float]
    side: float

    def look(self, epsilon: float) -> tuple[bool, float, float]:
        """Whether it holds there, the logarithm of what decided, and how far off that may be."""
        found = self.value(epsilon, self.finest)
        low, high = log_of(found.lower()), log_of(found.upper())
        if self.side > 0:
            return bool(found <= self.goal), high, high - low
        return bool(found > self.goal), low, high - low

    def root(self, level: float, top: float, guess: float | None) -> float:
        """Where the sketch is at that level."""
        aim = _root_of(level)

        def sketched(epsilon: float) -> tuple[bool, float]:
            found = self.about(epsilon)
            return found <= level, aim - _root_of(found)

        return close_in(sketched, top, 0.0, guess, None, _SKETCHED)[0]

    def steepness(self, epsilon: float) -> float:
        """How fast the sketch falls there, more or less."""
        fallen = self.about(epsilon) - self.about(epsilon * (1 + _NUDGE))
        return max(fallen, _NUDGE) / (epsilon * _NUDGE)


def _guided(end: _End, top: float) -> float | None:
    """Look where the sketch says, correct the sketch by what is found there, and look again."""
    goal = log_of(end.goal)
    start = end.about(0.0)
    if start == math.inf:
        return None
    if start <= goal + 1:
        at_zero = end.value(0.0, end.finest)
        if at_zero <= end.goal:
            return 0.0
        if not at_zero > end.goal or start <= goal:
            return None
    # Nearly normal losses of standard deviation s have delta(0) = s / sqrt(2 pi), and fall as exp(-(epsilon / s)**2 / 2).
    root: float | None = math.sqrt(4 * math.pi * max(start - goal, 0.1)) * math.exp(start)
    correction, best = 0.0, None
    near = least = max(RESOLUTION / 4, end.finest * _MARGIN)
    margin = near
    for _ in range(_GUIDED_LOOKS):
        root = end.root(goal - correction, top, root)
        if best is not None and abs(best - root) <= 3 * near * best:
            return best
        epsilon = min(top, root * (1 + end.side * margin))
        holds, level, width = end.look(epsilon)
        correction = level - end.about(epsilon)
        if not math.isfinite(correction):
            return None
        # Where balls are wide, the next one's end may be anywhere in a part of them.
        near = max(least, min(_BLUR * width / (epsilon * end.steepness(epsilon)), _BLURRED))
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
