"""Theorem: local hashing is epsilon-LDP exactly for epsilon >= log(p(g-1)/(1-p)), whatever its hash functions.

The function is drawn before the value is looked at, so its probability is common to both inputs; given the function,
the view is g-ary randomized response on the hash, or the same on both inputs where they are hashed alike.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Theorem(mechanism="LocalHashing", sentence="local hashing")
    t.assume("the function h is drawn independently of the value, so that the laws are those given h")
    t.assume("some h hashes x and x' apart: (a x + b, a x' + b) mod the prime takes every pair of residues, (0, 1) too")
    g, p, q, ratio = t.response("g")
    t.costs(
        ratio,
        {"y = h(x) != h(x')": (p, q), "y = h(x') != h(x)": (q, p), "y is neither": (g - 2, q, q)},
        {"y = h(x) = h(x')": (p, p), "y is another": (g - 1, q, q)},
    )
    t.attained("at y = h(x) != h(x')")
    return (t,)
