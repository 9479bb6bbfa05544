"""Theorem: the Bucket mechanism is (rows trials / b)-private for either relation.

Its (epsilon, delta) guarantees are the accountant's, not proved here. Of Hsu, Khanna and Roth 2012, Lemma 4.6's proof takes the
family of hash functions for pairwise independent, which it is not, and adds the noise once where it counts twice: it needs
``v1 > |W| + 2|z|``, and ``E[W^2] <= c`` all the same, as two signs agree -mu on average. Theorem 4.8's first term, 128 c rows
squared, is less than the 192 c rows that it is derived from. Lemma 4.7 holds: on a row another value agrees with probability at
most 1/2.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _privacy("replace-one"), _privacy("add-remove")


def _privacy(relation: str) -> Theorem:
    t = Theorem(mechanism="BucketHeavyHitter", sentence="the Bucket mechanism", relation=relation)
    t.assume("the densities at y have the log-ratio (|y - s'| - |y - s|)/b; the noises are independent")
    t.assume("every coordinate is a bit s plus noise, 0 for an absent user: s and s' differ by 1 or not at all")
    (b,), (rows, tries), (apart,) = t.positive("b"), t.nonnegative("rows", "tries"), t.share("apart")
    rows_field, tries_field, b_field = t.parameter("rows"), t.parameter("trials"), t.parameter("scale")
    t.parametrize(
        {"rows": 1 + rows, "trials": 1 + tries, "scale": b}, {rows: rows_field - 1, tries: tries_field - 1, b: b_field}
    )
    t.loses(1 / b_field, b, 0, apart, times=rows_field * tries_field, at={apart: 1})
    return t
