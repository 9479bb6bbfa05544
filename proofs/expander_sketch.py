"""Theorem: PrivateExpanderSketch is epsilon-LDP exactly for epsilon >= log(p/(1-p)); with two signs the two logarithms add.

A symbol of the code and the hashed names are independent bits of the value, and the user's public vector r is not 0: the sign
(-1)^<r, cell> is (-1)^<s, x> with s not 0, as for the sign oracle. How names are matched is the server's, and costs nothing.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma
from ldpaudit.proofs._signs import one_sign, two_signs

_COLUMN = "the rows of every question are independent and r is not 0, so the sign is (-1)^<s, x> with s not 0"


def prove() -> tuple[Lemma, ...]:
    """Check the theorems, and what the server's list rests on. Raises ProofError naming the step, were one false."""
    one = one_sign("ExpanderSketch", "PrivateExpanderSketch, one sign a user,", _COLUMN)
    two = two_signs("SplitExpanderSketch", "PrivateExpanderSketch, two signs a user,", _COLUMN)
    return one, two, _listed()


def _listed() -> Lemma:
    """A user's term c y (-1)^<r, cell> / (rho (1 + mu)): its square, and what it is on average."""
    t = Lemma(sentence="a cell's count has variance at most n c^2 / rho, and is right on average")
    t.assume("a term is (c y (-1)^<r, cell> + mu) / (rho (1 + mu)) if the user is asked, with probability rho, else 0")
    t.assume("y is on average the sign of the user's own cell over c; over all r but 0 two cells' signs agree on average -mu")
    (loud, rarer, finer) = t.nonnegative("loud", "rarer", "finer")
    c, rho, mu = 1 + loud, 1 / (1 + rarer), 1 / (1 + finer)
    scale = 1 / (rho * (1 + mu))
    t.equal(rho * scale * (1 + mu), 1, "for a user in the cell")
    t.equal(rho * scale * (-mu + mu), 0, "for a user in another one")
    own = scale**2 * (c**2 + 2 * mu + mu**2)
    other = scale**2 * (c**2 - 2 * mu**2 + mu**2)
    t.at_most(rho * other, rho * own, "the second moment is the larger in the user's own cell")
    t.at_most(rho * own, c**2 / rho, "which is at most c^2 / rho, as c is at least 1")
    return t
