"""Empirical-Bayes estimates: each cell's log-likelihood ratio is shrunk toward ratios that are frequent among all cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

STEPS = 30
"""Steps of expectation and maximization."""
MAGNITUDES = 8
"""Magnitudes of ratios beside 0, at most: most mechanisms show one or two."""
MOST = 1 << 13
"""Different pairs of counts, at most: the table of their likelihoods then takes 7 MB."""
LEAST = -600.0
"""Logarithm of the smallest likelihood, relative to the largest: its exponential is still above 0."""
_POSITIVE = np.geomspace(0.02, 9.0, 50)
"""Magnitudes of the prior's log-ratios, in nats, 13 % apart."""
_RATIOS = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])

Floats = NDArray[np.float64]


def shared_ratios(firsts: Sequence[Floats], seconds: Sequence[Floats]) -> list[Floats]:
    r"""Log-ratios of the frequencies of cells, by the prior law that these ratios have among all cells.

    A mechanism shows few different ratios, often three: :math:`\varepsilon`, 0, :math:`-\varepsilon`. The prior is a
    symmetric law on a grid. It begins at 0 alone and grows by one magnitude at a time, each the one that makes the counts
    of all cells likeliest, as long as it gains more than two parameters would gain by luck. A cell's estimate is the
    posterior log-odds of the next view in it: where most cells are noise, a cell is shrunk to 0 unless noise would hardly
    produce its counts, and then it is hardly shrunk at all.

    ``firsts``, ``seconds``: for each of several partitions: how often each of two inputs showed each cell. Returns in
    nats. Source: Robbins 1956 and Kiefer, Wolfowitz 1956 for the law; Schwarz 1978 for its size; Dempster, Laird,
    Rubin 1977 for its weights.
    """
    sizes = [len(first) for first in firsts]
    totals = [np.log(max(f.sum(), 1.0)) - np.log(max(s.sum(), 1.0)) for f, s in zip(firsts, seconds, strict=True)]
    table = np.stack([np.concatenate(firsts), np.concatenate(seconds), np.repeat(totals, sizes)], axis=1)
    cells, place, often = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    if len(cells) > MOST:
        return [np.zeros(size) for size in sizes]
    odds = _RATIOS + cells[:, 2:]
    likelihood = cells[:, :1] * special.log_expit(odds) + cells[:, 1:2] * special.log_expit(-odds)
    likelihood = np.exp(np.maximum(likelihood - likelihood.max(axis=1, keepdims=True), LEAST))
    share = likelihood * _law(likelihood, often / often.sum(), math.log(len(table)) / len(table))
    odds = np.log(share @ special.expit(_RATIOS)) - np.log(share @ special.expit(-_RATIOS))
    return np.split(odds[place.ravel()], np.cumsum(sizes)[:-1])


def _law(likelihood: Floats, often: Floats, luck: float) -> Floats:
    """Weights of the ratios, from the likelihood of each cell by each; `luck` is what two parameters gain per cell."""
    middle = len(_POSITIVE)
    either = (likelihood[:, middle + 1 :] + likelihood[:, middle - 1 :: -1]) / 2
    columns = np.concatenate([likelihood[:, [middle]], either], axis=1)
    chosen, weights = [0], np.ones(1)
    while len(chosen) <= MAGNITUDES:
        added, gained = _one_more(columns[:, chosen] @ weights, either, often)
        best = int(np.argmax(gained))
        if gained[best] <= luck:
            break
        chosen.append(best + 1)
        weights = _weights(columns[:, chosen], np.append(weights * (1 - added[best]), added[best]), often)
    law = np.zeros(middle + 1)
    np.add.at(law, chosen, weights)
    return np.concatenate([law[:0:-1] / 2, law[:1], law[1:] / 2])


def _one_more(before: Floats, either: Floats, often: Floats) -> tuple[Floats, Floats]:
    """The likeliest weight of each magnitude if it alone is added, and the log-likelihood that it gains per cell."""
    more = either / before[:, None] - 1
    weights = np.full(either.shape[1], 0.5)
    for _ in range(STEPS):
        weights = weights * (often @ ((1 + more) / (1 + weights * more)))
    return weights, often @ np.log1p(weights * more)


def _weights(columns: Floats, weights: Floats, often: Floats) -> Floats:
    """The likeliest weights, from nearly likeliest ones."""
    for _ in range(STEPS):
        share = columns * weights
        weights = often @ (share / share.sum(axis=1, keepdims=True))
    return weights
