"""Theorem: GLPS-HH is (2 R (L+1) / b)-private for replace-one and (R (L+1) / b)-private for add-remove, whatever the seed.

Its (epsilon, delta) guarantees are the accountant's, not proved here. They rest on
this: a coordinate which is shifted by 2 tells no less than two that are shifted by 1, one after the other.
"""

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Theorem, named
from ldpaudit.proofs._parameters import noisy


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _privacy("replace-one", 2), _privacy("add-remove", 1)


def _privacy(relation: str, steps: int) -> Theorem:
    """Every position of a row shifts the view by at most `steps` unit steps."""
    (b,), (rows, bits) = positive("b"), nonnegative("rows", "bits")
    fields, times = {"rows": 1 + rows, "bits": 1 + bits, "scale": b}, steps * named("rows") * (named("bits") + 1)
    about = {"relation": relation, "assumes": ("Laplace noise", "columns of signs")}
    return noisy("GlpsHeavyHitter", "GLPS-HH", fields, times, **about)
