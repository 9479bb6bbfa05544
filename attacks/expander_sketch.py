"""The attack on PrivateExpanderSketch."""

from __future__ import annotations

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared import public_sign
from ldpaudit.mechanisms.expander_sketch import ExpanderSketch, SplitExpanderSketch
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: ExpanderSketch | SplitExpanderSketch, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values with opposite signs in all that the user tells; a view speaks for the one whose signs they are."""
    if isinstance(m, SplitExpanderSketch):
        return public_sign.attack_on_two(m, "{y and y' are the signs of x}")
    return public_sign.attack(m, "{y is the sign of x}")
