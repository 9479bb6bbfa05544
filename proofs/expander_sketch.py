"""Theorem: PrivateExpanderSketch is epsilon-LDP exactly for epsilon >= log(p/(1-p)); with two signs the two logarithms add.

A symbol of the code and the hashed names are independent bits of the value, and the user's public vector r is not 0: the sign
(-1)^<r, cell> is (-1)^<s, x> with s not 0, as for the sign oracle. How names are matched is the server's, and costs nothing.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma, Theorem

_COLUMN = "the rows of every question are independent and r is not 0, so the sign is (-1)^<s, x> with s not 0"


def prove() -> tuple[Lemma, ...]:
    """Check the theorems, and what the server's list rests on.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    return _one_sign(), _two_signs(), _listed()


def _one_sign() -> Theorem:
    t = Theorem(mechanism="ExpanderSketch", sentence="PrivateExpanderSketch, one sign a user,")
    t.assume(f"{_COLUMN}; with its bit j set, 0 and 2^j have opposite signs")
    (excess,), p_field = t.positive("excess"), t.parameter("p")
    p = (1 + excess) / (2 + excess)
    t.parametrize({"p": p}, {excess: p_field / (1 - p_field) - 1})
    t.costs(
        p_field / (1 - p_field),
        {"y is the sign of x, and x' has the opposite one": (p, 1 - p), "y is that of x', and x has the opposite one": (1 - p, p)},
        {"y is the sign of x and of x'": (p, p), "y is the sign of neither": (1 - p, 1 - p)},
    )
    t.attained("by 0 and 2^j")
    return t


def _two_signs() -> Theorem:
    t = Theorem(mechanism="SplitExpanderSketch", sentence="PrivateExpanderSketch, two signs a user,")
    t.assume(f"{_COLUMN}; the same holds of the second sign, of all of x, and the two coins are independent")
    t.assume("two vectors that are not 0 have a common bit j, or a bit each that the other has not: some d is odd in both")
    (excess, surplus), fields = t.positive("excess", "surplus"), (t.parameter("p"), t.parameter("q"))
    p, q = ((1 + more) / (2 + more) for more in (excess, surplus))
    t.parametrize(
        dict(zip("pq", (p, q), strict=True)),
        {more: field / (1 - field) - 1 for more, field in zip((excess, surplus), fields, strict=True)},
    )
    for name, chance, field in zip(("the first sign", "the second sign"), (p, q), fields, strict=True):
        t.costs(
            field / (1 - field),
            {f"{name} is that of x, not of x'": (chance, 1 - chance), f"{name} is that of x', not of x": (1 - chance, chance)},
            {f"{name} is that of x and of x'": (chance, chance), f"{name} is that of neither": (1 - chance, 1 - chance)},
        )
    t.attained("by two values that differ by d, where both signs are those of x")
    return t


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
