"""The attack on quantiles in the shuffled model: on the shuffled messages, of which quantiles are a function."""

from __future__ import annotations

from dataclasses import replace

from ldpaudit.attacks import range_queries
from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: ShuffledQuantiles, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """A number in the first cell, and one in the last: that of `range_queries` on the cells."""
    return replace(range_queries.attack(m.ranges, neighbours), pair=m.inputs)
