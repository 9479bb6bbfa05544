"""Why: epsilon = log(p/(1 - p)). Without this file, ldpaudit looks at every entry of the law."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.proofs._kernel import Part, Theorem
from ldpaudit.proofs._parameters import coin


def prove() -> tuple[Theorem, ...]:
    """Check the theorem."""
    known, p, odds = coin()
    truth, lie, silence = p / 2, (1 - p) / 2, Fraction(1, 2)
    law = {"y = x": (truth, lie), "y is the other bit": (lie, truth), "silence": (silence, silence)}
    sentence, parts = "a hesitant answer", [Part(odds, [law])]
    return (Theorem(mechanism="HesitantAnswer", sentence=sentence, **known, parts=parts, tight=""),)
