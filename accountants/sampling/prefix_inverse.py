r"""Where the cost of one prefix falls to a given delta: a guess, by Newton's method.

.. math:: D(c) = \max_w\; g'(w) - c\,g(w)

is convex and piecewise linear in c, with slope :math:`-g(w^\star)`. Far from the goal its logarithm is nearly linear in
:math:`\ln(c - 1 + q)`: about :math:`-\theta \ln(c - 1 + q)`. Nothing here is certified: whoever asks goes on from the guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import flint

from ldpaudit.accountants.sampling.thresholded import Sampling, worst_holders
from ldpaudit.profile import Number

_PRECISION = 80
_STEPS = 60
_CLOSE = 0.1
"""Nats from the goal within which a step is made along the line itself."""
_ENOUGH = 2.0**-46


def prefix_inverse(sampling: Sampling, threshold: int, delta: Number, swap: bool) -> float:
    """About the epsilon at which D is delta; a number without meaning where there is none that is finite and above 0.

    Parameters
    ----------
    sampling, threshold : Sampling, int
        The mechanism.
    delta : number
        The goal.
    swap : bool
        Whether the user replaces one, instead of being added.
    """
    if not delta > 0:
        return 0.0
    rate, goal = float(sampling.rate), float(delta)
    start = _first(threshold, math.log(rate) - math.log(goal)) * rate
    with flint.ctx.workprec(_PRECISION):
        found = growth_at(lambda growth: _cost(sampling, threshold, growth, swap), goal, rate, start)
    return math.log1p(found) if math.isfinite(found) else 0.0


def growth_at(
    cost: Callable[[flint.arb], tuple[flint.arb, flint.arb]], goal: float, rate: float, start: float
) -> float:
    """About the c - 1 at which a decreasing convex cost falls to the goal.

    Parameters
    ----------
    cost : callable
        c - 1 to the cost and minus its slope.
    goal : float
        Above 0.
    rate : float
        q.
    start : float
        Where to begin, above 0.
    """
    low, high, growth = 0.0, math.inf, start
    for _ in range(_STEPS):
        value, fall = cost(flint.arb(growth))
        excess, step = float((value / goal).log()) if value > 0 else -math.inf, math.nan
        if excess == 0:
            break
        if fall > 0 and abs(excess) < _CLOSE:
            step = float((value - goal) / fall)
        elif fall > 0 and value > 0:
            power = float(value / fall) * excess / (growth + rate)
            step = (growth + rate) * math.expm1(max(-5.0, min(5.0, power)))
        low, high = (growth, high) if excess > 0 else (low, growth)
        found = growth + step
        if not low < found < high:
            found = (low + high) / 2 if high < math.inf else 2 * growth
        if abs(found - growth) <= _ENOUGH * growth:
            return found
        growth = found
    return growth


def _cost(sampling: Sampling, threshold: int, growth: flint.arb, swap: bool) -> tuple[flint.arb, flint.arb]:
    """D at c = 1 + growth, and minus its slope."""
    w, _ = worst_holders(sampling, threshold, 1 + growth)
    more, fewer = (sampling.swap_gain if swap else sampling.gain)(w, threshold)
    return (more - growth * fewer).mid(), fewer.mid()


def _first(threshold: int, nats: float) -> float:
    """(c - 1)/q at which so many nats are lost by a Poisson number of votes: theta (ln x - 1 + 1/x) = nats, x = c/q."""
    x, wanted = 1.0, max(nats, 1e-3) / threshold
    x = 1 + math.sqrt(2 * wanted) + wanted
    for _ in range(20):
        step = (math.log(x) - 1 + 1 / x - wanted) / (1 / x - 1 / (x * x))
        # The root of a concave function from its right: by the logarithm.
        x = max(1 + 1e-9, x * math.exp(max(-2.0, min(2.0, -step / x))))
        if abs(step) < 1e-3 * x:
            break
    return max(x - 1, 1e-6)
