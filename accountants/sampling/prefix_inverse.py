r"""Float estimate of the epsilon at which one prefix costs a given delta, by Newton's method.

.. math:: D(c) = \max_w\; g'(w) - c\,g(w)

is convex and piecewise linear in c, with slope :math:`-g(w^\star)`. Far from the goal its logarithm is nearly linear in
:math:`\ln(c - 1 + q)`: about :math:`-\theta \ln(c - 1 + q)`. Nothing here is certified: the certified search starts here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import flint

from ldpaudit.accountants.sampling.thresholded import Sampling, worst_holders
from ldpaudit.core.working_precision import working_precision
from ldpaudit.neighbours import Neighbours
from ldpaudit.profile import Number

_PRECISION = 80
"""Bits: more than the 53 of the estimate, so that rounding does not decide its last steps."""
_STEPS = 60
"""Most steps. Measured on nine mechanisms and seven deltas: at most 58 where the epsilon is finite and above 0."""
_CLOSE = 0.1
"""Nats from the goal below which Newton's step is taken for the cost itself, not for its logarithm."""
_ENOUGH = 2.0**-46
"""Relative change of the last step, the resolution of every profile's epsilon."""


def prefix_inverse(sampling: Sampling, threshold: int, delta: Number, neighbours: Neighbours) -> float:
    """Float estimate of the epsilon at which D is delta; meaningless where no finite epsilon above 0 is."""
    rate, goal = float(sampling.rate), float(delta)
    if not goal > 0:
        return 0.0
    start = _first(threshold, math.log(rate) - math.log(goal)) * rate
    with working_precision(_PRECISION):
        found = growth_at(lambda growth: _cost(sampling, threshold, growth, neighbours), goal, rate, start)
    return math.log1p(found) if math.isfinite(found) else 0.0


def growth_at(
    cost: Callable[[flint.arb], tuple[flint.arb, flint.arb]], goal: float, rate: float, start: float
) -> float:
    """Float estimate of the c - 1 at which a decreasing convex cost falls to the goal."""
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


def _cost(sampling: Sampling, threshold: int, growth: flint.arb, neighbours: Neighbours) -> tuple[flint.arb, flint.arb]:
    """D at c = 1 + growth, and minus its slope."""
    w, _ = worst_holders(sampling, threshold, 1 + growth)
    more, fewer = sampling.gain(w, threshold, neighbours)
    return (more - growth * fewer).mid(), fewer.mid()


def _first(threshold: int, nats: float) -> float:
    """(c - 1)/q for a Poisson number of votes: the x - 1 at which theta (ln x - 1 + 1/x) is this number of nats."""
    x, wanted = 1.0, max(nats, 1e-3) / threshold
    x = 1 + math.sqrt(2 * wanted) + wanted
    for _ in range(20):
        step = (math.log(x) - 1 + 1 / x - wanted) / (1 / x - 1 / (x * x))
        # The root of a concave function from its right: by the logarithm.
        x = max(1 + 1e-9, x * math.exp(max(-2.0, min(2.0, -step / x))))
        if abs(step) < 1e-3 * x:
            break
    return max(x - 1, 1e-6)
