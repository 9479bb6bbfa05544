"""Theorem: local hashing is epsilon-LDP exactly for epsilon >= log(p(g-1)/(1-p)), whatever its hash functions.

The function is drawn before the value is looked at, so its probability is common to both inputs; given the function,
the view is g-ary randomized response on the hash, or the same on both inputs where they are hashed alike.
"""

from sympy import Expr

from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import HASHED, answers, both, hashed, response


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    return (hashed("LocalHashing", "local hashing"),)


def loloha() -> tuple[Theorem, ...]:
    """As `prove`, of LOLOHA: one report is a response to a response, which any number of reports show at most."""
    (kept, *_), (fresh, *_), (p1, p2, g) = response("g", "p1"), response("g", "p2"), map(named, ("p1", "p2", "g"))
    known = both(kept, fresh, {"fields": {"reports": 1}, "recover": {}})
    truth, lie = _chained(*(known["fields"][name] for name in ("p1", "p2", "g")))
    ratio = _chained(p1, p2, g)
    parts = [Part(ratio[0] / ratio[1], answers(truth, lie, known["fields"]["g"]))]
    return (
        Theorem(mechanism="Loloha", sentence="one report of LOLOHA", **known, parts=parts, tight="", assumes=HASHED),
        hashed("Loloha", "any number of reports of LOLOHA", "p1", None, ("kept",)),
    )


def _chained(p1: Expr, p2: Expr, g: Expr) -> tuple[Expr, Expr]:
    """The probabilities that a report is the hash of the value, and each other hash value."""
    truth = p1 * p2 + (1 - p1) * (1 - p2) / (g - 1)
    return truth, (1 - truth) / (g - 1)
