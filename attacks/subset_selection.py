"""The attack on subset selection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: SubsetSelection, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a subset speaks for the value that it contains, if it contains one of the two only."""
    first, second = 0, m.k - 1
    loss = loss_of(m.p * (m.k - m.d) / ((1 - m.p) * m.d))

    def score(views: Views) -> NDArray[np.float64]:
        bits = np.asarray(views).astype(np.float64)
        return loss * (bits[:, first] - bits[:, second])

    return Attack((first, second), score, "{x in, x' out}")
