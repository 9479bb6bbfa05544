"""The attack on two-sided geometric noise."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack, Summand, Summands
from ldpaudit.attacks.shared.polya import GeometricNoises
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

_LISTED = 1 << 10  # largest bound of truncated integers whose laws are listed: each sum draws as many numbers


def attack(m: Geometric | TruncatedGeometric, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two ends of the range; a view beyond an end speaks for that end as much as the end itself."""
    step = -float(np.log1p(float(m.alpha - 1)))

    def score(views: Views) -> NDArray[np.float64]:
        between = np.clip(np.asarray(views, dtype=np.float64), 0, m.bound)
        return step * (m.bound - 2 * between)

    return Attack((0, m.bound), score, f"{{y <= 0}}, {{y >= {m.bound}}}")


def summands(m: Geometric | TruncatedGeometric, values: Sequence[int]) -> Summands:
    """The integer: with noise that adds up whatever users hold, or where it is truncated, of the law of what they hold.

    Raises Unsupported for a truncated one of thousands of values.
    """
    if isinstance(m, Geometric):
        return Summands({0: {x: Summand(x, (1.0,)) for x in values}}, lambda users: (GeometricNoises(users, m.alpha),))
    if m.bound > _LISTED:
        raise Unsupported(m, f"no attack on sums of integers of more than {_LISTED + 1} values")
    return Summands({0: {x: Summand(0, tuple(float(p) for _, p in m.law(x).items())) for x in values}})
