"""The attack on local hashing."""

from __future__ import annotations

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, loss_of
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: LocalHashing, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a view speaks for the value whose hash alone it names."""
    return by_support((0, m.domain - 1), loss_of(m.p / m.lie), m.supports, "{y = h(x) != h(x')}")
