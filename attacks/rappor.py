"""The attack on RAPPOR."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack, Summand, Summands
from ldpaudit.attacks.shared.odds import count_losses, look_up
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

Noisy: TypeAlias = Rappor | PermanentRappor | LongitudinalUnary


def attack(m: Noisy, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values whose signatures differ most, told apart by the bits that only one of them sets."""
    memoized = m.kept(1), m.kept(0)
    if isinstance(m, PermanentRappor):
        losses = count_losses(1, memoized, (Fraction(1), Fraction(0)))
    else:
        losses = count_losses(m.reports, memoized, m.shown)
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

    return Attack((first, second), score, "{the bits that x alone sets are 1, those that x' alone sets are 0}")


def summands(m: Noisy, values: Sequence[int]) -> Summands:
    """The bits that not all of the values' signatures share; of several reports, how many of them set each."""
    zero, one = (Summand(0, tuple(map(float, m.bit_law(bit)))) for bit in (0, 1))
    signatures = np.stack([m.signature(x) for x in values])
    places = np.flatnonzero(signatures.any(axis=0) & ~signatures.all(axis=0))
    at = {place: zip(values, signatures[:, place].tolist(), strict=True) for place in places.tolist()}
    both = int(signatures.all(axis=0).sum())
    rest = ((one.chances[1], both), (zero.chances[1], m.bits - both - len(places)))
    return Summands({place: {x: one if is_set else zero for x, is_set in each} for place, each in at.items()}, rest=rest)
