"""Theorem: k-ary randomized response is epsilon-LDP exactly for epsilon >= log(p(k-1)/(1-p)).

With r = p/q, the ratio of the truth's probability to that of each single lie, every view's likelihood ratio on two
inputs is r, 1/r or 1, and r is attained at the view that names the first input.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Proof


def prove() -> tuple[Proof, ...]:
    """Check the theorem.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    t = Proof("KaryRandomizedResponse", "k-ary randomized response is log(p(k-1)/(1-p))-LDP, and no less")
    excess, more = t.nonnegative("excess", "more")
    k, r = 2 + more, 1 + excess
    p, q = r / (r + k - 1), 1 / (r + k - 1)
    k_field, p_field = t.parameter("k"), t.parameter("p")
    t.parametrize(
        {"k": k, "p": p}, {excess: p_field * (k_field - 1) / (1 - p_field) - 1, more: k_field - 2}
    )
    t.equal(p + (k - 1) * q, 1, "the law sums to 1")
    t.equal(p * (k - 1) / (1 - p), r, "r in the mechanism's own parameters")
    t.costs(r, {"y = x": p / q, "y = x', the other input": q / p, "y is neither": q / q})
    t.equal(p / q, r, "attained at y = x, so epsilon cannot be smaller")
    return (t,)
