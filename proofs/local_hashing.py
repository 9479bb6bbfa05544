"""Theorem: local hashing is epsilon-LDP exactly for epsilon >= log(p(g-1)/(1-p)), whatever its hash functions.

The function is drawn before the value is looked at, so its probability is common to both inputs; given the function,
the view is g-ary randomized response on the hash, or the same on both inputs where they are hashed alike.
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
    t = Proof("LocalHashing", "local hashing is log(p(g-1)/(1-p))-LDP, and no less")
    t.assume("the function h is drawn independently of the value")
    t.assume("some h hashes x and x' apart: (a x + b, a x' + b) mod the prime takes every pair of residues, (0, 1) too")
    (excess, more), (drawn,) = t.nonnegative("excess", "more"), t.positive("drawn")
    g, r = 2 + more, 1 + excess
    p, q = r / (r + g - 1), 1 / (r + g - 1)
    g_field, p_field = t.parameter("g"), t.parameter("p")
    t.parametrize(
        {"g": g, "p": p}, {excess: p_field * (g_field - 1) / (1 - p_field) - 1, more: g_field - 2}
    )
    truth, lie = drawn * p, drawn * q
    t.equal(truth + (g - 1) * lie, drawn, "the law, given h, which is drawn with probability `drawn`, sums to that")
    t.equal(p * (g - 1) / (1 - p), r, "r in the mechanism's own parameters")
    t.costs(r, {
        "y = h(x) and h(x) != h(x')": truth / lie,
        "y = h(x') and h(x) != h(x')": lie / truth,
        "y = h(x) = h(x')": truth / truth,
        "y is neither": lie / lie,
    })
    t.equal(truth / lie, r, "attained at y = h(x) != h(x'), so epsilon cannot be smaller")
    return (t,)
