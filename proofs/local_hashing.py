"""Theorem: local hashing is epsilon-LDP exactly for epsilon >= log(p(g-1)/(1-p)), whatever its hash functions.

The function is drawn before the value is looked at, so its probability is common to both inputs; given the function,
the view is g-ary randomized response on the hash, or the same on both inputs where they are hashed alike.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Theorem
from ldpaudit.proofs._parameters import hashed


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    return (hashed("LocalHashing", "local hashing"),)
