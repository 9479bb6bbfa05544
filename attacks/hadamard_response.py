"""The attack on Hadamard response."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: HadamardResponse, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a column speaks for the value whose row alone is +1 there."""
    first, second = 0, m.k - 1
    loss = loss_of(m.p / (1 - m.p))

    def score(views: Views) -> NDArray[np.float64]:
        for_first: NDArray[np.float64] = m.supports(views, first).astype(np.float64) - m.supports(views, second)
        return loss * for_first

    return Attack((first, second), score, "{H[x + 1, y] = 1, H[x' + 1, y] = -1}")
