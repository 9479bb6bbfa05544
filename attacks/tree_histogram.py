"""The attack on TreeHist."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared import public_sign
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.tree_histogram import HashedTreeHistogram, SplitTreeHistogram, TreeHistogram
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(
    m: TreeHistogram | SplitTreeHistogram | HashedTreeHistogram, neighbours: Neighbours = REPLACE_ONE
) -> Attack:
    """Two values with opposite signs, or with different hashes, in all that the user tells; a view speaks for one of them."""
    if isinstance(m, HashedTreeHistogram):
        return _attack_on_hash(m)
    if isinstance(m, SplitTreeHistogram):
        return public_sign.attack_on_two(m, "{y and y' are the signs of x}")
    return public_sign.attack(m, "{y is the sign of x}")


def _attack_on_hash(m: HashedTreeHistogram) -> Attack:
    """Two values of which every prefix differs; a view speaks for the one whose hash alone it names."""
    first, second = m.apart
    loss = loss_of(m.p / m.oracle.lie)

    def score(views: Views) -> NDArray[np.float64]:
        for_first: NDArray[np.float64] = m.supports(views, first).astype(np.float64) - m.supports(views, second)
        return loss * for_first

    return Attack((first, second), score, "{y = h(prefix of x) != h(prefix of x')}")
