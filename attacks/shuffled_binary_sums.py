"""The attack on labelled binary sums."""

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.counters import by_counts
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def attack(m: ShuffledBinarySums, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Values 0 and 1, told apart by their two counts; or value 0 and an absent user, by all counts. The losses add."""
    return by_counts((0, None if neighbours == ADD_REMOVE else 1), m.columns, m.gamma)
