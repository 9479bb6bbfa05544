"""The papers' tables: a printed number is read as any that rounds to it, and nothing of a row is lost when it is judged."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from ldpaudit import tables
from ldpaudit.accountants.claims.sentence import Printed, Standing, rounding
from ldpaudit.accountants.claims.tables import check
from ldpaudit.enclosure import Enclosure, Rigour
from tests.helpers import run


@pytest.mark.parametrize(
    ("low", "high", "standing", "agrees"),
    [
        (0.05, 0.09, Standing.HOLDS, False),
        (0.104, 0.1041, Standing.HOLDS, True),
        (0.105, 0.1059, Standing.HOLDS, True),
        (0.1055, 0.12, Standing.OPEN, False),
        (0.107, 0.12, Standing.FAILS, False),
    ],
)
def test_a_printed_number_is_read_as_any_that_rounds_to_it(low: float, high: float, standing: Standing, agrees: bool) -> None:
    found, value = Enclosure(low, high, Rigour.INTERVAL, "made up"), Decimal("0.105")
    read = Printed("Theorem 0", "epsilon", Fraction(value), found, rounding=rounding(value))
    assert (read.standing, read.agrees) == (standing, agrees)
    exact = Printed("Theorem 0", "epsilon", Fraction(value), found)
    assert not exact.agrees
    assert exact.holds is (True if high <= 0.105 else None if low <= 0.105 else False)


@pytest.mark.parametrize("name", tables.names())
def test_every_row_is_judged_or_a_statement(name: str) -> None:
    for row, found in check(tables.load(name)):
        assert (found is None) == (row.quantity == "statement")
        if found is not None:
            assert found.claimed == Fraction(row.printed)
            assert found.rounding in {Fraction(1, 10**k) for k in range(6)}
            # Where the printed number is not what is certified, the row says why.
            assert row.differs or found.agrees or found.holds


def test_the_command_says_how_each_row_stands() -> None:
    rows = json.loads(run("table", "ietf_draft_dp", "--format", "json").stdout)["rows"]
    assert [row["comparison"] for row in rows] == ["open", "open", "holds"]
    assert [row["holds"] for row in rows] == [None, None, True]
    page = run("table", "ietf_draft_dp").stdout
    assert "1.1 x  holds" in page
    assert "2 x open (it lies between the certified ends: not shown to hold, not refuted)" in " ".join(page.split())
    assert "7 x a statement, not a number" in " ".join(run("table", "ggkpv_table_1").stdout.split())
