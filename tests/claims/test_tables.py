"""The papers' tables: a printed number is read as any that rounds to it, and nothing of a row is lost when it is judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest

from ldpaudit.accountants.claims import tables as certified
from ldpaudit.accountants.claims.sentence import Printed, Standing, rounding
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.studies import tables
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


@pytest.fixture(scope="module", autouse=True)
def _once() -> Iterator[None]:
    """A row's number is computed once, whoever asks for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certified, "judged", cache(certified.judged))
        yield


ENPA = "enpa_figure_2"  # 24 sums, of which every fifth is enough by default
EVERY = [pytest.param(n, 1, marks=pytest.mark.slow if n == ENPA else ()) for n in tables.names()]


@pytest.mark.parametrize(("name", "each"), [(ENPA, 5), *EVERY])
def test_every_row_is_judged_or_a_statement_or_of_a_model_that_is_not_accounted_for(name: str, each: int) -> None:
    table = tables.load(name)
    for row, found in certified.check(replace(table, rows=table.rows[-1::-each])):
        assert (found is None) == (row.quantity == "statement")
        if found is not None:
            assert found.claimed == Fraction(row.printed)
            assert found.rounding in {Fraction(1, 10**k) for k in range(6)}
            # Where the printed number is not what is certified, the row says why.
            assert row.differs or found.agrees or found.holds


def test_the_command_says_how_each_row_stands() -> None:
    rows = json.loads(run("table", "triehh_table_1", "--format", "json").stdout)["rows"]
    assert {row["comparison"] for row in rows} == {"holds"}
    assert "8 x holds." in run("table", "triehh_table_1").stdout
    assert "7 x a statement, not a number" in " ".join(run("table", "ggkpv_table_1").stdout.split())


@pytest.mark.parametrize(("name", "numbers"), [("ietf_draft_dp", 9), pytest.param(ENPA, 24, marks=pytest.mark.slow)])
def test_sums_of_noisy_bits_are_held_against_what_sums_cost(name: str, numbers: int) -> None:
    rows = json.loads(run("table", name, "--format", "json").stdout)["rows"]
    assert {row["comparison"] for row in rows} <= {"holds", "holds to the digits printed"}
    assert len(rows) == numbers
    assert all(float(row["high"]) < 1.01 * float(row["low"]) for row in rows if float(row["low"]))
