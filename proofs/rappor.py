"""Theorems: one report of RAPPOR costs h log(q*(1-p*) / (p*(1-q*))), and all that ever follow 2h log((1-f/2) / (f/2)).

q* and p* are the probabilities that a report shows a bit of the filter as 1 where it is 1, and where it is 0. Two
signatures have at most h bits each. Both costs are attained where they have h bits each and none in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

_FILTER = "a value sets at most `hashes` bits, and each bit is randomized by itself, by what it is"
_APART = "where two values set `hashes` bits each and none in common"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _one_report(), _any_reports(), _permanent()


def _one_report() -> Theorem:
    t = Theorem(mechanism="Rappor", sentence="one report of RAPPOR")
    t.assume(_FILTER)
    (gap, rest), (noise, more) = t.positive("gap", "rest"), t.nonnegative("noise", "more")
    p, q = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    f, h = noise / (1 + noise), 1 + more
    f_field, p_field, q_field, h_field = map(t.parameter, ("f", "p", "q", "hashes"))
    t.parametrize({"f": f, "p": p, "q": q, "hashes": h, "reports": 1}, {
        noise: f_field / (1 - f_field), gap: q_field / p_field - 1, rest: (1 - q_field) / p_field, more: h_field - 1,
    })
    one, zero = _shown(f, p, q)
    t.equal(one, f * (p + q) / 2 + (1 - f) * q, "q*, as the source writes it")
    t.equal(zero, f * (p + q) / 2 + (1 - f) * p, "p*, as the source writes it")
    shown, hidden = _shown(f_field, p_field, q_field)
    by_x = {"a bit that only x sets is reported as 1": (one, zero), "it is reported as 0": (1 - one, 1 - zero)}
    by_other = {"a bit that only x' sets is reported as 0": (1 - zero, 1 - one), "it is reported as 1": (zero, one)}
    t.costs(shown / hidden, by_x, times=h_field)
    t.costs((1 - hidden) / (1 - shown), by_other, times=h_field)
    t.attained("at 1 for all bits of x and 0 for all bits of x'", _APART)
    return t


def _shown(f: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr]:
    """q* and p*: the probabilities that a report shows 1 for a bit that is set, and for one that is not."""
    return (1 - f / 2) * q + f / 2 * p, f / 2 * q + (1 - f / 2) * p


def _any_reports() -> Theorem:
    t = Theorem(mechanism="Rappor", sentence="any number of reports of RAPPOR")
    t.assume("given the memoized bit, the reports do not depend on the value, so that they cost no more than the bit")
    return _memoized(t)


def _permanent() -> Theorem:
    t = _memoized(Theorem(mechanism="PermanentRappor", sentence="the permanent response of RAPPOR"))
    t.attained("at 1 for all bits of x and 0 for all bits of x'", _APART)
    return t


def _memoized(t: Theorem) -> Theorem:
    """What the memoized bits cost."""
    t.assume(_FILTER)
    (signal,), (more,) = t.positive("signal"), t.nonnegative("more")
    f, h = 2 / (2 + signal), 1 + more
    f_field, h_field = t.parameter("f"), t.parameter("hashes")
    t.parametrize({"f": f, "hashes": h}, {signal: 2 / f_field - 2, more: h_field - 1})
    kept, lost = 1 - f / 2, f / 2
    t.costs(
        (1 - f_field / 2) / (f_field / 2),
        {"a bit that only x sets is kept as 1": (kept, lost), "it is kept as 0": (lost, kept)},
        {"a bit that only x' sets is kept as 0": (kept, lost), "it is kept as 1": (lost, kept)},
        times=2 * h_field,
    )
    return t


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; None of several reports, which are not independent."""
    if relation != "replace-one" or len(m.bit_law(0)) != 2:
        return None
    (_, zero), (_, one) = m.bit_law(0), m.bit_law(1)
    return {"word": "bits", "p": str(one), "q": str(zero), "only_here": m.hashes, "only_there": m.hashes}


def sibling(m: Any) -> Any:
    """With the same probabilities, and a law that can be listed."""
    return replace(m, bits=min(m.bits, 8), domain=min(m.domain, 16))
