"""Theorem: the sign oracle is epsilon-LDP exactly for epsilon >= log(p/(1-p)), and its estimate is unbiased.

A user's column is public and drawn before her value is looked at; given the column, her report is randomized response
on one sign. Over the vectors that are not 0, the signs of two values agree on average -1/(their number).
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma, Theorem


def prove() -> tuple[Lemma, ...]:
    """Check both theorems.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    return _privacy(), _estimate()


def _privacy() -> Theorem:
    t = Theorem(mechanism="SignOracle", sentence="the sign oracle")
    t.assume("Z[x, i] = (-1)^<r_i, x>, r_i public and not 0; with its bit j set, 0 and 2^j have opposite signs")
    (excess,), p_field = t.positive("excess"), t.parameter("p")
    p = (1 + excess) / (2 + excess)
    t.parametrize({"p": p}, {excess: p_field / (1 - p_field) - 1})
    t.costs(
        p_field / (1 - p_field),
        {"y = Z[x, i], and x' has the opposite sign": (p, 1 - p), "y = Z[x', i], and x has the opposite sign": (1 - p, p)},
        {"y = Z[x, i] = Z[x', i]": (p, p), "y is the sign of neither": (1 - p, 1 - p)},
    )
    t.attained("by 0 and 2^j")
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
