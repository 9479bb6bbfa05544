"""Theorems: one report of RAPPOR costs h log(q*(1-p*) / (p*(1-q*))), and all that ever follow 2h log((1-f/2) / (f/2)).

q* and p* are the probabilities that a report shows a bit of the filter as 1 where it is 1, and where it is 0. Two
signatures have at most h bits each. Both costs are attained where they have h bits each and none in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import bit

_APART = "where two values set `hashes` bits each and none in common"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    lifetime = _memoized("PermanentRappor", "the permanent response of RAPPOR", tight=_APART, assumes=("filters",))
    return _one_report(), _memoized("Rappor", "any number of reports of RAPPOR", assumes=("filters", "kept")), lifetime


def _one_report() -> Theorem:
    (gap, rest), (noise, more) = positive("gap", "rest"), nonnegative("noise", "more")
    p, q = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    f, h = noise / (1 + noise), 1 + more
    f_field, p_field, q_field, h_field = map(named, ("f", "p", "q", "hashes"))
    one, zero = _shown(f, p, q)
    shown, hidden = _shown(f_field, p_field, q_field)
    by_one, by_zero = shown / hidden, (1 - hidden) / (1 - shown)
    return Theorem(
        mechanism="Rappor",
        sentence="one report of RAPPOR",
        fields={"f": f, "p": p, "q": q, "hashes": h, "reports": 1},
        recover={noise: f_field / (1 - f_field), gap: q_field / p_field - 1, rest: (1 - q_field) / p_field, more: h_field - 1},
        identities={
            "q*, as the source writes it": (one, f * (p + q) / 2 + (1 - f) * q),
            "p*, as the source writes it": (zero, f * (p + q) / 2 + (1 - f) * p),
        },
        parts=[
            Part(by_one, [bit(one, zero, "a bit that only x sets is reported as 1", "as 0")], h_field, by_zero),
            Part(by_zero, [bit(zero, one, "a bit that only x' sets is reported as 1", "as 0")], h_field, by_one),
        ],
        tight=_APART,
        assumes=("filters",),
    )


def _shown(f: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr]:
    """q* and p*: the probabilities that a report shows 1 for a bit that is set, and for one that is not."""
    return (1 - f / 2) * q + f / 2 * p, f / 2 * q + (1 - f / 2) * p


def _memoized(mechanism: str, sentence: str, **more: Any) -> Theorem:
    """What the memoized bits cost."""
    (signal,), (beyond,), f, h = positive("signal"), nonnegative("more"), named("f"), named("hashes")
    lost = 1 / (2 + signal)
    kept = [bit(1 - lost, lost, "a bit that only x sets is kept as 1", "as 0"), bit(lost, 1 - lost, "that only x' sets", "as 0")]
    return Theorem(
        mechanism=mechanism,
        sentence=sentence,
        fields={"f": 2 * lost, "hashes": 1 + beyond},
        recover={signal: 2 / f - 2, beyond: h - 1},
        parts=[Part((1 - f / 2) / (f / 2), kept, 2 * h)],
        **more,
    )


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; None of several reports, which are not independent."""
    if relation != "replace-one" or len(m.bit_law(0)) != 2:
        return None
    (_, zero), (_, one) = m.bit_law(0), m.bit_law(1)
    return {"word": "bits", "p": str(one), "q": str(zero), "only_here": m.hashes, "only_there": m.hashes}


def sibling(m: Any) -> Any:
    """With the same probabilities, and a law that can be listed."""
    return replace(m, bits=min(m.bits, 8), domain=min(m.domain, 16))
