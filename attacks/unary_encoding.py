"""The attack on unary encoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack, Part
from ldpaudit.attacks.shared.memoized_bits import log_ratio
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: UnaryEncoding, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values, told apart by their two bits; or a value and an absent user, told apart by one bit."""
    one, zero = log_ratio(m.p, m.q), log_ratio(1 - m.p, 1 - m.q)
    first, second = 0, m.k - 1

    def from_nobody(views: Views) -> NDArray[np.float64]:
        return np.where(np.asarray(views)[:, first] > 0, one, zero)

    def from_another(views: Views) -> NDArray[np.float64]:
        bits = np.asarray(views)[:, [first, second]] > 0
        for_first: NDArray[np.float64] = bits[:, 0].astype(np.float64) - bits[:, 1]
        return (one - zero) * for_first

    if neighbours == ADD_REMOVE:
        return Attack((first, None), from_nobody, "{bit x}")
    return Attack((first, second), from_another, "{bit x = 1, bit x' = 0}")


def part(m: UnaryEncoding, values: Sequence[int]) -> Part:
    """The bits of a few values: all other bits have one law, whichever of these values a user holds."""
    kept = list(values)
    if len(kept) < 2:
        return Part.whole(m, values)
    place = {x: i for i, x in enumerate(kept)}
    return Part(UnaryEncoding(len(kept), m.p, m.q), place, lambda views: np.asarray(views)[:, kept])
