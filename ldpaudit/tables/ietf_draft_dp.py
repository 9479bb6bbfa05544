"""IETF draft-wang-ppm-differential-privacy."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.tables._table import Row, Table

_PRINTED = (
    (Fraction(5), "0.317", "printed below what the proved theorem for any randomizer certifies"),
    (Fraction(13, 2), "0.906", "printed below what the proved theorem for any randomizer certifies"),
    (Fraction(7), "1.528", "the numerical bound is below the closed form"),
)

TABLE = Table(
    name="ietf_draft_dp",
    title="Shuffled epsilon of an epsilon0-LDP report, 100,000 reports, delta = 1e-9",
    source="draft-wang-ppm-differential-privacy",
    rows=tuple(
        Row(
            parameters=(("epsilon0", epsilon0), ("users", 10**5), ("delta", Fraction(1, 10**9))),
            quantity="epsilon",
            printed=printed,
            theorem="amplification by shuffling; the draft names no theorem in what we have",
            computation="shuffle-epsilon",
            differs=differs,
        )
        for epsilon0, printed, differs in _PRINTED
    ),
)
