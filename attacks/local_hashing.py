"""The attack on local hashing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: LocalHashing, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a view speaks for the value whose hash alone it names."""
    first, second = 0, m.domain - 1
    loss = loss_of(m.p / m.lie)

    def score(views: Views) -> NDArray[np.float64]:
        for_first: NDArray[np.float64] = m.supports(views, first).astype(np.float64) - m.supports(views, second)
        return loss * for_first

    return Attack((first, second), score, "{y = h(x) != h(x')}")
