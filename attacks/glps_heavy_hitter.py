"""The attack on GLPS-HH."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: GlpsHeavyHitter, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two values whose columns are furthest apart, or one and an absent user; the losses of the measurements add.

    Furthest in the squared distance, which decides where measurements are many; the furthest in the sum of distances,
    which decides at delta = 0, is tried as well.
    """
    if neighbours == ADD_REMOVE:
        return _told_apart(m, 0, None)
    pairs, _ = m.apart()
    best = max(pairs, key=lambda pair: pair.squares)
    baits = tuple(_told_apart(m, *m.pair(each)) for each in pairs[:1] if each != best)
    most = _told_apart(m, *m.pair(best))
    return Attack(most.pair, most.score, most.event, baits=baits)


def _told_apart(m: GlpsHeavyHitter, first: int, second: int | None) -> Attack:
    columns = m.column(first), m.column(second)
    differ = np.flatnonzero(columns[0] != columns[1])
    ends, scale = np.stack(columns)[:, differ], float(m.scale)
    shifts, middles = ends[0] - ends[1], ends.sum(axis=0)

    def score(views: Views) -> NDArray[np.float64]:
        # In units of 1/scale the loss of a measurement is exactly its shift beyond both ends: equal sums stay equal.
        reach = np.abs(shifts)
        units: NDArray[np.float64] = np.clip(2 * np.asarray(views)[:, differ] - middles, -reach, reach) @ np.sign(shifts)
        return units / scale

    return Attack((first, second), score, f"the {len(differ)} measurements that differ, all beyond the two columns")
