"""The attack on randomized response."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: KaryRandomizedResponse, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a view speaks for the value that it names, and every other view for neither."""
    first, second = 0, m.k - 1
    loss = loss_of(m.p / m.lie)

    def score(views: Views) -> NDArray[np.float64]:
        views = np.asarray(views)
        named: NDArray[np.float64] = (views == first).astype(np.float64) - (views == second)
        return loss * named

    return Attack((first, second), score, "{y = x}")
