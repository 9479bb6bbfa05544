"""Theorem: k-ary randomized response is epsilon-LDP exactly for epsilon >= log(p(k-1)/(1-p)).

With r = p/q, the ratio of the truth's probability to that of each single lie, every view's likelihood ratio on two
inputs is r, 1/r or 1, and r is attained at the view that names the first input.
"""

from typing import Any

from ldpaudit.proofs._kernel import Part, Theorem
from ldpaudit.proofs._parameters import response


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    known, apart, _, ratio = response()
    sentence, parts = "k-ary randomized response", [Part(ratio, [apart])]
    return (Theorem(mechanism="KaryRandomizedResponse", sentence=sentence, **known, parts=parts, tight=""),)


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; None for relations that it does not have."""
    return {"word": "randomized_response", "k": m.k, "p": str(m.p)} if relation == "replace-one" else None
