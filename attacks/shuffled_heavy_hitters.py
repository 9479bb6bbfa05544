"""The attack on heavy hitters in the shuffled model: two values that have no prefix in common."""

from __future__ import annotations

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.range_queries import total_loss_of
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: ShuffledHeavyHitters, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The first and the last value, told apart in the oracle of every length, whose losses add.

    The messages are attacked. What the search names is a function of them, of which less can be seen.
    """
    return Attack(m.inputs, total_loss_of(m, m.users - 1), "{more messages speak for the prefixes of the first value}")
