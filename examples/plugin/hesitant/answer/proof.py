"""Why: epsilon = log(p/(1 - p)). Without this file, ldpaudit looks at every entry of the law."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorem."""
    t = Theorem(mechanism="HesitantAnswer", sentence="a hesitant answer")
    (excess,) = t.nonnegative("excess")
    p, p_field = (1 + excess) / (2 + excess), t.parameter("p")
    ratio = p_field / (1 - p_field)
    t.parametrize({"p": p}, {excess: ratio - 1})
    truth, lie, silence = p / 2, (1 - p) / 2, Fraction(1, 2)
    t.costs(ratio, {"y = x": (truth, lie), "y is the other bit": (lie, truth), "silence": (silence, silence)})
    t.attained("at y = x")
    return (t,)
