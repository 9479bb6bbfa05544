"""The attack on one sign of a public column, and on two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms._public_sign import PublicSign
from ldpaudit.mechanisms._questions import SplitSigns


def attack(m: PublicSign, event: str) -> Attack:
    """Two values with opposite signs in the user's column; a view speaks for the one whose sign it is."""
    first, second = m.apart
    loss = loss_of(m.p / (1 - m.p))

    def score(views: Views) -> NDArray[np.float64]:
        index, y = np.asarray(views).T
        for_first: NDArray[np.float64] = y * (m.signs(first, index) - m.signs(second, index)) / 2
        return loss * for_first

    return Attack((first, second), score, event)


def attack_on_two(m: SplitSigns, event: str) -> Attack:
    """Two values with opposite signs in both of the user's columns; a view's signs speak for them by their coins' odds."""
    first, second = m.apart
    losses = np.array([loss_of(chance / (1 - chance)) for chance in (m.p, m.q)])

    def score(views: Views) -> NDArray[np.float64]:
        index, *told = np.asarray(views).T
        for_first = np.stack(told, axis=-1) * (m.signs([first], index) - m.signs([second], index)) / 2
        found: NDArray[np.float64] = for_first @ losses
        return found

    return Attack((first, second), score, event)
