"""Theorem: JL-HH is private with epsilon = 2 rows entry/b for replace-one, and half of that for add-remove.

Here entry is one over the root of rows. With fresh noise for each of N values epsilon is N times as large; where users send
products only, that is an upper bound. Its (epsilon, delta) guarantees are the accountant's, not proved here.
"""

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Theorem, named
from ldpaudit.proofs._parameters import noisy

_READINGS = {
    "JLHeavyHitter": "one noisy projection",
    "FreshProjections": "a fresh noisy projection for each value",
    "FreshProducts": "the product of each fresh noisy projection with its value's column",
}


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    relations = (("replace-one", 2), ("add-remove", 1))
    return tuple(_reading(name, relation, apart) for name in _READINGS for relation, apart in relations)


def _reading(mechanism: str, relation: str, entries: int) -> Theorem:
    (b, entry), (rows, values) = positive("b", "size"), nonnegative("more_rows", "more")
    copies = {} if mechanism == "JLHeavyHitter" else {"domain": 2 + values}
    fields = {"rows": 1 + rows, "entry": entry, "scale": b, **copies}
    times, change = named("rows") * (named("domain") if copies else 1), (entries * named("entry"), entries * entry)
    about = {"relation": relation, "assumes": ("Laplace noise", "projections")}
    return noisy(mechanism, f"JL-HH, {_READINGS[mechanism]},", fields, times, change, **about)
