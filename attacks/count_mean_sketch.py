"""The attack on the count mean sketches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, log_ratio
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: CountMeanSketch | HadamardCountMeanSketch, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values that rarely collide, told apart by their buckets under the hash function that the view names."""
    loss = log_ratio(m.p, 1 - m.p)
    if isinstance(m, HadamardCountMeanSketch):

        def agrees(views: Views, x: Any) -> NDArray[np.bool_]:
            j, coefficient, sign = np.asarray(views).T
            return np.asarray(m.negative(x, j, coefficient) == (sign < 0))

        return by_support(m.apart.pair, loss, agrees, "{a coefficient that differs is that of x}")

    def is_set(views: Views, x: Any) -> NDArray[np.bool_]:
        views = np.asarray(views)
        return np.asarray(views[np.arange(len(views)), 1 + m.bucket(x, views[:, 0])] > 0)

    return by_support(m.apart.pair, 2 * loss, is_set, "{coordinate h(x) = 1, coordinate h(x') = -1}")
