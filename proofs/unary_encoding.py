"""Theorem: unary encoding is epsilon-LDP exactly for epsilon >= log(p(1-q)/(q(1-p))), where one user's value changes.

Where a user comes or goes, one bit changes in place of two, and epsilon >= log max(p/q, (1-q)/(1-p)): the first where
p + q <= 1, the second where p + q >= 1. The probabilities q, p - q and 1 - p are in proportion 1 : gap : rest.
"""

from dataclasses import replace
from typing import Any

from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import apart, bit, ends, two_bits


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _replace_one(), _presence(by_ones=True), _presence(by_ones=False)


def _replace_one() -> Theorem:
    known, p, q = apart("q", "p")
    parts = two_bits((p, q), (named("p"), named("q")))
    return Theorem(mechanism="UnaryEncoding", sentence="unary encoding", **known, parts=parts, tight="", assumes=("independent",))


def _presence(*, by_ones: bool) -> Theorem:
    """An absent user reports as if no bit were set."""
    known, q, p, ratio = ends("q", "p", by_ones)
    laws = [bit(p, q, "bit x is 1, and the user is there", "it is 0"), bit(q, p, "bit x is 1, and the user is not", "it is 0")]
    return Theorem(
        mechanism="UnaryEncoding",
        sentence=f"a user's presence in unary encoding, where p + q {'<=' if by_ones else '>='} 1,",
        relation="add-remove",
        **known,
        parts=[Part(ratio, laws)],
        tight="",
        assumes=("independent",),
    )


def leaf(m: Any, relation: str) -> dict[str, Any]:
    """What `verify_certificate` knows it as: two bits differ, or where a user is absent one."""
    return {"word": "bits", "p": str(m.p), "q": str(m.q), "only_here": 1, "only_there": int(relation == "replace-one")}


def sibling(m: Any) -> Any:
    """With the same probabilities, and a law that can be listed."""
    return replace(m, k=min(m.k, 6))
