"""Theorems: public questions, answered by a sign, cost log(p/(1-p)); by two signs, log(p/(1-p)) + log(q/(1-q)); and by a hash.

What a user is asked, and with which vector, is public and drawn before the value is looked at: given it, a report is randomized
response on one sign, (-1)^<s, x> with s not 0, or on two. That holds of the sign oracle, and of every system that is built on it:
what the hashtogram, TreeHist, Bitstogram and PrivateExpanderSketch hash costs accuracy, never privacy. The steps on paper are
about the servers' counts.
"""

from __future__ import annotations

import sympy
from sympy import Expr

from ldpaudit.proofs._kernel import Part, Theorem
from ldpaudit.proofs._parameters import both, coin, flipped, hashed
from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Theorem | Steps, ...]:
    """Check the sign oracle's theorem. Raises ProofError naming the step, were one false, as do all below."""
    return _signs("SignOracle", "the sign oracle", "p"), _estimate()


def hashtogram() -> tuple[Theorem | Steps, ...]:
    """As the sign oracle's: the sign H[A x, r] is (-1)^<A^T r, x>."""
    return _signs("Hashtogram", "the hashtogram", "p"), _group()


def tree_histogram() -> tuple[Theorem | Steps, ...]:
    """TreeHist's; over local hashing, every prefix of the first value and of the last one differs."""
    one_hash = hashed("HashedTreeHistogram", "TreeHist over local hashing")
    return *_one_and_two("TreeHistogram", "TreeHist"), one_hash, _terms(), _levels()


def prefix_extending() -> tuple[Theorem | Steps, ...]:
    """PEM's, over local hashing and over the sign oracle."""
    signs = _signs("SignPrefixExtending", "PEM over the sign oracle", "p")
    return hashed("PrefixExtending", "PEM"), signs, _terms()


def bitstogram() -> tuple[Theorem | Steps, ...]:
    """Bitstogram's."""
    return *_one_and_two("Bitstogram", "Bitstogram"), _differences(), _rows()


def expander_sketch() -> tuple[Theorem | Steps, ...]:
    """PrivateExpanderSketch's; how names are matched is the server's."""
    return *_one_and_two("ExpanderSketch", "PrivateExpanderSketch"), _terms()


def _one_and_two(mechanism: str, name: str) -> tuple[Theorem, Theorem]:
    return _signs(mechanism, f"{name}, one sign a user,", "p"), _signs(f"Split{mechanism}", f"{name}, two signs a user,", "pq")


def _signs(mechanism: str, sentence: str, coins: str) -> Theorem:
    """Signs (-1)^<s, x> with s not 0, each told with the probability that is named so."""
    told = [(coin(name), f"the sign that is told with {name}") for name in coins]
    return Theorem(
        mechanism=mechanism,
        sentence=sentence,
        **both(*(known for (known, _, _), _ in told)),
        parts=[Part(odds, flipped(p, what)) for (_, p, odds), what in told],
        tight="",
        assumes=("public", "independent", "signs"),
    )


def _estimate() -> Steps:
    t = Steps("the estimate of the sign oracle is unbiased over its public matrix")
    t.assume("a difference d that is not 0 has <r, d> = 1 for half of all vectors r, 0 included")
    (half, eta), (holders, others, more) = t.positive("half", "eta"), t.nonnegative("holders", "others", "more")
    vectors = 1 + 2 * more
    odd = 1 + more
    t.equal(2 * odd, vectors + 1, "half of all vectors, where 0 is one more than are drawn from")
    mu = 1 / vectors
    t.equal(((vectors - odd) - odd) / vectors, -mu, "the average product of two values' signs")
    mean = 2 * eta * (holders - mu * others)
    t.equal((mu * (holders + others) + mean / (2 * eta)) / (1 + mu), holders, "the estimate's mean, with p = 1/2 + eta")
    n, total = half + half, holders - others
    t.equal((1 * n + total / (2 * eta)) / 2, (2 * eta * n + total) / (4 * eta), "mu = 1: the warm-up's formula")
    return t


def _group() -> Steps:
    t = Steps("a group's answer of the hashtogram is unbiased over its public matrix and columns")
    t.assume("the kernel of a uniform matrix of full rank is a uniform subspace: it holds d with probability as stated")
    t.assume("two rows of the Hadamard matrix agree in half of the columns, column 0 included")
    (eta,), (holders, others, more, deeper) = t.positive("eta"), t.nonnegative("holders", "others", "more", "deeper")
    cells, kernel = 2 + more, 1 + deeper  # 2^bits = cells * kernel
    chance = (kernel - 1) / (cells * kernel - 1)
    t.at_most(chance, 1 / cells, "two values share a cell no more often than two independent ones")
    mu = 1 / (cells - 1)
    t.equal(chance - (1 - chance) * mu, -1 / (cells * kernel - 1), "the sign oracle's average product of two signs")
    in_cell = holders + others
    sums = 2 * eta * (holders - mu * others)
    t.equal((mu * in_cell + sums / (2 * eta)) / (1 + mu), holders, "a cell's count: its users' and the others' signs")
    found = holders + chance * others
    left = found - chance * (holders + others)
    t.equal(left / (1 - chance), holders, "a value's count: what the others add by chance is taken off")
    return t


def _terms() -> Steps:
    t = Steps("a user's term in a count has mean 1 or 0, second moment at most c^2 / rho and size at most c / rho")
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


def _levels() -> Steps:
    t = Steps("where all counts are right within t, TreeHist names what max(2t+1, 2t') hold, and only what somebody does")
    t.assume("a prefix is kept if it is counted t + 1 or more, and named if the last question counts it t' or more")
    t.assume("a prefix of a value is held by all who hold the value; a prefix that nobody holds has no child that somebody holds")
    error, last, more, held = t.nonnegative("error", "last", "more", "held")
    t.equal((error + 1) - error, 1, "nobody holds it: it is counted at most t, by 1 too few to be kept; its children are not asked")
    frequent: Expr = 2 * error + 1 + more
    t.at_most(error + 1, frequent - error, "2t + 1 or more hold the value: at every level its prefix is kept")
    t.at_most(last, 2 * last + held - last, "2t' or more hold it: it is named")
    return t


def _differences() -> Steps:
    t = Steps("a user's term in two cells' difference has second moment at most 2 c^2 / rho and size at most 2 c / rho")
    t.assume("a term is c y ((-1)^<r, cell> - (-1)^<r, other>) / (rho (1 + mu)) if the user is asked, with probability rho, else 0")
    t.assume("over the vectors that are not 0, the signs of two cells agree on average -mu, and 1/mu is at least 1")
    (loud, rarer, finer) = t.nonnegative("loud", "rarer", "finer")
    c, rho, mu = 1 + loud, 1 / (1 + rarer), 1 / (1 + finer)
    scale = c / (rho * (1 + mu))
    t.equal(1 - 2 * -mu + 1, 2 * (1 + mu), "the square of two signs' difference, on average")
    t.at_most(rho * scale**2 * 2 * (1 + mu), 2 * c**2 / rho, "the second moment, whatever y is")
    t.at_most(2 * scale, 2 * c / rho, "the largest term")
    t.equal(rho * scale * (1 + mu) / c, 1, "the mean for a user in the cell; by symmetry -1 in the other one, and 0 elsewhere")
    return t


def _rows() -> Steps:
    t = Steps("a hash function fails a value that alpha or more users hold with probability at most 1/4")
    t.admit("P[a sum is BE or more below its mean] <= e^-L", "Bernstein's inequality; Boucheron, Lugosi, Massart 2013")
    t.assume("L = ln(8 l 2^w) for l symbols of w bits; alpha = 4/3 BE; two values collide with probability <= alpha / (32 n)")
    alpha, users, symbols, parts = t.positive("alpha", "users", "symbols", "parts")
    (more,) = t.nonnegative("more")
    held = alpha + more
    others = users * alpha / (32 * users)
    t.at_most(others / (held / 4), sympy.Rational(1, 8), "Markov: more than a quarter of as many others are in the bucket")
    t.at_most(alpha * 3 / 4, held - held / 4, "else the value's symbol leads every other one by BE or more on average")
    wrong = symbols * parts / (8 * symbols * parts)
    t.at_most(wrong, sympy.Rational(1, 8), "some symbol is wrong all the same")
    t.at_most(sympy.Rational(1, 8) + wrong, sympy.Rational(1, 4), "both together")
    return t
