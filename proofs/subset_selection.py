"""Theorem: subset selection is epsilon-LDP exactly for epsilon >= log(p(k-d)/((1-p)d)).

A subset has one of two probabilities, by whether it contains the value. With `ways` subsets that contain it there are
``ways (k-d)/d`` that do not, so the ratio of the two probabilities is r = p(k-d)/((1-p)d).
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
    t = Proof("SubsetSelection", "subset selection is log(p(k-d)/((1-p)d))-LDP, and no less")
    t.assume("C(k-1, d) = C(k-1, d-1) (k-d)/d: what binomial coefficients are")
    t.assume("some d-subset contains x and not x', because 1 <= d <= k-1")
    (excess, more, rest), (ways,) = t.nonnegative("excess", "more", "rest"), t.positive("ways")
    r, d = 1 + excess, 1 + more
    k = d + 1 + rest
    p = d * r / (d * r + k - d)
    k_field, d_field, p_field = t.parameter("k"), t.parameter("d"), t.parameter("p")
    t.parametrize(
        {"k": k, "d": d, "p": p},
        {excess: p_field * (k_field - d_field) / ((1 - p_field) * d_field) - 1, more: d_field - 1,
         rest: k_field - d_field - 1},
    )
    ways_without = ways * (k - d) / d
    inside, outside = p / ways, (1 - p) / ways_without
    t.equal(ways * inside + ways_without * outside, 1, "the law sums to 1")
    t.costs(r, {
        "x in, x' out": inside / outside,
        "x out, x' in": outside / inside,
        "both in": inside / inside,
        "both out": outside / outside,
    })
    t.equal(inside / outside, r, "attained at x in, x' out, so epsilon cannot be smaller")
    return (t,)
