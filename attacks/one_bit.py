"""The attack on 1BitMean and dBitFlip."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import TIE, Attack
from ldpaudit.attacks.shared.odds import count_losses, log_ratio, look_up
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean, PerturbedDBitFlip
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: OneBitMean | DBitFlip | PerturbedDBitFlip, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The ends of the interval, by how many reports are 1; or any two buckets, by their bits where these are drawn."""
    if not isinstance(m, OneBitMean):
        return _histogram_attack(m)
    losses = np.round(count_losses(m.reports, (m.high, m.low), (1 - m.gamma, m.gamma)), 9)
    return Attack((1, 0), lambda views: look_up(losses, views), "{how many reports are 1}")


def _histogram_attack(m: DBitFlip | PerturbedDBitFlip) -> Attack:
    if isinstance(m, DBitFlip):
        loss = log_ratio(m.p, 1 - m.p)
        losses = np.array([-loss, loss])
    else:
        losses = count_losses(m.reports, (m.p, 1 - m.p), (1 - m.gamma, m.gamma))
    first, second = 0, m.k - 1

    def score(views: Views) -> NDArray[np.float64]:
        bits = np.asarray(views)[:, [first, second]]
        # A correct mechanism draws every bit equally often; code that favours the user's own bucket shows here.
        for_set = np.where(bits < 0, 0.0, look_up(losses, np.maximum(bits, 0)) + TIE)
        for_first: NDArray[np.float64] = for_set[:, 0] - for_set[:, 1]
        return for_first

    return Attack((first, second), score, "{bit x = 1, bit x' = 0}")
