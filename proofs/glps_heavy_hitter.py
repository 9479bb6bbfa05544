"""Theorem: GLPS-HH is (2 R (L+1) / b)-private for replace-one and (R (L+1) / b)-private for add-remove, whatever the seed.

Its (epsilon, delta) guarantees are the accountant's, not proved here; but for the lemma that they rest on, that a
coordinate which is shifted by 2 tells no less than two that are shifted by 1.
"""

from __future__ import annotations

from sympy import Integer

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _privacy("replace-one", 2), _privacy("add-remove", 1)


def _privacy(relation: str, steps: int) -> Theorem:
    """Every position of a row shifts the view by at most `steps` unit steps."""
    t = Theorem(mechanism="GlpsHeavyHitter", sentence="GLPS-HH", relation=relation)
    t.assume("the densities at y have the log-ratio (|y - s'| - |y - s|)/b; the noises are independent")
    t.assume("a value's column is 1 or -1 at L + 1 measurements of one bucket of each row, else 0; an absent user's is 0")
    (b,), (rows, bits), (apart,) = t.positive("b"), t.nonnegative("rows", "bits"), t.share("apart")
    near, middle, far = t.nonnegative("near", "middle", "far")
    rows_field, bits_field, b_field = t.parameter("rows"), t.parameter("bits"), t.parameter("scale")
    t.parametrize(
        {"rows": 1 + rows, "bits": 1 + bits, "scale": b}, {rows: rows_field - 1, bits: bits_field - 1, b: b_field}
    )
    t.equal((far - near) / b, (middle - near) / b + (far - middle) / b, "a shift by 2 is two by 1, one after the other")
    t.equal(1 - Integer(-1), 1 + 1, "entries 1 and -1 of one bucket are as far apart as an entry and 0 in each of two")
    t.loses(1 / b_field, b, 0, apart, times=steps * rows_field * (bits_field + 1), at={apart: 1})
    return t
