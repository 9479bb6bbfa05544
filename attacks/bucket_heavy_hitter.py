"""What can be seen of the Bucket mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: BucketHeavyHitter, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two inputs whose bits differ most; the losses of these coordinates add."""
    first, second, *_ = m.apart(present=neighbours == ADD_REMOVE)
    bits = np.stack([np.zeros(m.coordinates) if x is None else m.hashes(x) for x in (first, second)]).astype(np.float64)
    differ = np.flatnonzero(bits[0] != bits[1])
    signs, scale = (bits[0] - bits[1])[differ], float(m.scale)

    def score(views: Views) -> NDArray[np.float64]:
        # In units of 1/scale the loss of a coordinate is exactly 1 or -1 beyond 0 and 1: equal sums stay equal.
        units: NDArray[np.float64] = np.clip(2 * np.asarray(views)[:, differ] - 1, -1, 1) @ signs
        return units / scale

    return Attack((first, second), score, f"the {len(differ)} bits that differ, all beyond 0 and 1")
