"""The attack on one sampled answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.sampled_answer import SampledAnswer
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: SampledAnswer, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """No to all and yes to all: whatever the question is, a 0 speaks for no and a 1 for yes."""
    whole = tuple(range(m.questions))
    loss = loss_of((1 - m.gamma / 2) / (m.gamma / 2))

    def score(views: Views) -> NDArray[np.float64]:
        bits = np.asarray(views)[:, 1]
        speaks: NDArray[np.float64] = (bits == 0).astype(np.float64) - (bits == 1)
        return loss * speaks

    return Attack(((), whole), score, "{the bit is 0}")
