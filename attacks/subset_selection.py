"""The attack on subset selection."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np

from ldpaudit.attacks.attack import Attack, Summand, Summands
from ldpaudit.attacks.shared.odds import by_support, loss_of
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: SubsetSelection, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a subset speaks for the value that it contains, if it contains one of the two only."""
    loss = loss_of(m.p * (m.k - m.d) / ((1 - m.p) * m.d))
    return by_support((0, m.k - 1), loss, lambda views, x: np.asarray(views)[:, x], "{x in, x' out}")


def summands(m: SubsetSelection, values: Sequence[int]) -> Summands:
    """Which of the values are in the subset: a value itself with probability p, and of all others as many as its size leaves."""

    def together(x: int, places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        others = m.k - 1 - len([place for place in places if place != x])
        for row in product((0, 1), repeat=len(places)):
            of_others = sum(is_in for place, is_in in zip(places, row, strict=True) if place != x)
            for own, chance in ((1, m.p), (0, 1 - m.p)):
                if (x, 1 - own) not in zip(places, row, strict=True) and m.d - own >= of_others:
                    found[row] += chance * Fraction(comb(others, m.d - own - of_others), comb(m.k - 1, m.d - own))
        return {row: float(chance) for row, chance in found.items()}

    other = (m.p * (m.d - 1) + (1 - m.p) * m.d) / (m.k - 1)
    own, another = Summand.coin(float(m.p)), Summand.coin(float(other))
    return Summands({place: {x: own if x == place else another for x in values} for place in values}, together=together)
