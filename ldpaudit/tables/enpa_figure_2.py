"""Exposure Notification Privacy-preserving Analytics, white paper, figure 2."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.tables._table import SUMS, Row, Table

_PRINTED = {
    10**4: ".53 7.67 7.98 8.00 8.00 8.00",
    10**5: ".01 .25 .46 .66 .84 1.02",
    10**6: ".01 .04 .10 .15 .19 .23",
    10**7: ".01 .01 .03 .04 .06 .07",
}

TABLE = Table(
    name="enpa_figure_2",
    title="Epsilon of the sum of reports of noisy bits, epsilon0 = 8",
    source="ENPA white paper, figure 2",
    rows=tuple(
        Row(
            parameters=(("epsilon0", 8), ("users", users), ("delta", Fraction(1, 10 ** (place + 1)))),
            quantity="epsilon",
            printed=printed,
            theorem="the white paper names no theorem in what we have",
            model=SUMS,
        )
        for users, line in _PRINTED.items()
        for place, printed in enumerate(line.split())
    ),
)
