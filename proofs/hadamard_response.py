"""Theorem: Hadamard response is epsilon-LDP exactly for epsilon >= log(p/(1-p)).

With r = p/(1-p) and `half` columns on either side of every row that is not constant, a column has one of two
probabilities, whose ratio is r; two different rows differ in half of the columns, a quarter in either direction.
"""

from __future__ import annotations

from typing import Any

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Theorem(mechanism="HadamardResponse", sentence="Hadamard response")
    t.assume("rows 1 to k of the K x K Hadamard matrix, K > k, are orthogonal to each other and to row 0, all +1")
    (p, odds), (half,) = t.coin(), t.positive("half")
    plus, minus, both = p / half, (1 - p) / half, half / 2
    t.equal(half * plus + half * minus, 1, "the law sums to 1: a row orthogonal to row 0 is +1 in half of the columns")
    t.equal(2 * both, 2 * (half - both), "rows x and x' are orthogonal: they differ as often as they agree")
    t.costs(odds, {
        "row x is +1 at y, row x' is -1": (half - both, plus, minus),
        "row x is -1 at y, row x' is +1": (half - both, minus, plus),
        "both rows are +1 at y": (both, plus, plus),
        "both rows are -1 at y": (both, minus, minus),
    })
    t.attained("in the columns where only row x is +1")
    return (t,)


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; None for relations that it does not have."""
    return {"word": "hadamard_response", "columns": m.columns, "p": str(m.p)} if relation == "replace-one" else None
