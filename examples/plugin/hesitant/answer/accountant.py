"""What it costs. Without this file, ldpaudit enumerates the law."""

from __future__ import annotations

from hesitant.answer import HesitantAnswer
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def profile(m: HesitantAnswer, neighbours: Neighbours = REPLACE_ONE) -> FiniteProfile:
    """Exactly log(p/(1 - p)) at delta = 0, attained where the bit is said; silence tells nothing."""
    atoms = [(m.p / 2, (1 - m.p) / 2), ((1 - m.p) / 2, m.p / 2)]
    return FiniteProfile(both_directions(atoms), "a hesitant answer: log(p/(1-p)), attained at y = x")
