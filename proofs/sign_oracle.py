"""Theorem: the sign oracle is epsilon-LDP exactly for epsilon >= log(p/(1-p)), and its estimate is unbiased.

A user's column is public and drawn before her value is looked at; given the column, her report is randomized response
on one sign. Over the vectors that are not 0, the signs of two values agree on average -1/(their number).
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma
from ldpaudit.proofs._signs import one_sign


def prove() -> tuple[Lemma, ...]:
    """Check both theorems. Raises ProofError naming the step, were one false."""
    return one_sign("SignOracle", "the sign oracle", "Z[x, i] = (-1)^<r_i, x>, r_i public and not 0"), _estimate()


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
