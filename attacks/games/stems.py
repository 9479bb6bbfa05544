"""The attack on a mechanism, found by its stem: the one place of the rooms that looks up to the stems."""

from __future__ import annotations

from importlib import import_module
from inspect import signature

from ldpaudit.attacks.attack import Attack
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import stem
from ldpaudit.neighbours import Neighbours


def attack_on(m: Mechanism, neighbours: Neighbours | None = None, delta: float = 0.0) -> Attack:
    """The pair and the score of the mechanism's stem; made for this delta, where the best pair depends on it.

    Raises
    ------
    Unsupported
        Where its inputs do not have the relation.
    """
    relation = neighbours or m.relations[0]
    if relation not in m.relations:
        raise Unsupported(m, f"its inputs have the relations {', '.join(map(str, m.relations))}, not {relation}")
    make = import_module(f"ldpaudit.attacks.{stem(m)}").attack
    found: Attack = make(m, relation, delta) if "delta" in signature(make).parameters else make(m, relation)
    return found
