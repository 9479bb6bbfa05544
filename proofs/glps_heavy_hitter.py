"""Theorem: GLPS-HH is (2 R (L+1) / b)-private for replace-one and (R (L+1) / b)-private for add-remove, whatever the seed.

Its (epsilon, delta) guarantees are the accountant's, not proved here; but for the lemma that they rest on, that a
coordinate which is shifted by 2 tells no less than two that are shifted by 1.
"""

from __future__ import annotations

from sympy import Integer, Rational

from ldpaudit.proofs._kernel import Lemma, Theorem


def prove() -> tuple[Lemma, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _privacy("replace-one", 2), _privacy("add-remove", 1), _twice_as_far(), _one_row_finds()


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
    t.loses(
        1 / b_field,
        b,
        0,
        apart,
        times=steps * rows_field * (bits_field + 1),
        at={apart: 1},
    )
    return t


def _twice_as_far() -> Lemma:
    """Compare delta of one coordinate of step 2s with that of two of step s, both in closed form."""
    t = Lemma(sentence="a coordinate shifted by 2s has no smaller delta than two shifted by s, at every epsilon")
    t.assume("with u = 2s - epsilon and E = exp(-u/2), one has delta 1 - E, and two have 1 - E(1 + u/4); 0 where u <= 0")
    (decay,), (u,) = t.positive("E"), t.nonnegative("u")
    t.at_most(1 - decay * (1 + u / 4), 1 - decay, "two of step s, and one of step 2s")
    return t


def _one_row_finds() -> Lemma:
    """A row spells a value whose count exceeds twice the rest of its bucket, and twice every noise."""
    t = Lemma(sentence="with B >= 16 n / v buckets a row's other values exceed v/2 with probability at most 1/8")
    t.assume("the others of a bucket are on average at most n/B (Markov)")
    (v, users), (more,) = t.positive("v", "n"), t.nonnegative("more")
    buckets = 16 * users / v + more
    t.at_most((users / buckets) / (v / 2), Rational(1, 8), "the mean over v/2")
    t.assume("(others + noise) has the sign of v where the others' total and the noise are each below v/2")
    return t
