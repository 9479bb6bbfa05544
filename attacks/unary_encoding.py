"""The attack on unary encoding."""

from collections.abc import Sequence

import numpy as np

from ldpaudit.attacks.attack import Attack, Part, Summand, Summands
from ldpaudit.attacks.shared.odds import by_support, log_ratio
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: UnaryEncoding, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values, told apart by their two bits; or a value and an absent user, told apart by one bit."""
    one, zero = log_ratio(m.p, m.q), log_ratio(1 - m.p, 1 - m.q)
    if neighbours == ADD_REMOVE:
        return Attack((0, None), lambda views: np.where(np.asarray(views)[:, 0] > 0, one, zero), "{bit x}")
    return by_support((0, m.k - 1), one - zero, lambda views, x: np.asarray(views)[:, x] > 0, "{bit x = 1, bit x' = 0}")


def part(m: UnaryEncoding, values: Sequence[int]) -> Part:
    """The bits of a few values: all other bits have one law, whichever of these values a user holds."""
    kept = list(values)
    if len(kept) < 2:
        return Part.whole(m, values)
    place = {x: i for i, x in enumerate(kept)}
    return Part(UnaryEncoding(len(kept), m.p, m.q), place, lambda views: np.asarray(views)[:, kept])


def summands(m: UnaryEncoding, values: Sequence[int | None]) -> Summands:
    """The bits of a few values; None is an absent user."""
    one, zero = (Summand.coin(float(p)) for p in (m.p, m.q))
    at = {place: {x: one if x == place else zero for x in values} for place in values if place is not None}
    return Summands(at, rest=((float(m.q), m.k - len(at)),))
