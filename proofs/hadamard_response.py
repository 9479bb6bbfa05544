"""Theorem: Hadamard response is epsilon-LDP exactly for epsilon >= log(p/(1-p)).

With r = p/(1-p) and `half` columns on either side of every row that is not constant, a column has one of two
probabilities, whose ratio is r; two different rows differ in half of the columns, a quarter in either direction.
"""

from typing import Any

from ldpaudit.proofs._algebra import positive
from ldpaudit.proofs._kernel import Part, Theorem
from ldpaudit.proofs._parameters import coin


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    (known, p, odds), (half,) = coin(), positive("half")
    plus, minus = p / half, (1 - p) / half
    law = {
        "row x is +1 at y, row x' is -1": (half / 2, plus, minus),
        "row x is -1 at y, row x' is +1": (half / 2, minus, plus),
        "both rows are +1 at y": (half / 2, plus, plus),
        "both rows are -1 at y": (half / 2, minus, minus),
    }
    sentence, assumes = "Hadamard response", ("orthogonal rows",)
    parts = [Part(odds, [law])]
    return (Theorem(mechanism="HadamardResponse", sentence=sentence, **known, parts=parts, tight="", assumes=assumes),)


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; None for relations that it does not have."""
    return {"word": "hadamard_response", "columns": m.columns, "p": str(m.p)} if relation == "replace-one" else None
