"""Theorems: one report of RAPPOR costs h log(q*(1-p*) / (p*(1-q*))), and all that ever follow 2h log((1-f/2) / (f/2)).

Longitudinal unary encoding is the same with h = 1, where bits are kept with probabilities p1 and q1 in place of 1 - f/2 and f/2.

q* and p* are the probabilities that a report shows a bit of the filter as 1 where it is 1, and where it is 0. Two
signatures have at most h bits each. Both costs are attained where they have h bits each and none in common.
"""

from dataclasses import replace
from typing import Any

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import apart, bit, both, two_bits

_APART = "where two values set `hashes` bits each and none in common"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    lifetime = _memoized("PermanentRappor", "the permanent response of RAPPOR", tight=_APART, assumes=("filters",))
    several = _memoized("Rappor", "any number of reports of RAPPOR", assumes=("filters", "kept"))
    return _one_report(), several, lifetime


def longitudinal_unary() -> tuple[Theorem, ...]:
    """As `prove`, of longitudinal unary encoding."""
    (kept, p1, q1), (fresh, p2, q2) = apart("q1", "p1"), apart("q2", "p2", "fresh_gap", "fresh_rest")
    said, fields, name = "longitudinal unary encoding", list(map(named, ("p1", "q1", "q2", "p2"))), "LongitudinalUnary"
    known = both(kept, fresh, {"fields": {"reports": 1}, "recover": {}})
    first = two_bits(_shown(p1, q1, q2, p2), _shown(*fields))
    return (
        Theorem(mechanism=name, sentence=f"one report of {said}", **known, parts=first, tight="", assumes=("independent",)),
        Theorem(
            mechanism=name, sentence=f"any number of reports of {said}", **kept, parts=two_bits((p1, q1), (fields[0], fields[1])),
            assumes=("independent", "kept"),
        ),
    )  # fmt: skip


def _one_report() -> Theorem:
    (noise, more), (known, q, p) = nonnegative("noise", "more"), apart("p", "q")
    f, h = noise / (1 + noise), 1 + more
    f_field, p_field, q_field, h_field = map(named, ("f", "p", "q", "hashes"))
    one, zero = _shown(1 - f / 2, f / 2, p, q)
    return Theorem(
        mechanism="Rappor",
        sentence="one report of RAPPOR",
        fields=known["fields"] | {"f": f, "hashes": h, "reports": 1},
        recover=known["recover"] | {noise: f_field / (1 - f_field), more: h_field - 1},
        identities={
            "q*, as the source writes it": (one, f * (p + q) / 2 + (1 - f) * q),
            "p*, as the source writes it": (zero, f * (p + q) / 2 + (1 - f) * p),
        },
        parts=two_bits((one, zero), _shown(1 - f_field / 2, f_field / 2, p_field, q_field), h_field),
        tight=_APART,
        assumes=("filters",),
    )


def _shown(set_: Expr, unset: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr]:
    """The probabilities that a report shows 1 for a bit that is set, and for one that is not, by those that it is kept as 1."""
    return set_ * q + (1 - set_) * p, unset * q + (1 - unset) * p


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
    return replace(m, k=min(m.k, 6)) if hasattr(m, "k") else replace(m, bits=min(m.bits, 8), domain=min(m.domain, 16))
