"""The attack on the repaired THRESH, whose counters stop a user in time."""

from __future__ import annotations

from ldpaudit.attacks import thresh
from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.neighbours import USER_LEVEL, Neighbours


def attack(m: ThreshRepaired, neighbours: Neighbours = USER_LEVEL) -> Attack:
    """The attack on `Thresh`; it looks first for one vote or estimate more than the counters allow."""
    return thresh.attack(m, neighbours)
