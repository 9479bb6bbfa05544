"""Theorem: the hashtogram is epsilon-LDP exactly for epsilon >= log(p/(1-p)), and its answers are unbiased.

A user's group and column are public. The sign H[A x, r] is (-1)^<A^T r, x>, so that all is as for the sign oracle;
hashing costs accuracy, never privacy.
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
    t = Theorem(mechanism="Hashtogram", sentence="the hashtogram")
    t.assume("A has full rank and r is not 0, so A^T r is not 0; with its bit j set, 0 and 2^j have opposite signs")
    (excess,), p_field = t.positive("excess"), t.parameter("p")
    p = (1 + excess) / (2 + excess)
    t.parametrize({"p": p}, {excess: p_field / (1 - p_field) - 1})
    t.costs(
        p_field / (1 - p_field),
        {"y = H[h(x), r], and x' has the opposite sign": (p, 1 - p), "y = H[h(x'), r], and x has the opposite sign": (1 - p, p)},
        {"y = H[h(x), r] = H[h(x'), r]": (p, p), "y is the sign of neither": (1 - p, 1 - p)},
    )
    t.attained("by 0 and 2^j")
    return t


def _estimate() -> Lemma:
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
