"""What can be seen through two-sided geometric noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: Geometric | TruncatedGeometric, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two ends of the range; a view beyond an end speaks for it as much as the end itself."""
    step = -float(np.log1p(float(m.alpha - 1)))

    def score(views: Views) -> NDArray[np.float64]:
        between = np.clip(np.asarray(views, dtype=np.float64), 0, m.bound)
        return step * (m.bound - 2 * between)

    return Attack((0, m.bound), score, f"{{y <= 0}}, {{y >= {m.bound}}}")
