"""The attack on public questions about a value, answered by a sign, by two, or by a hash."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shared.public_questions.public_sign import PublicSign
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, SplitSigns
from ldpaudit.mechanisms.tree_histogram import HashedAnswers
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: PublicSign | SplitSigns | HashedAnswers, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values with opposite signs, or with different hashes, in all that the user tells; a sign speaks by its coin's odds."""
    if isinstance(m, HashedAnswers):
        return by_support(m.apart, loss_of(m.p / m.oracle.lie), m.supports, "{y = h(prefix of x) != h(prefix of x')}")
    first, second = m.apart
    losses = np.array([loss_of(p / (1 - p)) for p in m.coins])

    def score(views: Views) -> NDArray[np.float64]:
        index, *told = np.asarray(views).T
        apart = (m.signs([first], index) - m.signs([second], index)).reshape(len(index), len(losses)) / 2
        found: NDArray[np.float64] = (np.stack(told, axis=-1) * apart) @ losses
        return found

    if not isinstance(m, PublicSign):
        return Attack((first, second), score, "{y and y' are the signs of x}")
    return Attack((first, second), score, f"{{y {'is' if isinstance(m, Asked) else '='} {m.sign}}}")
