"""The attack on shuffled count-min."""

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.counters import by_counts
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: ShuffledCountMin, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two sets of values whose cells differ most, or one set and an absent user; the losses of the counts add."""
    first, second = m.apart.pair
    return by_counts((first, None if neighbours == ADD_REMOVE else second), m.columns, m.gamma)
