"""What can be seen of the count mean sketches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.memoized_bits import log_ratio
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: CountMeanSketch | HadamardCountMeanSketch, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values that rarely collide, told apart by what their buckets under the view's own hash function show."""
    return _hadamard(m) if isinstance(m, HadamardCountMeanSketch) else _coordinates(m)


def _coordinates(m: CountMeanSketch) -> Attack:
    loss, pair = 2 * log_ratio(m.p, 1 - m.p), m.apart.pair

    def score(views: Views) -> NDArray[np.float64]:
        views = np.asarray(views)
        j, rows = views[:, 0], np.arange(len(views))
        first, second = (views[rows, 1 + m.bucket(x, j)] > 0 for x in pair)
        for_first: NDArray[np.float64] = first.astype(np.float64) - second
        return loss * for_first

    return Attack(pair, score, "{coordinate h(x) = 1, coordinate h(x') = -1}")


def _hadamard(m: HadamardCountMeanSketch) -> Attack:
    loss, pair = log_ratio(m.p, 1 - m.p), m.apart.pair

    def score(views: Views) -> NDArray[np.float64]:
        j, coefficient, sign = np.asarray(views).T
        first, second = (m.negative(x, j, coefficient) for x in pair)
        for_first: NDArray[np.float64] = sign * (second.astype(np.float64) - first)
        return loss * for_first

    return Attack(pair, score, "{a coefficient that differs is that of x}")
