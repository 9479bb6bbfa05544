"""Theorem: Hadamard response is epsilon-LDP exactly for epsilon >= log(p/(1-p)).

With r = p/(1-p) and `half` columns on either side of every row that is not constant, a column has one of two
probabilities, whose ratio is r; two different rows differ in some column, in either direction.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Proof


def prove() -> tuple[Proof, ...]:
    """Check the theorem.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    t = Proof("HadamardResponse", "Hadamard response is log(p/(1-p))-LDP, and no less")
    t.assume("rows 1 to k of the K x K Hadamard matrix, K > k, are orthogonal to each other and to row 0, all +1")
    (excess,), (half,) = t.nonnegative("excess"), t.positive("half")
    r = 1 + excess
    p = r / (1 + r)
    p_field = t.parameter("p")
    t.parametrize({"p": p}, {excess: p_field / (1 - p_field) - 1})
    plus, minus = p / half, (1 - p) / half
    t.equal(half * plus + half * minus, 1, "the law sums to 1: a row orthogonal to row 0 is +1 in half of the columns")
    t.costs(r, {
        "row x is +1 at y, row x' is -1": plus / minus,
        "row x is -1 at y, row x' is +1": minus / plus,
        "both rows are +1 at y": plus / plus,
        "both rows are -1 at y": minus / minus,
    })
    both = half / 2
    t.equal(2 * both, 2 * (half - both), "rows x and x' are orthogonal: they differ as often as they agree")
    t.equal((half - both) * plus, p / 2, "x shows a column where only its own row is +1 with probability p/2 > 0")
    t.equal(plus / minus, r, "attained there, so epsilon cannot be smaller")
    return (t,)
