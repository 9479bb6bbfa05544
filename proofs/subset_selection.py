"""Theorem: subset selection is epsilon-LDP exactly for epsilon >= log(p(k-d)/((1-p)d)).

A subset has one of two probabilities, by whether it contains the value. With `ways` subsets that contain it there are
``ways (k-d)/d`` that do not, so the ratio of the two probabilities is r = p(k-d)/((1-p)d).
"""

from dataclasses import replace
from typing import Any

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Part, Theorem, named


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    (excess, more, rest), (ways,) = nonnegative("excess", "more", "rest"), positive("ways")
    r, d = 1 + excess, 1 + more
    k = d + 1 + rest
    p = d * r / (d * r + k - d)
    k_field, d_field, p_field = named("k"), named("d"), named("p")
    ratio = p_field * (k_field - d_field) / ((1 - p_field) * d_field)
    ways_without = ways * (k - d) / d
    inside, outside = p / ways, (1 - p) / ways_without
    with_both = ways * (d - 1) / (k - 1)
    with_one = ways - with_both
    law = {
        "x in, x' out": (with_one, inside, outside),
        "x out, x' in": (with_one, outside, inside),
        "both in": (with_both, inside, inside),
        "both out": (ways_without - with_one, outside, outside),
    }
    return (
        Theorem(
            mechanism="SubsetSelection",
            sentence="subset selection",
            fields={"k": k, "d": d, "p": p},
            recover={excess: ratio - 1, more: d_field - 1, rest: k_field - d_field - 1},
            parts=[Part(ratio, [law])],
            tight="",
            assumes=("subsets",),
        ),
    )


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; None for relations that it does not have."""
    return {"word": "subset_selection", "k": m.k, "d": m.d, "p": str(m.p)} if relation == "replace-one" else None


def sibling(m: Any) -> Any:
    """With the same probability, and a law that can be listed."""
    return replace(m, k=min(m.k, 8), d=min(m.d, 3, m.k - 1))
