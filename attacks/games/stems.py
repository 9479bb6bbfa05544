"""The attack on a mechanism, found by its stem: the one place of the rooms that looks up to the stems."""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from types import ModuleType
from typing import Any

from ldpaudit.attacks.attack import Attack, Floats, Part, Summands
from ldpaudit.attacks.games import own_law
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import has_own_law, homes, part_of, stem
from ldpaudit.neighbours import Neighbours


def attack_on(m: Mechanism, neighbours: Neighbours | None = None, delta: float = 0.0) -> Attack:
    """The attack of the mechanism's stem, or of its own law; made for this delta where the best pair depends on it.

    Raises Unsupported where its inputs do not have the relation, or neither a stem nor a finite law says what to look
    for.
    """
    relation = neighbours or m.relations[0]
    if relation not in m.relations:
        raise Unsupported(m, f"its inputs have the relations {', '.join(map(str, m.relations))}, not {relation}")
    make: Callable[..., Attack] = _module(m).attack
    return make(m, relation, delta) if "delta" in signature(make).parameters else make(m, relation)


def part_on(m: Mechanism, values: Sequence[Any]) -> Part:
    """What a report tells of a few values: the mechanism's stem says it in ``part(m, values)``, or it is the whole report."""
    found: Part = getattr(_module(m), "part", Part.whole)(m, values)
    return found


def summands_on(m: Mechanism, values: Sequence[Any]) -> Summands | None:
    """The numbers that tell a few values apart, and are summed, where the mechanism's stem says them in ``summands(m, values)``."""
    of = getattr(_module(m), "summands", None)
    found: Summands | None = None if of is None else of(m, values)
    return found


def listed(noise: Any, parts: float) -> tuple[int, Floats]:
    """A multiple of a fraction of 1, and the probabilities that noise is this one and the following ones.

    It says them itself in ``masses(parts)``, or its stem in ``masses(m, parts)``. Raises Unsupported where neither does.
    """
    if not isinstance(noise, Mechanism):
        return noise.masses(parts)  # type: ignore[no-any-return]
    of = getattr(_module(noise), "masses", None)
    if of is None:
        raise Unsupported(noise, "no attack on sums with this noise is known")
    found: tuple[int, Floats] = of(noise, parts)
    return found


def _module(m: Mechanism) -> ModuleType:
    """The attack of the mechanism's stem, or core; of one that states its own law, or has no attack, that of laws."""
    if not has_own_law(m):
        name = stem(m)
        if (theirs := part_of(name, "attack")) is not None:
            return theirs
        for home in homes(name):
            if find_spec(f"ldpaudit.attacks.{home}") is not None:
                return import_module(f"ldpaudit.attacks.{home}")
    return own_law
