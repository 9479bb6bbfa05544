"""Float estimate of the blanket divergence; it guides the search only, and no result rests on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ldpaudit.accountants.numerics.balls import as_ball
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.core.working_precision import working_precision

FloatEstimate: TypeAlias = Callable[[float], float]
"""Epsilon to about the logarithm of delta; -inf where that is 0, and inf where floats do not suffice."""

_BITS = 128
"""Precision at which differences of probabilities are taken before they become floats: equal ones cancel to 53 bits and more."""
_NO_SILENCE = 1e-12
"""Below this the probability that another user sends nothing is rounding; it moves delta by n times as much at most."""


def float_estimate(blanket: Blanket, users: int) -> FloatEstimate:
    """Of `Blanket.delta`, for two users at least."""
    with working_precision(_BITS):
        cells = [(as_ball(r1), as_ball(r2), as_ball(b)) for r1, r2, b in blanket.cells]
        rows = [(float(r1 - r2), float(r2), float(b)) for r1, r2, b in cells]
        logs = np.array([float(b.log()) for _, _, b in cells if not b == 0])
    differences, seconds, shares = np.array(rows).T
    hidden = shares > 0
    if hidden.sum() < len(logs):
        return lambda epsilon: math.inf  # a density is below every float
    silence = max(0.0, 1 - float(shares.sum()))
    if silence > _NO_SILENCE:
        logs = np.append(logs, math.log(silence))

    def estimated(epsilon: float) -> float:
        gains = differences - math.expm1(epsilon) * seconds
        seen = float(gains[~hidden].clip(0).sum())
        values = gains[hidden] / shares[hidden]
        values = np.append(values, 0.0) if len(logs) > len(values) else values
        return float(np.logaddexp(math.log(seen) if seen else -math.inf, _among(values, logs, users)))

    def at(epsilon: float) -> float:
        try:
            with np.errstate(over="raise", invalid="raise"):
                return estimated(epsilon)
        except (ArithmeticError, ValueError):  # of numpy, and of math
            return math.inf

    return at


def _among(values: np.ndarray, logs: np.ndarray, users: int) -> float:
    if values.max() <= 0:
        return -math.inf
    if values.min() >= 0:
        return math.log(float(values @ np.exp(logs)))
    unit = float(np.abs(values).max())
    return Tilt(values / unit, logs, users).level() + math.log(unit / users)


def largest(estimates: Sequence[FloatEstimate]) -> FloatEstimate:
    """Of the largest of several deltas."""
    return lambda epsilon: max(each(epsilon) for each in estimates)
