"""What can be seen. Without this file, ldpaudit takes the likelihood ratio of the law."""

from __future__ import annotations

import math

import numpy as np

from hesitant.answer import HesitantAnswer
from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: HesitantAnswer, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The bit that is said speaks for itself; silence speaks for neither."""
    loss = math.log(m.p / (1 - m.p))

    def score(views: Views) -> np.ndarray:
        return loss * ((np.asarray(views) == 0).astype(float) - (np.asarray(views) == 1))

    return Attack((0, 1), score, "{y = x}")
