"""The attack on sparse statistical queries in the shuffled model: two sets of queries that have none in common."""

from __future__ import annotations

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.range_queries import total_loss_of
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: SparseStatisticalQueries, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Sets of queries whose elements are independent, told apart by the messages that speak for one and not for the other."""
    return Attack(m.inputs, total_loss_of(m, 0), "{more messages speak for the first queries}")
