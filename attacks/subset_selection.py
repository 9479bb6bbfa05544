"""The attack on subset selection."""

from __future__ import annotations

import numpy as np

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, loss_of
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: SubsetSelection, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a subset speaks for the value that it contains, if it contains one of the two only."""
    loss = loss_of(m.p * (m.k - m.d) / ((1 - m.p) * m.d))
    return by_support((0, m.k - 1), loss, lambda views, x: np.asarray(views)[:, x], "{x in, x' out}")
