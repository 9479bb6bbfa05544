"""The attack on a channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.channel import Channel
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

_RARE = 1e-4
"""Probability below which an event is too rare to show much in the views that an audit draws."""
_LOOKED_AT = 64
"""Pairs of inputs whose events are compared: those that differ most by one view, or by half of what all views show."""

Pair = tuple[int, int]


def attack(m: Channel, neighbours: Neighbours = REPLACE_ONE, delta: float = 0.0) -> Attack:
    """The two inputs that an audit tells apart best at this delta; a view's score is its log-likelihood ratio."""
    rows = np.array(m.matrix, dtype=np.float64)
    first, second = max(_promising(rows, delta), key=lambda pair: _shown(rows[pair[0]], rows[pair[1]], delta))
    return Attack((first, second), _Score(_losses(rows[first], rows[second])), f"the likelihood ratio of {first} and {second}")


def _promising(rows: NDArray[np.float64], delta: float) -> list[Pair]:
    """Pairs that show most by their best single view, and by the event {more likely than not}."""
    ranks = np.empty((2, len(rows), len(rows)))
    for x, row in enumerate(rows):
        ranks[0, x] = np.log(np.maximum(row - delta, _RARE) / np.maximum(rows, _RARE)).max(axis=1)
        likelier = row > rows
        gained, lost = (likelier * row).sum(axis=1) - delta, (likelier * rows).sum(axis=1)
        ranks[1, x] = np.log(np.maximum(gained, _RARE) / np.maximum(lost, _RARE))
    ranks[:, range(len(rows)), range(len(rows))] = -np.inf
    best = np.argsort(-ranks.reshape(2, -1), axis=1, kind="stable")[:, :_LOOKED_AT].ravel()
    pairs = (divmod(int(place), len(rows)) for place in dict.fromkeys(best.tolist()))
    return [(first, second) for first, second in pairs if first != second]


def _shown(p: NDArray[np.float64], q: NDArray[np.float64], delta: float) -> float:
    """About the epsilon that the events {likelihood ratio at least some value} show."""
    order = np.argsort(-_losses(p, q), kind="stable")
    gained, lost = np.cumsum(p[order]) - delta, np.cumsum(q[order])
    return float(np.log(np.maximum(gained, _RARE) / np.maximum(lost, _RARE)).max())


def _losses(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of likelihood ratios; NaN where neither law shows the view."""
    with np.errstate(divide="ignore", invalid="ignore"):
        losses: NDArray[np.float64] = np.log(p) - np.log(q)
    return losses


@dataclass(frozen=True, slots=True)
class _Score:
    """Views to their log-likelihood ratios."""

    losses: NDArray[np.float64]

    def __call__(self, views: Views) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.losses[np.asarray(views)]
        return found
