"""What many cells have in common: each one's log-likelihood ratio is drawn toward those that are frequent among all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

STEPS = 100
"""Of expectation and maximization."""
MOST = 1 << 13
"""Different pairs of counts that are looked at."""
_POSITIVE = np.geomspace(0.02, 9.0, 50)
_RATIOS = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])

Floats = NDArray[np.float64]


def shared_ratios(firsts: Sequence[Floats], seconds: Sequence[Floats]) -> list[Floats]:
    r"""Log-ratios of the frequencies of cells, by the law that these ratios have among all cells.

    A mechanism shows few different ratios, often three: :math:`\varepsilon`, 0, :math:`-\varepsilon`. The law that makes
    the counts of all cells likeliest, symmetric and on a grid, finds them, and each cell gets its posterior mean: where
    most cells are noise, only what noise hardly does is believed, and what is believed is believed whole.

    Parameters
    ----------
    firsts, seconds : sequence of ndarray
        For each of several partitions: how often each of two inputs showed each cell.

    Returns
    -------
    list of ndarray
        In nats. Source: Robbins 1956 and Kiefer, Wolfowitz 1956 for the law; Dempster, Laird, Rubin 1977 for its steps.
    """
    sizes = [len(first) for first in firsts]
    totals = [np.log(max(f.sum(), 1.0)) - np.log(max(s.sum(), 1.0)) for f, s in zip(firsts, seconds, strict=True)]
    table = np.stack([np.concatenate(firsts), np.concatenate(seconds), np.repeat(totals, sizes)], axis=1)
    cells, place, often = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    if len(cells) > MOST:
        return [np.zeros(size) for size in sizes]
    odds = _RATIOS + cells[:, 2:]
    likelihood = cells[:, :1] * special.log_expit(odds) + cells[:, 1:2] * special.log_expit(-odds)
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    law = np.full(len(_RATIOS), 1 / len(_RATIOS))
    for _ in range(STEPS):
        share = likelihood * law
        share /= share.sum(axis=1, keepdims=True)
        law = often @ share
        law = (law + law[::-1]) / (2 * len(table))
    share = likelihood * law
    means = (share @ _RATIOS) / share.sum(axis=1)
    return np.split(means[place.ravel()], np.cumsum(sizes)[:-1])
