"""The attack on one sign of a public column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms._public_sign import PublicSign


def attack(m: PublicSign, event: str) -> Attack:
    """Two values with opposite signs in the user's column; a view speaks for the one whose sign it is."""
    first, second = m.apart
    loss = loss_of(m.p / (1 - m.p))

    def score(views: Views) -> NDArray[np.float64]:
        index, y = np.asarray(views).T
        for_first: NDArray[np.float64] = y * (m.signs(first, index) - m.signs(second, index)) / 2
        return loss * for_first

    return Attack((first, second), score, event)
