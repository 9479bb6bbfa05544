"""The attack on range queries in the shuffled model: the two values whose nodes differ most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.counters import by_counts
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms._hadamard_views import KINDS, HadamardViews
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: RangeQueries | HadamardRangeQueries | CountMinRangeQueries, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The first value, which lies in a node of every width, and one that shares none of them; losses of all oracles add."""
    if isinstance(m, CountMinRangeQueries):
        return by_counts(m.inputs, lambda x: [(m.users, own) for own in m.columns(x)], m.gamma)
    known = m.users - 1 if isinstance(m, RangeQueries) or m.others_are_seen else 0
    return Attack(m.inputs, total_loss_of(m, known), "{more messages speak for the nodes of the first value}")


def total_loss_of(m: HadamardViews, known: int) -> Callable[[Views], NDArray[np.float64]]:
    """Score of views: the losses of all oracles, where so many others are known to be for the second input's element."""

    def score(views: Views) -> NDArray[np.float64]:
        table = np.asarray(views, dtype=np.float64).reshape(len(views), m.oracles, KINDS)
        with np.errstate(invalid="ignore"):
            return np.asarray(m.compared * _losses(table, known).sum(axis=1))  # inf - inf is a view that neither input shows

    return score


def _losses(table: NDArray[np.float64], known: int) -> NDArray[np.float64]:
    """Of one message for the first element against one for the second, where `known` others are for the second.

    The others' messages are any of those that speak for the second element: user 1's is one of the rest, or it is in both.
    """
    first, second, both, _ = np.moveaxis(table, -1, 0)
    theirs = second + both
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.where(both > 0, both / theirs, 0.0)
        ratio = np.where(first > 0, first / (theirs - known), 0.0) + shared
        # Where user 1's message is nowhere, neither input shows the view.
        return np.asarray(np.log(np.where((first == 0) & (theirs <= known), np.nan, ratio)))
