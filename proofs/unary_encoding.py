"""Theorem: unary encoding is epsilon-LDP exactly for epsilon >= log(p(1-q)/(q(1-p))), where one user's value changes.

Where a user comes or goes, one bit changes in place of two, and epsilon >= log max(p/q, (1-q)/(1-p)): the first where
p + q <= 1, the second where p + q >= 1. The probabilities q, p - q and 1 - p are in proportion 1 : gap : rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

_PRESENCE = "a user's presence in unary encoding"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _replace_one(), _presence_by_ones(), _presence_by_zeros()


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


def _presence_by_ones() -> Theorem:
    t = Theorem(mechanism="UnaryEncoding", sentence=f"{_PRESENCE}, where p + q <= 1,", relation="add-remove")
    (gap,), (more,) = t.positive("gap"), t.nonnegative("more")
    rest = 1 + more
    q, p = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    p_field, q_field = t.parameter("p"), t.parameter("q")
    t.parametrize({"p": p, "q": q}, {gap: p_field / q_field - 1, more: (1 - p_field) / q_field - 1})
    t.at_most(p + q, 1, "the regime")
    return _one_bit(t, p, q, p_field / q_field)


def _presence_by_zeros() -> Theorem:
    t = Theorem(mechanism="UnaryEncoding", sentence=f"{_PRESENCE}, where p + q >= 1,", relation="add-remove")
    (gap,), (more,) = t.positive("gap"), t.nonnegative("more")
    ones = 1 + more  # now q : p - q : 1 - p is ones : gap : 1
    q, p = ones / (ones + gap + 1), (ones + gap) / (ones + gap + 1)
    p_field, q_field = t.parameter("p"), t.parameter("q")
    t.parametrize(
        {"p": p, "q": q}, {gap: (1 - q_field) / (1 - p_field) - 1, more: q_field / (1 - p_field) - 1}
    )
    t.at_most(1, p + q, "the regime")
    return _one_bit(t, p, q, (1 - q_field) / (1 - p_field))


def _one_bit(t: Theorem, p: Expr, q: Expr, ratio: Expr) -> Theorem:
    t.assume("an absent user reports the all-zero vector: bits are independent, and all but bit x have the same law")
    t.costs(
        ratio,
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
