"""The loss that a ratio of two probabilities is, whatever its size, and the attack on views that support an input or do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views

_FLOATS = 2**1000
"""Below it a ratio is a float, which has more digits than the difference of two logarithms."""


def loss_of(ratio: Fraction) -> float:
    """Logarithm of a ratio above 0, in nats."""
    if 1 / ratio < _FLOATS and ratio < _FLOATS:
        return math.log(ratio)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def by_support(
    pair: tuple[Any, Any], loss: float, supports: Callable[[Views, Any], NDArray[np.bool_]], event: str
) -> Attack:
    """The two inputs told apart by the views that support one of them alone: these have the loss, all others have none.

    ``supports``: whether each view supports an input; of the views that do, and of those that do not, all are equally likely.
    """

    def score(views: Views) -> NDArray[np.float64]:
        first, second = (supports(views, x) for x in pair)
        for_first: NDArray[np.float64] = first.astype(np.float64) - second
        return loss * for_first

    return Attack(pair, score, event)
