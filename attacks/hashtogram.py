"""What can be seen of the hashtogram."""

from __future__ import annotations

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared import public_sign
from ldpaudit.mechanisms.hashtogram import Hashtogram
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: Hashtogram, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values whose cells have opposite signs in the user's column; a view speaks for the one whose sign it is."""
    return public_sign.attack(m, "{y = H[h(x), r]}")
