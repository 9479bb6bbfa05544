"""The attack on THRESH by an adversary who plays the other users and the centre."""

import math

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import BAIT, TIE, Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.neighbours import USER_LEVEL, Neighbours


def attack(m: Thresh, neighbours: Neighbours = USER_LEVEL) -> Attack:
    """Two streams that differ in as many votes and estimates as the counters allow, and in a few more.

    The score is the log-likelihood ratio. Views of equal ratio are ordered by what a user without counters would publish:
    if the counters do not count, these views are the likelier ones.
    """
    first, second = m.inputs
    chances = list(zip(m.chances(first), m.chances(second), strict=True))
    uncounted = list(zip(m.uncounted(first), m.uncounted(second), strict=True))
    extra = [place for place, (p, q) in enumerate(chances) if p == q and len(set(uncounted[place])) == 2][:BAIT]
    zero = np.array([math.log((1 - p) / (1 - q)) for p, q in chances])
    one = np.array([math.log(p / q) for p, q in chances])
    for place in extra:
        p, q = uncounted[place]
        zero[place], one[place] = (-TIE, TIE) if p > q else (TIE, -TIE)

    places = np.flatnonzero(one - zero)

    def score(views: Views) -> NDArray[np.float64]:
        found: NDArray[np.float64] = zero.sum() + np.asarray(views)[:, places].astype(np.float64) @ (one - zero)[places]
        # Sums of equal losses in another order must compare equal, or thresholds would split an atom.
        return np.round(found, 9)

    return Attack((first, second), score, "{votes and estimates are those of the first stream}")
