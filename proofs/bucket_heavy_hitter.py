"""Theorem: the Bucket mechanism is (rows trials / b)-private for either relation.

Its (epsilon, delta) guarantees are the accountant's, not proved here. Of Hsu, Khanna and Roth 2012, Lemma 4.6's proof takes the
family of hash functions for pairwise independent, which it is not, and adds the noise once where it counts twice: it needs
``v1 > |W| + 2|z|``, and ``E[W^2] <= c`` all the same, as two signs agree -mu on average. Theorem 4.8's first term, 128 c rows
squared, is less than the 192 c rows that it is derived from. Lemma 4.7 holds: on a row another value agrees with probability at
most 1/2.
"""

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Theorem, named
from ldpaudit.proofs._parameters import noisy


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _privacy("replace-one"), _privacy("add-remove")


def _privacy(relation: str) -> Theorem:
    (b,), (rows, tries) = positive("b"), nonnegative("rows", "tries")
    fields, times = {"rows": 1 + rows, "trials": 1 + tries, "scale": b}, named("rows") * named("trials")
    about = {"relation": relation, "assumes": ("Laplace noise", "columns of bits")}
    return noisy("BucketHeavyHitter", "the Bucket mechanism", fields, times, **about)
