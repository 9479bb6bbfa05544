"""The attack on range queries in the shuffled model, and on what is read off such elements: quantiles, prefixes, any queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.counters import by_counts, counter_loss
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import KINDS, HadamardViews
from ldpaudit.mechanisms.shared.dyadic_ranges.merged_views import drawn, elements_apart, merged_groups
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

_MERGED = 6
"""Nodes of either value that are looked at together: what a message shows of them is computed from 4,096 probabilities."""


def attack(m: Mechanism, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two inputs whose elements differ most, told apart by the messages that speak for the first one's; all losses add.

    Of range queries the first value, which lies in a node of every width, and one that shares none of them; of quantiles, which
    are functions of the messages, a number in the first cell and one in the last; of heavy hitters, which are too, the first and
    the last value, of which no prefix is common; of statistical queries two sets whose elements are independent.
    """
    match m:
        case ShuffledQuantiles():
            return replace(attack(m.ranges, neighbours), pair=m.inputs)
        case CountMinRangeQueries():
            return by_counts(m.inputs, lambda x: [(m.users, own) for own in m.columns(x)], m.gamma)
        case SparseStatisticalQueries():
            return _by_messages(m, 0, "first queries")
        case ShuffledHeavyHitters():
            return _by_messages(m, m.users - 1, "prefixes of the first value")
        case RangeQueries() | HadamardRangeQueries():
            known = m.users - 1 if isinstance(m, RangeQueries) or m.others_are_seen else 0
            found = _by_messages(m, known, "nodes of the first value")
            if isinstance(m, RangeQueries) or m.grid.most_replaced == 1:
                return found
            return replace(found, baits=(_merged(m),))
    raise Unsupported(m, "it has no elements that messages speak for")


def _by_messages(m: HadamardViews, known: int, elements: str) -> Attack:
    """By the losses of all oracles, where this many others are known to be for the second input's element."""

    def score(views: Views) -> NDArray[np.float64]:
        table = np.asarray(views, dtype=np.float64).reshape(len(views), m.oracles, KINDS)
        with np.errstate(invalid="ignore"):
            return np.asarray(m.compared * _losses(table, known).sum(axis=1))  # inf - inf is a view that neither input shows

    first, second = m.inputs
    return Attack((first, second), score, f"{{more messages speak for the {elements}}}")


def _merged(m: HadamardRangeQueries) -> Attack:
    """By the messages for any of several nodes that only one of the two values has, where all others hold the second value.

    Their numbers are as if they were independent: right but for the few messages that speak for nodes of both.
    """
    groups = {x: merged_groups(m, x, _MERGED) for x in m.inputs}
    (blanket, shares), own = groups[m.inputs[0]][0], len(elements_apart(m, _MERGED)[0])
    random, others = blanket + (m.users - 1) * (m.k - own), (m.users - 1) * own
    up, down = (counter_loss((random, own), (random, 0), float(share)) for share in (shares[0], shares[1] + shares[2]))

    def score(views: Views) -> NDArray[np.float64]:
        first, second, both, _ = np.asarray(views).T
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(up(first) - down(second + both - others), posinf=np.inf, neginf=-np.inf)

    event = f"{{more messages speak for any of {own} nodes of the first value than for any of {own} others}}"
    return Attack(m.inputs, score, event, views=lambda x, size, rng: drawn(groups[x], size, rng))


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
