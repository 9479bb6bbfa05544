"""What can be seen of the sign oracle."""

from __future__ import annotations

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared import public_sign
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: SignOracle, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Two values with opposite signs in the user's column; a view speaks for the one whose sign it is."""
    return public_sign.attack(m, "{y = Z[x, i]}")
