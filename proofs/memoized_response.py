"""Theorems: what responses cost that are kept value by value, between streams that repeat values in the same epochs.

D kept answers of k-ary randomized response cost D times one. The bits of dBitFlip cost log(p/(1-p)) for each that tells: of
every drawn bucket, the bit under the value of one stream and under that of the other, hence 2 d; and of every kept value, the
bits of its bucket and of the other stream's, hence 2 D. Where only one value is kept, the streams are of one pattern whatever
they hold, and one drawn bucket tells once.
"""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

RELATIONS = ("user-level", "same-pattern")
"""Against any stream, which is proved where one value is kept only, and against those of the same pattern."""


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    one = tuple(theorem(relation) for relation in RELATIONS for theorem in (_one_answer, _one_bit, _two_bits))
    return (*one, _answers(), _bits_of_values(), _bits_of_buckets())


def _theorem(mechanism: str, sentence: str, relation: str) -> Theorem:
    t = Theorem(mechanism=mechanism, sentence=sentence, relation=relation)
    t.assume("the report of a value is drawn once, independently of those of other values given which buckets are drawn")
    return t


def _one_answer(relation: str) -> Theorem:
    t = _theorem("MemoizedResponse", "one kept answer", relation)
    t.assume("all epochs show the answer of the first value")
    _respond(t, {"values": 1}, {}, 1)
    return t


def _answers() -> Theorem:
    t = _theorem("MemoizedResponse", "kept answers", "same-pattern")
    t.assume("both streams repeat values in the same epochs, so an answer that is shown again tells nothing more")
    (more,) = t.nonnegative("values_beyond_two")
    _respond(t, {"values": 2 + more}, {more: t.parameter("values") - 2}, t.parameter("values"))
    return t


def _respond(t: Theorem, fields: dict[str, Expr], recover: dict[Expr, Expr], times: Expr) -> None:
    """The cost of answers of k-ary randomized response."""
    k, p, lie, ratio = t.response("k", fields, recover)
    t.costs(ratio, {"y = x": (p, lie), "y = x'": (lie, p), "y is neither": (k - 2, lie, lie)}, times=times)
    t.attained("by streams whose values differ in every epoch, at a row of truths")


def _one_bit(relation: str) -> Theorem:
    t = _theorem("MemoizedDBitFlip", "one kept report of one bit", relation)
    t.assume("all epochs show the report of the first value; one bucket is drawn, that of x, of x', or another")
    p, odds = t.coin({"values": 1, "d": 1})
    (rest,) = t.nonnegative("other_buckets")
    k = 2 + rest
    t.costs(odds, {
        "the bucket of x, a true bit": (p / k, (1 - p) / k), "of x, a lie": ((1 - p) / k, p / k),
        "of x', a true bit": (p / k, (1 - p) / k), "of x', a lie": ((1 - p) / k, p / k),
        "another, a true bit": (rest, p / k, p / k), "another, a lie": (rest, (1 - p) / k, (1 - p) / k),
    })
    t.attained("at a bucket of x or x', true on x")
    return t


def _two_bits(relation: str) -> Theorem:
    t = _theorem("MemoizedDBitFlip", "one kept report of several bits", relation)
    t.assume("all epochs show the report of the first value; all bits but those of its bucket and of the other's are alike")
    (more,) = t.nonnegative("bits_beyond_two")
    _tell(t, {"values": 1, "d": 2 + more}, {more: t.parameter("d") - 2}, 2)
    t.attained("where the buckets of both values are drawn, both bits true on x")
    return t


def _bits_of_values() -> Theorem:
    assumed = "of a kept value two bits tell: of its bucket, and of that of the other stream's value"
    return _of_streams("d >= values", assumed, "values", lambda least, more: {"values": 2 + least, "d": 2 + least + more})


def _bits_of_buckets() -> Theorem:
    assumed = "of a drawn bucket two bits tell: kept with the one stream's value, and with the other's"
    return _of_streams("d < values", assumed, "d", lambda least, more: {"d": 1 + least, "values": 2 + least + more})


def _of_streams(regime: str, assumed: str, counted: str, sizes: Callable[[Expr, Expr], dict[str, Expr]]) -> Theorem:
    """Kept reports of at least two values, where the lesser of `d` and `values` is `counted`."""
    t = _theorem("MemoizedDBitFlip", f"kept reports of dBitFlip, where {regime},", "same-pattern")
    t.assume(f"both streams repeat values in the same epochs; {assumed}")
    least, more = t.nonnegative("least", "more")
    d, values = t.parameter("d"), t.parameter("values")
    recover = {least: values - 2, more: d - values} if counted == "values" else {least: d - 1, more: values - d - 1}
    _tell(t, sizes(least, more), recover, 2 * t.parameter(counted))
    t.attained("by the same values in another order, where as many of their buckets as can be are drawn")
    return t


def _tell(t: Theorem, fields: dict[str, Expr], recover: dict[Expr, Expr], times: Expr | int) -> None:
    """The cost of bits that tell, where their buckets are drawn."""
    p, odds = t.coin(fields, recover)
    t.costs(odds, {"true on x": (p, 1 - p), "a lie on x": (1 - p, p)}, {"the bucket is not drawn": (1, 1)}, times=times)
