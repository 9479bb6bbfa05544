"""What can be seen of RAPPOR."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.memoized_bits import count_losses, look_up
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: Rappor | PermanentRappor, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values whose signatures differ most; every bit that only one of them sets speaks for it or against it."""
    memoized = 1 - m.f / 2, m.f / 2
    if isinstance(m, Rappor):
        losses = count_losses(m.reports, memoized, (m.q, m.p))
    else:
        losses = count_losses(1, memoized, (Fraction(1), Fraction(0)))
    most, least = losses[-1], -losses[0]
    differences = m.differences
    largest = max(differences, key=lambda d: (d[0] * most + d[1] * least, d))
    first, second = differences[largest]
    signatures = m.signature(first), m.signature(second)
    of_first, of_second = (np.flatnonzero(one & ~other) for one, other in (signatures, signatures[::-1]))

    def score(views: Views) -> NDArray[np.float64]:
        views = np.asarray(views)
        speaking, against = (look_up(losses, views[:, bits]).sum(axis=1) for bits in (of_first, of_second))
        # Sums of equal losses in another order must compare equal.
        for_first: NDArray[np.float64] = np.round(speaking - against, 9)
        return for_first

    return Attack((first, second), score, "{the bits that x sets and x' does not are 1, and the other way round 0}")
