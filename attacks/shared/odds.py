"""Losses of ratios of two probabilities, whatever their size; of views that support an input or do not; of a memoized bit."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views

_FLOATS = 2**1000  # below it a ratio is a float, which has more digits than the difference of two logarithms
CERTAIN = 1e3  # in place of an infinite loss: above every finite one by far, and sums of a thousand stay exact to 1e-9


def loss_of(ratio: Fraction) -> float:
    """Logarithm of a ratio above 0, in nats."""
    return math.log(ratio) if 1 / ratio < _FLOATS and ratio < _FLOATS else log_probability(ratio)


def log_probability(p: Fraction) -> float:
    """Its logarithm, in nats; minus infinity for 0."""
    return math.log(p.numerator) - math.log(p.denominator) if p else -math.inf


def log_ratio(p: Fraction, q: Fraction) -> float:
    """Logarithm of p/q, which itself may exceed all floats."""
    return log_probability(p) - log_probability(q)


def by_support(pair: tuple[Any, Any], loss: float, supports: Callable[[Views, Any], NDArray[np.bool_]], event: str) -> Attack:
    """The two inputs told apart by the views that support one of them alone: these have the loss, all others have none.

    ``supports``: whether each view supports an input; of the views that do, and of those that do not, all are equally likely.
    """

    def score(views: Views) -> NDArray[np.float64]:
        first, second = (supports(views, x) for x in pair)
        for_first: NDArray[np.float64] = first.astype(np.float64) - second
        return loss * for_first

    return Attack(pair, score, event)


def count_losses(reports: int, memoized: tuple[Fraction, Fraction], shown: tuple[Fraction, Fraction]) -> NDArray[np.float64]:
    """Log-likelihood ratio of bit 1 to bit 0, for each number of ones among the reports.

    ``reports``: how many there are; ``memoized``: p[memoized 1 | bit 1] and P[memoized 1 | bit 0]; ``shown``:
    p[report 1 | memoized 1] and P[report 1 | memoized 0]. Returns NaN where neither bit shows that many ones.
    """
    ones = np.arange(reports + 1)
    on, off = (xlogy(ones, float(s)) + xlogy(reports - ones, float(1 - s)) for s in shown)
    one, zero = (np.logaddexp(log_probability(m) + on, log_probability(1 - m) + off) for m in memoized)
    with np.errstate(invalid="ignore"):
        losses: NDArray[np.float64] = np.clip(one - zero, -CERTAIN, CERTAIN)
    return losses


def look_up(losses: NDArray[np.float64], counts: Views) -> NDArray[np.float64]:
    """Losses of counts. Raises ValueError where one is not a count of these reports."""
    counts = np.asarray(counts)
    if counts.size and not (counts.min() >= 0 and counts.max() < len(losses)):
        raise ValueError(f"needs counts from 0 to {len(losses) - 1}, got {counts.min()} to {counts.max()}")
    return losses[counts]
