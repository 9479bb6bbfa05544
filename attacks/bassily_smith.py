"""The attack on the Bassily-Smith randomizer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.bassily_smith import ProjectedBassilySmith, RowSign
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: RowSign, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two inputs whose columns differ in many rows; a view speaks for the one whose sign it is, where the two differ."""
    if neighbours == ADD_REMOVE:
        true, false = loss_of(2 * m.p), loss_of(2 * (1 - m.p))

        def present(views: Views) -> NDArray[np.float64]:
            return np.where(_leaning(m, views, m.inputs[0], None) > 0, true, false)

        return Attack((m.inputs[0], None), present, "{s is the sign of the row}")
    first, second = m.public.apart() if isinstance(m, ProjectedBassilySmith) else m.inputs
    loss = loss_of(m.p / (1 - m.p))

    event = "{s is the sign of the first input, and not of the second, in the row}"
    return Attack((first, second), lambda views: loss * _leaning(m, views, first, second), event)


def _leaning(m: RowSign, views: Views, first: Any, second: Any) -> NDArray[np.float64]:
    """1 where the sign is the first input's alone, -1 where it is the second's alone."""
    rows, signs = np.asarray(views, dtype=np.int64).T
    apart = m.entries(first, rows).astype(np.float64) - m.entries(second, rows).astype(np.float64)
    return np.asarray(signs * apart / 2, dtype=np.float64)
