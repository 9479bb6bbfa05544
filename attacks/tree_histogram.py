"""The attack on TreeHist."""

from __future__ import annotations

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared import public_sign
from ldpaudit.mechanisms.tree_histogram import SplitTreeHistogram, TreeHistogram
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: TreeHistogram | SplitTreeHistogram, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values with opposite signs in all that the user tells; a view speaks for the one whose signs they are."""
    if isinstance(m, SplitTreeHistogram):
        return public_sign.attack_on_two(m, "{y and y' are the signs of x}")
    return public_sign.attack(m, "{y is the sign of x}")
