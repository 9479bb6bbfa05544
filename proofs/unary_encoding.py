"""Theorem: unary encoding is epsilon-LDP exactly for epsilon >= log(p(1-q)/(q(1-p))), where one user's value changes.

Where a user comes or goes, one bit changes in place of two, and epsilon >= log max(p/q, (1-q)/(1-p)): the first where
p + q <= 1, the second where p + q >= 1. The probabilities q, p - q and 1 - p are in proportion 1 : gap : rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _replace_one(), _presence(by_ones=True), _presence(by_ones=False)


def _replace_one() -> Theorem:
    t = Theorem(mechanism="UnaryEncoding", sentence="unary encoding")
    t.assume("bits are independent, and all but bits x and x' have the same law on both inputs")
    gap, rest = t.positive("gap", "rest")
    q, p = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    p_field, q_field = t.parameter("p"), t.parameter("q")
    t.parametrize({"p": p, "q": q}, {gap: p_field / q_field - 1, rest: (1 - p_field) / q_field})
    t.costs(p_field / q_field, {"bit x is 1": (p, q), "bit x is 0": (1 - p, 1 - q)})
    t.costs((1 - q_field) / (1 - p_field), {"bit x' is 0": (1 - q, 1 - p), "bit x' is 1": (q, p)})
    t.attained("at bit x = 1 and bit x' = 0")
    return t


def _presence(*, by_ones: bool) -> Theorem:
    sentence = f"a user's presence in unary encoding, where p + q {'<=' if by_ones else '>='} 1,"
    t = Theorem(mechanism="UnaryEncoding", sentence=sentence, relation="add-remove")
    q, p = t.ends("q", "p", by_ones)
    p_field, q_field = t.parameter("p"), t.parameter("q")
    t.assume("an absent user reports the all-zero vector: bits are independent, and all but bit x have the same law")
    t.costs(
        p_field / q_field if by_ones else (1 - q_field) / (1 - p_field),
        {"bit x is 1, and the user is there": (p, q), "bit x is 0, and the user is there": (1 - p, 1 - q)},
        {"bit x is 1, and the user is not": (q, p), "bit x is 0, and the user is not": (1 - q, 1 - p)},
    )
    t.attained("at one of the two values of bit x")
    return t


def leaf(m: Any, relation: str) -> dict[str, Any]:
    """What `verify_certificate` knows it as: two bits differ, or where a user is absent one."""
    return {"word": "bits", "p": str(m.p), "q": str(m.q), "only_here": 1, "only_there": int(relation == "replace-one")}


def sibling(m: Any) -> Any:
    """With the same probabilities, and a law that can be listed."""
    return replace(m, k=min(m.k, 6))
