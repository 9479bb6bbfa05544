"""IETF draft-wang-ppm-differential-privacy."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.tables._table import SUMS, Row, Table

_PRINTED = ((Fraction(5), "0.317"), (Fraction(13, 2), "0.906"), (Fraction(7), "1.528"))

TABLE = Table(
    name="ietf_draft_dp",
    title="Epsilon of the sum of 100,000 reports of noisy bits, each epsilon0-LDP; delta = 1e-9",
    source="draft-wang-ppm-differential-privacy",
    rows=tuple(
        Row(
            parameters=(("epsilon0", epsilon0), ("users", 10**5), ("delta", Fraction(1, 10**9))),
            quantity="epsilon",
            printed=printed,
            theorem="the draft names no theorem in what we have",
            model=SUMS,
        )
        for epsilon0, printed in _PRINTED
    ),
)
