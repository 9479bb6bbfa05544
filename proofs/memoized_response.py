"""Theorems: what responses cost that are kept value by value, between streams that repeat values in the same epochs.

D kept answers of k-ary randomized response cost D times one. The bits of dBitFlip cost log(p/(1-p)) for each that tells: of
every drawn bucket, the bit under the value of one stream and under that of the other, hence 2 d; and of every kept value, the
bits of its bucket and of the other stream's, hence 2 D. Where only one value is kept, the streams are of one pattern whatever
they hold, and one drawn bucket tells once.
"""

from typing import Any

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import both, drawn_bit, drawn_bits, response

RELATIONS = ("user-level", "same-pattern")
"""Against any stream, which is proved where one value is kept only, and against those of the same pattern."""
_BUCKETS = {"relation": "same-pattern", "assumes": ("one pattern", "buckets"),
            "tight": "by the same values in another order, where as many of their buckets as can be are drawn"}  # fmt: skip


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    one = tuple(theorem(relation) for relation in RELATIONS for theorem in (_one_answer, _one_bit, _two_bits))
    return (*one, _answers(), _bits_of_fewer("values", "d", 2, "d >= values"), _bits_of_fewer("d", "values", 1, "d < values"))


def _one_answer(relation: str) -> Theorem:
    return _respond("one kept answer", {"fields": {"values": 1}, "recover": {}}, 1, relation=relation, assumes=("one value",))


def _answers() -> Theorem:
    (more,), values = nonnegative("values_beyond_two"), named("values")
    sizes = {"fields": {"values": 2 + more}, "recover": {more: values - 2}}
    return _respond("kept answers", sizes, values, relation="same-pattern", assumes=("one pattern",))


def _respond(sentence: str, sizes: dict[str, Any], times: Expr | int, **more: Any) -> Theorem:
    """The cost of answers of k-ary randomized response, by streams whose values differ in every epoch."""
    known, apart, _, ratio = response("k")
    parts = [Part(ratio, [apart], times)]
    return Theorem(mechanism="MemoizedResponse", sentence=sentence, **both(known, sizes), parts=parts, tight="", **more)


def _one_bit(relation: str) -> Theorem:
    fields = {"fields": {"values": 1, "d": 1}, "recover": {}}
    about = {"relation": relation, "assumes": ("one value", "buckets")}
    return drawn_bit("MemoizedDBitFlip", "one kept report of one bit", fields, **about)


def _two_bits(relation: str) -> Theorem:
    (more,) = nonnegative("bits_beyond_two")
    sizes = {"fields": {"values": 1, "d": 2 + more}, "recover": {more: named("d") - 2}}
    about = {"relation": relation, "assumes": ("one value", "buckets"), "tight": ""}
    return drawn_bits("MemoizedDBitFlip", "one kept report of several bits", sizes, 2, **about)


def _bits_of_fewer(fewer: str, other: str, least: int, where: str) -> Theorem:
    """Twice as many bits as the smaller of d and values, which is at least this; the other one is at least 2."""
    (excess, more), few, many = nonnegative("least", "more"), named(fewer), named(other)
    sizes = {"fields": {fewer: least + excess, other: 2 + excess + more},
             "recover": {excess: few - least, more: many - few - (2 - least)}}  # fmt: skip
    return drawn_bits("MemoizedDBitFlip", f"kept reports of dBitFlip, where {where},", sizes, 2 * few, **_BUCKETS)
