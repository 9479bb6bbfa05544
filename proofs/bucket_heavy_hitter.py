"""Theorem: the Bucket mechanism is (rows trials / b)-private for either relation; and what its lemmas rest on.

Its (epsilon, delta) guarantees are the accountant's, not proved here. Lemmas 4.6 and 4.7 and Theorem 4.8 of Hsu, Khanna
and Roth 2012 are mended on the way: their proof of 4.6 takes the family of hash functions for pairwise independent,
which it is not, and adds the noise once where it counts twice; 4.8 asks for less than 4.6 needs.
"""

from __future__ import annotations

from sympy import Rational

from ldpaudit.proofs._kernel import Lemma, Theorem


def prove() -> tuple[Lemma, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _privacy("replace-one"), _privacy("add-remove"), _larger_half(), _uniqueness()


def _privacy(relation: str) -> Theorem:
    t = Theorem(mechanism="BucketHeavyHitter", sentence="the Bucket mechanism", relation=relation)
    t.assume("the densities at y have the log-ratio (|y - s'| - |y - s|)/b; the noises are independent")
    t.assume("every coordinate is a bit s plus noise, 0 for an absent user: s and s' differ by 1 or not at all")
    (b,), (rows, tries), (apart,) = t.positive("b"), t.nonnegative("rows", "tries"), t.share("apart")
    rows_field, tries_field, b_field = t.parameter("rows"), t.parameter("trials"), t.parameter("scale")
    t.parametrize(
        {"rows": 1 + rows, "trials": 1 + tries, "scale": b}, {rows: rows_field - 1, tries: tries_field - 1, b: b_field}
    )
    t.loses(
        1 / b_field,
        b,
        0,
        apart,
        times=rows_field * tries_field,
        at={apart: 1},
    )
    return t


def _larger_half() -> Lemma:
    """With W the signed sum of the other counts, the heavy hitter's half is the larger where v1 > |W| + 2|z|."""
    t = Lemma(sentence="Lemma 4.6 needs v1 > |W| + 2|z|, and E[W^2] <= c although the hash functions are not independent")
    t.assume("u - n/2 = (v1 + W)/2 + z where the heavy hitter's bit is 1, and z - (v1 + W)/2 where it is 0")
    t.assume("W is the sum of v_i (-1)^<r, x_i xor x_1>, and the sign of every vector that is not 0 is on average -mu")
    (rows, beta), (c, cross, more) = t.positive("rows", "beta"), t.nonnegative("c", "cross", "more")
    mu = 1 / (1 + more)
    t.at_most(c - mu * cross, c, "E[W^2]: the squares, and -mu for each product of two other counts")
    square = 3 * rows * c / beta  # of the w beyond which W is with probability at most c/w^2
    t.equal(square * beta / (3 * rows), c, "c/w^2 = beta/(3 rows)")
    t.equal(4 * 12 * rows * c / beta, 16 * square, "the lemma's first term is 4 w: half of its second is left for |z|")
    t.at_most(12 * rows * c, 128 * c * rows, "Theorem 4.8's first term is more than w at beta = 1/4")
    t.at_most(128 * c * rows, 192 * c * rows, "and yet less than the term of Lemma 4.6 that it is derived from")
    return t


def _uniqueness() -> Lemma:
    t = Lemma(sentence="Lemma 4.7: another value agrees with the heavy hitter on a row with probability at most 1/2")
    t.assume("<r, d> = 1 for half of all vectors r, 0 included, and 0 is not drawn")
    (more,) = t.nonnegative("more")
    vectors, odd = 1 + 2 * more, 1 + more
    t.at_most((vectors - odd) / vectors, Rational(1, 2), "so on log2(3 N / beta) rows with at most beta/(3 N)")
    return t
