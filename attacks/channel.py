"""The attack on a channel."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import RARE, Attack, logs, shown
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.channel import Channel
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

_LOOKED_AT = 64
"""Pairs of inputs whose events are compared: those that differ most by one view, or by half of what all views show."""

Pair = tuple[int, int]


def attack(m: Channel, neighbours: Neighbours = REPLACE_ONE, delta: float = 0.0) -> Attack:
    """The two inputs that an audit tells apart best at this delta; a view's score is its log-likelihood ratio."""
    rows = np.array(m.matrix, dtype=np.float64)
    first, second = max(_promising(rows, delta), key=lambda pair: shown(rows[pair[0]], rows[pair[1]], delta))
    losses = logs(rows[first], rows[second])

    def score(views: Views) -> NDArray[np.float64]:
        return np.asarray(losses[np.asarray(views)])

    return Attack((first, second), score, f"the likelihood ratio of {first} and {second}")


def _promising(rows: NDArray[np.float64], delta: float) -> list[Pair]:
    """Pairs that show most by their best single view, and by the event {more likely than not}."""
    ranks = np.empty((2, len(rows), len(rows)))
    for x, row in enumerate(rows):
        ranks[0, x] = np.log(np.maximum(row - delta, RARE) / np.maximum(rows, RARE)).max(axis=1)
        likelier = row > rows
        gained, lost = (likelier * row).sum(axis=1) - delta, (likelier * rows).sum(axis=1)
        ranks[1, x] = np.log(np.maximum(gained, RARE) / np.maximum(lost, RARE))
    ranks[:, range(len(rows)), range(len(rows))] = -np.inf
    best = np.argsort(-ranks.reshape(2, -1), axis=1, kind="stable")[:, :_LOOKED_AT].ravel()
    pairs = (divmod(int(place), len(rows)) for place in dict.fromkeys(best.tolist()))
    return [(first, second) for first, second in pairs if first != second]
