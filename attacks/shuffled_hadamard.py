"""The attack on Hadamard response in the shuffled model."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: ShuffledHadamard, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Values 0 and 1, told apart by the messages that speak for either; or an absent user, by the number of messages.

    The others hold value 2, whose row is the sum of the rows of 0 and 1. Of the messages that speak for all three values a
    share is theirs; the score counts only the rest.
    """
    whole, absent = ((m.rho + m.k) * users for users in (m.users, m.users - 1))
    known = m.users - 1

    def size_score(views: Views) -> NDArray[np.float64]:
        total = np.sum(views, axis=1)
        return np.where(total == whole, np.inf, np.where(total == absent, -np.inf, 0.0))

    def score(views: Views) -> NDArray[np.float64]:
        first, second, third, every, _ = np.asarray(views, dtype=np.float64).T
        spare = np.maximum(third + every - known, 0) / np.maximum(third + every, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss: NDArray[np.float64] = np.log(first + spare * every) - np.log(second + spare * every)
        return loss

    if neighbours == ADD_REMOVE:
        return Attack((0, None), size_score, "{all users' messages, or one user's less}")
    return Attack((0, 1), score, "{more messages speak for 0 than for 1}")
