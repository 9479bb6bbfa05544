"""The attack on randomized response."""

import numpy as np

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, loss_of
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: KaryRandomizedResponse, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a view speaks for the value that it names, and every other view for neither."""
    return by_support((0, m.k - 1), loss_of(m.p / m.lie), lambda views, x: np.asarray(views) == x, "{y = x}")
