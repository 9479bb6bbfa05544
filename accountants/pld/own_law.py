"""What the finite law of a mechanism allows, where nothing else is known of the mechanism: one that users write."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any, TypeAlias

from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.core.number import exact
from ldpaudit.errors import ImplementationError, LdpauditError, Unsupported
from ldpaudit.mechanism import Law, Mechanism, all_views, number_of
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours

_MOST_RATIOS = 1 << 19  # likelihood ratios, over all pairs of inputs, that are computed in rationals: some seconds

Table: TypeAlias = dict[Any, dict[Any, Fraction]]
"""For each input, the probability of each view; the same views for all."""


def profile(m: Mechanism, neighbours: Neighbours) -> FiniteProfile:
    """Profile by enumeration of all views on all neighbouring inputs.

    EXACT for the inputs that the mechanism lists. Raises Unsupported where the law is not finite or too long, or for
    another relation; ImplementationError where the law raises, or its probabilities are none.
    """
    if number_of(m.inputs) ** 2 > _MOST_RATIOS:
        most = int(_MOST_RATIOS**0.5)
        raise Unsupported(m, f"its law is enumerated on at most {most} inputs, and there are {number_of(m.inputs)}")
    inputs = list(m.inputs)
    pairs = list(_pairs(m, inputs, neighbours))
    if not pairs:
        raise Unsupported(m, f"its law is enumerated on at least two inputs, got {len(inputs)}")
    laws = table(m, list(dict.fromkeys(x for pair in pairs for x in pair)))
    size = len(next(iter(laws.values())))
    if len(pairs) * size > _MOST_RATIOS:
        raise Unsupported(m, f"its law has {size} views on {len(pairs)} pairs of inputs, and {_MOST_RATIOS} ratios are enumerated")
    found = dict.fromkeys(ExactPLD.of((p, laws[back][y]) for y, p in laws[there].items()) for there, back in pairs)
    return FiniteProfile(tuple(found), f"its own law, enumerated: {size} views on {len(laws)} inputs")


def _pairs(m: Mechanism, inputs: list[Any], neighbours: Neighbours) -> Iterator[tuple[Any, Any]]:
    """Ordered pairs of neighbouring inputs."""
    match neighbours:
        case Neighbours(kind=REPLACE_ONE.kind):
            yield from permutations(inputs, 2)
        case Neighbours(kind=ADD_REMOVE.kind):
            for x in inputs:
                yield from ((x, None), (None, x))
        case Neighbours(kind="pairs", pairs=pairs):
            for first, second in pairs:
                yield from ((first, second), (second, first))
        case _:
            raise Unsupported(m, f"its law says nothing about {neighbours} neighbours")


def table(m: Mechanism, inputs: Sequence[Any]) -> Table:
    """The laws of these inputs on all views that any of them has."""
    found = {x: _law(m, x) for x in inputs}
    try:
        views = all_views(found.values())
    except ValueError as error:
        raise ImplementationError(f"its law needs {error}") from error
    return {x: {y: law.get(y, Fraction(0)) for y in views} for x, law in found.items()}


def _law(m: Mechanism, x: Any) -> dict[Any, Fraction]:
    try:
        given: Law = m.law(x)
        law = {y: exact(Fraction(p), "a probability of its law") for y, p in given.items()}
    except LdpauditError:
        raise
    except Exception as error:  # whatever the user's code raises
        raise ImplementationError(f"its law raised {type(error).__name__}: {error}", x) from error
    if any(p < 0 for p in law.values()) or sum(law.values()) != 1:
        found = f"{len(law)} of sum {float(sum(law.values())):.17g}, the least {float(min(law.values(), default=0)):.6g}"
        raise ImplementationError(f"its law needs probabilities that sum to 1 exactly, got {found}", x)
    return law
