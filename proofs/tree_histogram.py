"""Theorem: TreeHist is epsilon-LDP exactly for epsilon >= log(p/(1-p)), with two signs for log(p/(1-p)) + log(q/(1-q)).

What a user is asked are independent bits of her value, and her public vector r is not 0: the sign (-1)^<r, cell> is
(-1)^<s, x> with s not 0, so that all is as for the sign oracle. The lemmas are about the server's counts, on which privacy
does not depend.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Lemma, Theorem
from ldpaudit.proofs._signs import one_sign, two_signs

_COLUMN = "the rows of every question are independent and r is not 0, so the sign is (-1)^<s, x> with s not 0"


def prove() -> tuple[Lemma, ...]:
    """Check the theorems, and what the server's constants rest on.

    Raises ProofError naming the step, were one false.
    """
    one = one_sign("TreeHistogram", "TreeHist, one sign a user,", _COLUMN)
    two = two_signs("SplitTreeHistogram", "TreeHist, two signs a user,", _COLUMN)
    return one, two, _one_hash(), _terms(), _levels()


def _one_hash() -> Theorem:
    t = Theorem(mechanism="HashedTreeHistogram", sentence="TreeHist over local hashing")
    t.assume("what the user is asked for, and her hash function h, are drawn independently of the value: z is that of x, z' of x'")
    t.assume("some h hashes z and z' apart, where they differ: (a z + b, a z' + b) mod the prime takes every pair of residues")
    excess, more = t.positive("excess")[0], t.nonnegative("more")[0]
    g, r = 2 + more, 1 + excess
    p, q = r / (r + g - 1), 1 / (r + g - 1)
    g_field, p_field = t.parameter("g"), t.parameter("p")
    ratio = p_field * (g_field - 1) / (1 - p_field)
    t.parametrize({"g": g, "p": p}, {excess: ratio - 1, more: g_field - 2})
    t.costs(
        ratio,
        {"y = h(z) != h(z')": (p, q), "y = h(z') != h(z)": (q, p), "y is neither": (g - 2, q, q)},
        {"y = h(z) = h(z')": (p, p), "y is another": (g - 1, q, q)},
    )
    t.attained("by the first value and the last one, of which every prefix differs")
    return t


def _terms() -> Lemma:
    t = Lemma(sentence="a user's term in a count has mean 1 or 0, second moment at most c^2 / rho and size at most c / rho")
    t.assume("a term is (c y (-1)^<r, cell> + mu) / (rho (1 + mu)) if the user is asked, with probability rho, else 0")
    t.assume("y is the sign of the user's cell with probability (1 + 1/c)/2; c = 1/(2p - 1) is at least 1")
    t.assume("over the vectors that are not 0, the signs of two cells agree on average -mu, and 1/mu is at least 1")
    (loud, rarer, finer) = t.nonnegative("loud", "rarer", "finer")
    c, rho, mu = 1 + loud, 1 / (1 + rarer), 1 / (1 + finer)
    scale = 1 / (rho * (1 + mu))
    for name, agreement, mean in (("the user's own cell", 1, 1), ("another cell", -mu, 0)):
        signs = agreement / c
        t.equal(rho * scale * (c * signs + mu), mean, f"{name}: the mean")
        second = rho * scale**2 * (c**2 + 2 * c * mu * signs + mu**2)
        t.at_most(second, c**2 / rho, f"{name}: the second moment")
    t.at_most(scale * (c + mu), c / rho, "the largest term")
    t.at_most(scale * (c - mu), c / rho, "the least term's size, where c is more than mu")
    return t


def _levels() -> Lemma:
    t = Lemma(sentence="where all counts are right within t, TreeHist names what max(2t+1, 2t') hold, and only what somebody does")
    t.assume("a prefix is kept if it is counted t + 1 or more, and named if the last question counts it t' or more")
    t.assume("a prefix of a value is held by all who hold the value; a prefix that nobody holds has no child that somebody holds")
    error, last, more, held = t.nonnegative("error", "last", "more", "held")
    t.equal((error + 1) - error, 1, "nobody holds it: it is counted at most t, by 1 too few to be kept; its children are not asked")
    frequent: Expr = 2 * error + 1 + more
    t.at_most(error + 1, frequent - error, "2t + 1 or more hold the value: at every level its prefix is kept")
    t.at_most(last, 2 * last + held - last, "2t' or more hold it: it is named")
    return t
