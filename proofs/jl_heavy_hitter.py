"""Theorem: JL-HH is private with epsilon = 2 rows entry/b for replace-one, and half of that for add-remove.

Here entry is one over the root of rows. With fresh noise for each of N values epsilon is N times as large; where users send
products only, that is an upper bound. Its (epsilon, delta) guarantees are the accountant's, not proved here.
"""

from __future__ import annotations

from sympy import Integer

from ldpaudit.proofs._kernel import Theorem

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
    t = Theorem(mechanism=mechanism, sentence=f"JL-HH, {_READINGS[mechanism]},", relation=relation)
    t.assume("the densities at y have the log-ratio (|y - s'| - |y - s|)/b; the noises are independent")
    t.assume("every coordinate is entry or -entry plus noise, 0 for an absent user: s and s' differ by at most "
             f"{'twice ' if entries == 2 else ''}entry")  # fmt: skip
    if mechanism == "FreshProducts":
        t.assume("a product is a function of its projection: post-processing")
    (b, entry), (rows, values), (apart,) = t.positive("b", "size"), t.nonnegative("more_rows", "more"), t.share("apart")
    fields = {"rows": 1 + rows, "entry": entry, "scale": b}
    recovered = {rows: t.parameter("rows") - 1, entry: t.parameter("entry"), b: t.parameter("scale")}
    copies = Integer(1)
    if mechanism != "JLHeavyHitter":
        fields["domain"], recovered[values] = 2 + values, t.parameter("domain") - 2
        copies = t.parameter("domain")
    t.parametrize(fields, recovered)
    each = entries * t.parameter("entry") / t.parameter("scale")
    t.loses(each, b, 0, entries * entry * apart, times=copies * t.parameter("rows"), at={apart: 1})
    return t
