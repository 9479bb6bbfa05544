"""Theorem: the hashtogram is epsilon-LDP exactly for epsilon >= log(p/(1-p)), and its answers are unbiased.

A user's group and column are public. The sign H[A x, r] is (-1)^<A^T r, x>, so that all is as for the sign oracle;
hashing costs accuracy, never privacy.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma
from ldpaudit.proofs._signs import one_sign


def prove() -> tuple[Lemma, ...]:
    """Check both theorems. Raises ProofError naming the step, were one false."""
    return one_sign("Hashtogram", "the hashtogram", "A has full rank and r is not 0, so A^T r is not 0"), _estimate()


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
