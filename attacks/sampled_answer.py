"""The attack on one sampled answer."""

import numpy as np

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, loss_of
from ldpaudit.mechanisms.sampled_answer import SampledAnswer
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: SampledAnswer, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """No to all and yes to all: whatever the question is, a 0 speaks for no and a 1 for yes."""
    pair = (), tuple(range(m.questions))
    loss = loss_of((1 - m.gamma / 2) / (m.gamma / 2))
    return by_support(pair, loss, lambda views, x: np.asarray(views)[:, 1] == (x == pair[1]), "{the bit is 0}")
