"""The ledger of the field's formulas."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from ldpaudit.accountants.claims.ledger import COLUMNS, Chapter, ledger
from ldpaudit.accountants.claims.published import Published
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.commands.claims import table
from ldpaudit.commands.options import Format
from ldpaudit.report.tables import chapter_as_data, markdown, print_ledger
from tests.helpers import fails_in_one_line, run

NAMED = ("DRV10", "KOV15", "BS16", "M17", "EFMRTT19", "BBGN19", "FMT21", "cpSGD", "BC22", "BBG18", "HKR12", "TrieHH", "GGKPV19",
         "MV16", "KHH23", "WBK19", "SCW25", "BC20")  # fmt: skip
"""Every theorem that the ledger is asked for."""


def rows() -> list[tuple[Chapter, int, Published]]:
    return [(c, i, row) for c in ledger() for formula in c.formulas for i, row in enumerate(formula.found)]


def test_every_formula_of_the_field_holds_at_some_setting() -> None:
    holding = {row.name.split()[0] for _, _, row in rows() if row.standing is Standing.HOLDS}
    assert holding >= set(NAMED)


def test_every_formula_is_judged_at_three_settings_and_says_what_it_needs() -> None:
    for chapter in ledger():
        assert len(chapter.settings) == len(chapter.certified) == len(COLUMNS)
        for formula in chapter.formulas:
            assert len(formula.found) == len(COLUMNS)
            assert len({(row.name, row.source, row.needs, row.provenance) for row in formula.found}) == 1
            assert formula.stated.needs
            assert all(bool(row.unmet) == (row.standing is Standing.OUTSIDE) for row in formula.found)


def test_what_holds_is_never_below_the_certified_epsilon_and_two_theorems_fail() -> None:
    for chapter, column, row in rows():
        certified = chapter.certified[column]
        if row.standing is Standing.HOLDS:
            assert row.printed is not None
            assert row.printed.claimed >= certified.high, row.name
    failing = [(row.name, COLUMNS[i]) for _, i, row in rows() if row.standing is Standing.FAILS]
    assert failing == [("TrieHH Theorem 1", "edge"), ("cpSGD binomial mechanism", "edge")]


def test_the_edges_are_where_hypotheses_are_not_met() -> None:
    for chapter in ledger():
        standings = {formula.found[-1].standing for formula in chapter.formulas}
        assert standings & {Standing.OUTSIDE, Standing.FAILS}, chapter.title


def test_a_page_and_a_program_read_the_same_verdicts() -> None:
    page = markdown(ledger())
    for chapter in ledger():
        data = chapter_as_data(chapter)
        assert f"### {chapter.title}" in page
        assert [each["standing"] for each in data["formulas"][0].values()] == [
            row.standing.name.lower() for row in chapter.formulas[0].found
        ]
        json.dumps(data, allow_nan=False)
    assert "| TrieHH Theorem 1 |" in page
    assert "| holds, 3.26 x | holds, 9.66 x | FAILS |" in page
    assert "epsilon is infinite at delta" in page


def test_people_read_it_on_80_columns() -> None:
    page = io.StringIO()
    print_ledger(ledger(), Console(file=page, width=80))
    assert max(len(line) for line in page.getvalue().splitlines()) <= 80
    assert "…" not in page.getvalue()  # nothing is cut off
    assert "conjecture, 1.03 x" in page.getvalue()
    assert "epsilon in [10.997, 10.998]" in page.getvalue()
    assert "HKR12 composition needs a total epsilon below 1, not 52.5652" in page.getvalue()


def test_the_command_answers_programs(capsys: pytest.CaptureFixture[str]) -> None:
    table("field", Format.json)
    chapters = json.loads(capsys.readouterr().out)["chapters"]
    assert [each["title"] for each in chapters] == [each.title for each in ledger()]
    assert any(math.isinf(float(each["settings"]["edge"]["low"])) for each in chapters)


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_ledger_is_listed_among_the_tables(form: str) -> None:
    assert "field" in run("table", "--format", form).stdout
    fails_in_one_line(run("table", "fields"), "triehh_table_1, field, got 'fields'")
