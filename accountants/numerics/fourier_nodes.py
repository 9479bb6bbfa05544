r"""The nodes of a trapezoidal sum that are evaluated (`positive_part`), and a bound of the sum over all others.

Between its peaks the transform is so small that a bound suffices for most nodes (`fourier_tail`). Within a window,
nodes near the peaks are evaluated; beyond the window the peaks' cells are bounded as a whole.
"""

from __future__ import annotations

import numpy as np

from ldpaudit.accountants.numerics.fourier_tail import SLACK, Pairs, glance, tail

_WINDOWS = (1 << 7, 1 << 10, 1 << 13)
"""Windows that are tried, as their last nodes; every node of a window gets its own bound. Without the last two, a
shuffle bound with 200 users is 4 % wider in half the time; with one of 2**16 it takes three times as long and has the
same width."""
_FEWEST_NODES = 128
"""Nodes that may be evaluated however many values there are; with 32 or 512 shuffle bounds at n = 200 to 1e6 come out
the same."""
_MOST_TERMS = 4096
"""Nodes times values that are evaluated at most, some microseconds each; with 1024 or 16384 these bounds come out the
same."""
_ENOUGH = 80.0
"""Nats by which the transform has fallen at a node that may be left out at every tolerance; with 40 or 160 these bounds
come out the same."""
_WORTHWHILE = 0.7
"""A wider window must leave at most this share of the error; with 0.35 or 0.95 these bounds come out the same."""


def chosen_nodes(pairs: Pairs, h: float, saddle: float, allowed: float) -> tuple[list[int], float]:
    """Nodes to evaluate, and an upper bound of the sum over all others, of both signs.

    ``pairs``: of the tilted law; ``h``, ``saddle``: step, and real part of every node; ``allowed``: a bound of this
    size is small enough. Returns indices of nodes, from 1 up, and the bound.
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
    """Nodes within the window to evaluate, and a bound of the sum over the window's other nodes."""
    k = np.arange(1, window + 1)
    t = np.asarray(k * h, dtype=np.float64)
    shares = 2 * h * np.exp(-pairs.falls(t, _ENOUGH)) / (saddle**2 + t**2) * (1 + SLACK)
    smallest = np.argsort(shares)
    held = np.cumsum(shares[smallest])
    most = max(_FEWEST_NODES, _MOST_TERMS // (len(pairs.gaps) + 1))
    left = max(int(np.searchsorted(held, allowed, side="right")), window - most)
    return np.sort(k[smallest[left:]]).tolist(), float(held[left - 1]) * (1 + SLACK) if left else 0.0
