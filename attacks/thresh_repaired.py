"""What can be seen of the repaired THRESH: as much as its counters let pass."""

from __future__ import annotations

from ldpaudit.attacks import thresh
from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.neighbours import USER_LEVEL, Neighbours


def attack(m: ThreshRepaired, neighbours: Neighbours = USER_LEVEL) -> Attack:
    """The attack on `Thresh`: one vote or estimate more than the counters allow is what it looks for first."""
    return thresh.attack(m, neighbours)
