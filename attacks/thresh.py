"""What can be seen of THRESH by who plays the other users and the centre."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.neighbours import USER_LEVEL, Neighbours

BAIT = 6
"""Places of the view that are looked at though a correct counter makes them pure noise."""
TIE = 1e-6
"""Their weight: enough to order views of equal likelihood ratio."""


def attack(m: Thresh, neighbours: Neighbours = USER_LEVEL) -> Attack:
    """Streams that vote, and hold estimates, against each other, until the counters stop them and a little beyond.

    The score is the log-likelihood ratio. Among views of the same ratio come first those that a user without counters
    would publish: should the counters not count, these are the likelier ones.
    """
    first, second = m.inputs
    chances = list(zip(m.chances(first), m.chances(second), strict=True))
    uncounted = list(zip(m.uncounted(first), m.uncounted(second), strict=True))
    extra = [place for place, (p, q) in enumerate(chances) if p == q and len(set(uncounted[place])) == 2][:BAIT]
    zero = np.array([_loss(1 - p, 1 - q) for p, q in chances])
    one = np.array([_loss(p, q) for p, q in chances])
    for place in extra:
        p, q = uncounted[place]
        zero[place], one[place] = (-TIE, TIE) if p > q else (TIE, -TIE)

    places = np.flatnonzero(one - zero)

    def score(views: Views) -> NDArray[np.float64]:
        found: NDArray[np.float64] = zero.sum() + np.asarray(views)[:, places].astype(np.float64) @ (one - zero)[places]
        # Sums of equal losses in another order must compare equal, or thresholds would split an atom.
        return np.round(found, 9)

    return Attack((first, second), score, "{votes and estimates are those of the first stream}")


def _loss(p: Fraction, q: Fraction) -> float:
    return math.log(p / q)
