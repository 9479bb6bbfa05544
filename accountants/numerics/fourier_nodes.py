r"""Which nodes of a trapezoidal sum are worth evaluating (`positive_part`), and what all others hold.

Between its peaks the transform is so small that a bound does for most nodes (`fourier_tail`); near the peaks within a window
nodes are evaluated, and beyond the window the peaks' cells are bounded as a whole.
"""

from __future__ import annotations

import numpy as np

from ldpaudit.accountants.numerics.fourier_tail import SLACK, Pairs, glance, tail

_WINDOWS = (1 << 7, 1 << 10, 1 << 13)
"""Up to which node all are looked at one by one: farther where that buys accuracy."""
_FEWEST_NODES, _MOST_TERMS = 128, 4096
"""Nodes, and nodes times values, beyond which more accuracy is not bought; in balls a term costs some microseconds."""
_ENOUGH = 80.0
"""Nats by which the transform has fallen at a node that may be left out at any tolerance."""
_WORTHWHILE = 0.7
"""A wider window that leaves a larger share than this of the error is not worth its time."""


def chosen_nodes(pairs: Pairs, h: float, saddle: float, allowed: float) -> tuple[list[int], float]:
    """Nodes to evaluate, and an upper bound of what all the others hold on both sides.

    Parameters
    ----------
    pairs : Pairs
        Of the tilted law.
    h, saddle : float
        Step, and real part of every node.
    allowed : float
        What would be small enough.

    Returns
    -------
    tuple of list of int, float
        Numbers of nodes, from 1 up.
    """
    window, least = 0, np.inf
    for wider in _WINDOWS:
        found = glance(pairs, h, wider + 1, allowed / 2)
        if found.promise <= _WORTHWHILE * least:
            window, least = wider, found.promise
        if least <= allowed / 4:
            break
    beyond = tail(pairs, h, window + 1, allowed)
    nodes, missed = _visible(pairs, h, saddle, window, max(allowed / 4, beyond / 64))
    return nodes, beyond + missed


def _visible(pairs: Pairs, h: float, saddle: float, window: int, allowed: float) -> tuple[list[int], float]:
    """Nodes up to the window's end, and a bound of what the others up to there hold."""
    k = np.arange(1, window + 1)
    t = np.asarray(k * h, dtype=np.float64)
    shares = 2 * h * np.exp(-pairs.falls(t, _ENOUGH)) / (saddle**2 + t**2) * (1 + SLACK)
    smallest = np.argsort(shares)
    held = np.cumsum(shares[smallest])
    most = max(_FEWEST_NODES, _MOST_TERMS // (len(pairs.gaps) + 1))
    left = max(int(np.searchsorted(held, allowed, side="right")), window - most)
    return np.sort(k[smallest[left:]]).tolist(), float(held[left - 1]) * (1 + SLACK) if left else 0.0
