"""Theorems: public questions, answered by a sign, cost log(p/(1-p)); by two signs, log(p/(1-p)) + log(q/(1-q)); and by a hash.

What a user is asked, and with which vector, is public and drawn before the value is looked at: given it, a report is randomized
response on one sign, (-1)^<s, x> with s not 0, or on two. That holds of the sign oracle, and of every system that is built on it:
what the hashtogram, TreeHist, Bitstogram and PrivateExpanderSketch hash costs accuracy, never privacy. The lemmas are about the
servers' counts.
"""

from __future__ import annotations

import sympy
from sympy import Expr

from ldpaudit.proofs._kernel import Lemma, Theorem

_COLUMN = "the rows of every question are independent and r is not 0, so the sign is (-1)^<s, x> with s not 0"


def prove() -> tuple[Lemma, ...]:
    """Check the sign oracle's theorems. Raises ProofError naming the step, were one false, as do all below."""
    return one_sign("SignOracle", "the sign oracle", "Z[x, i] = (-1)^<r_i, x>, r_i public and not 0"), _estimate()


def hashtogram() -> tuple[Lemma, ...]:
    """As the sign oracle's: the sign H[A x, r] is (-1)^<A^T r, x>."""
    return one_sign("Hashtogram", "the hashtogram", "A has full rank and r is not 0, so A^T r is not 0"), _group()


def tree_histogram() -> tuple[Lemma, ...]:
    """TreeHist's, and what its server's constants rest on."""
    return *_one_and_two("TreeHistogram", "TreeHist"), _one_hash(), _terms(), _levels()


def bitstogram() -> tuple[Lemma, ...]:
    """Bitstogram's, and what its server's constants rest on."""
    return *_one_and_two("Bitstogram", "Bitstogram"), _differences(), _rows()


def expander_sketch() -> tuple[Lemma, ...]:
    """PrivateExpanderSketch's, and what its server's list rests on; how names are matched is the server's."""
    return *_one_and_two("ExpanderSketch", "PrivateExpanderSketch"), _terms()


def _one_and_two(mechanism: str, name: str) -> tuple[Theorem, Theorem]:
    one = one_sign(mechanism, f"{name}, one sign a user,", _COLUMN)
    return one, two_signs(f"Split{mechanism}", f"{name}, two signs a user,", _COLUMN)


def one_sign(mechanism: str, sentence: str, column: str) -> Theorem:
    """The sign (-1)^<s, x> with s not 0, told with probability p."""
    t = Theorem(mechanism=mechanism, sentence=sentence)
    t.assume(f"{column}; with its bit j set, 0 and 2^j have opposite signs")
    p, odds = t.coin()
    t.costs(
        odds,
        {"y is the sign of x, and x' has the opposite one": (p, 1 - p), "y is that of x', and x has the opposite one": (1 - p, p)},
        {"y is the sign of x and of x'": (p, p), "y is the sign of neither": (1 - p, 1 - p)},
    )
    t.attained("by 0 and 2^j")
    return t


def two_signs(mechanism: str, sentence: str, column: str) -> Theorem:
    """Two signs (-1)^<s, x> and (-1)^<s', x> with s and s' not 0, told with probabilities p and q."""
    t = Theorem(mechanism=mechanism, sentence=sentence)
    t.assume(f"{column}; the same holds of the second sign, of all of x, and the two coins are independent")
    t.assume("two vectors that are not 0 have a common bit j, or a bit each that the other has not: some d is odd in both")
    more, fields = t.positive("excess", "surplus"), (t.parameter("p"), t.parameter("q"))
    coins = tuple((1 + each) / (2 + each) for each in more)
    back = {each: field / (1 - field) - 1 for each, field in zip(more, fields, strict=True)}
    t.parametrize(dict(zip("pq", coins, strict=True)), back)
    for name, coin, field in zip(("the first sign", "the second sign"), coins, fields, strict=True):
        t.costs(
            field / (1 - field),
            {f"{name} is that of x, not of x'": (coin, 1 - coin), f"{name} is that of x', not of x": (1 - coin, coin)},
            {f"{name} is that of x and of x'": (coin, coin), f"{name} is that of neither": (1 - coin, 1 - coin)},
        )
    t.attained("by two values that differ by d, where both signs are those of x")
    return t


def _one_hash() -> Theorem:
    t = Theorem(mechanism="HashedTreeHistogram", sentence="TreeHist over local hashing")
    t.assume("what the user is asked for and the hash function h are drawn independently of the value: z is that of x, z' of x'")
    t.assume("some h hashes z and z' apart, where they differ: (a z + b, a z' + b) mod the prime takes every pair of residues")
    g, p, q, ratio = t.response("g")
    t.costs(
        ratio,
        {"y = h(z) != h(z')": (p, q), "y = h(z') != h(z)": (q, p), "y is neither": (g - 2, q, q)},
        {"y = h(z) = h(z')": (p, p), "y is another": (g - 1, q, q)},
    )
    t.attained("by the first value and the last one, of which every prefix differs")
    return t


def _estimate() -> Lemma:
    t = Lemma(sentence="the estimate of the sign oracle is unbiased over its public matrix")
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


def _group() -> Lemma:
    t = Lemma(sentence="a group's answer of the hashtogram is unbiased over its public matrix and columns")
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


def _differences() -> Lemma:
    t = Lemma(sentence="a user's term in two cells' difference has second moment at most 2 c^2 / rho and size at most 2 c / rho")
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


def _rows() -> Lemma:
    t = Lemma(sentence="a hash function fails a value that alpha or more users hold with probability at most 1/4")
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
