"""The attack on selection by labelled binary sums."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.counters import counter_loss
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: ShuffledSelection, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Yes to the first half of the questions only, and to the other half only: of a half the losses add, less the other's.

    Any two users who answer all questions differently cost the same; of these two the losses stay where they are whatever the
    number of coins is.
    """
    half, coins = m.questions // 2, m.users * m.coins
    loss = counter_loss((coins, 1), (coins, 0), 0.5)

    def score(views: Views) -> NDArray[np.float64]:
        losses = loss(np.asarray(views))
        with np.errstate(invalid="ignore"):
            # Rounded, so that equal sums in another order stay equal; inf - inf is a view that neither input shows.
            return np.asarray(np.round(losses[:, :half].sum(axis=1) - losses[:, half:].sum(axis=1), 9))

    pair = tuple(range(half)), tuple(range(half, m.questions))
    return Attack(pair, score, "{the counts of the first half of the questions are high, the others low}")
