"""Theorem: k-ary randomized response is epsilon-LDP exactly for epsilon >= log(p(k-1)/(1-p)).

With r = p/q, the ratio of the truth's probability to that of each single lie, every view's likelihood ratio on two
inputs is r, 1/r or 1, and r is attained at the view that names the first input.
"""

from __future__ import annotations

from typing import Any

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Theorem(mechanism="KaryRandomizedResponse", sentence="k-ary randomized response")
    k, p, q, ratio = t.response()
    t.costs(ratio, {"y = x": (p, q), "y = x', the other input": (q, p), "y is neither": (k - 2, q, q)})
    t.attained("at y = x")
    return (t,)


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; None for relations that it does not have."""
    return {"word": "randomized_response", "k": m.k, "p": str(m.p)} if relation == "replace-one" else None
