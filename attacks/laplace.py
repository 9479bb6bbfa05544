"""What can be seen through Laplace noise."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def loss(y: NDArray[np.float64], low: float, high: float, scale: float) -> NDArray[np.float64]:
    """Log-likelihood ratio of `low` to `high`.

    The difference of the two distances in floats would split the atoms that lie beyond both: they are clipped instead.
    """
    extreme = (high - low) / scale
    return np.clip(((low + high) - 2 * y) / scale, -extreme, extreme)


@singledispatch
def attack(m: Mechanism, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The pair and the score of either mechanism."""
    raise Unsupported(m, "it is not one of Laplace's mechanisms")


@attack.register
def number(m: Laplace, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two ends; a view beyond both speaks most for the nearer one."""
    low, high = m.inputs
    scale = float(m.scale)
    return Attack((low, high), lambda views: loss(np.asarray(views), low, high, scale), "{y <= low}, {y >= high}")


@attack.register
def histogram(m: LaplaceHistogram, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values, or one and an absent user; the losses of the coordinates add."""
    first, second, scale = 0, m.k - 1, float(m.scale)

    def one(views: Views) -> NDArray[np.float64]:
        return -loss(np.asarray(views)[:, first], 0.0, 1.0, scale)

    def both(views: Views) -> NDArray[np.float64]:
        return one(views) + loss(np.asarray(views)[:, second], 0.0, 1.0, scale)

    if neighbours == ADD_REMOVE:
        return Attack((first, None), one, "{y_x >= 1}, {y_x <= 0}")
    return Attack((first, second), both, "{y_x >= 1, y_x' <= 0}")
