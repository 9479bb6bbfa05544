"""Every numbered statement of the sources has a row, or a reason why it has none."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module

import pytest

from benchmarks.literature import without
from ldpaudit.accountants import claims as room
from ldpaudit.accountants.claims.statements import STATEMENTS, Statement, gaps, named
from ldpaudit.accountants.limits import calculators
from ldpaudit.mechanisms import stems
from ldpaudit.studies import literature
from tests.claims.test_literature import rows_of

MADE_UP = (Statement("HKR12 Theorem 1", "it has a row"), Statement("HKR12 Theorem 2", "it has none", "a definition"))


def simulated() -> list[str]:
    return [
        each.where
        for stem in literature.stems()
        for setting in literature.simulated(stem)
        for each in literature.accuracy(stem, setting)
    ]


def test_every_numbered_statement_has_a_row_or_a_reason_and_no_row_is_about_another() -> None:
    rows = [row.where for stem in literature.stems() for row in rows_of(stem)]
    assert list(gaps(STATEMENTS, [*rows, *simulated()])) == []


def test_every_file_that_judges_claims_is_of_a_source() -> None:
    files = {module.name for module in pkgutil.iter_modules(room.__path__)} & set(stems())
    judging = [stem for stem in files if hasattr(import_module(f"{room.__name__}.{stem}"), "printed")]
    assert sorted(judging) == literature.stems() == sorted({stem for several in room.STEMS.values() for stem in several})


def test_the_register_is_of_the_sources_and_names_nothing_twice() -> None:
    assert list(dict.fromkeys(each.paper for each in STATEMENTS)) == list(literature.PAPERS)
    assert len({each.where for each in STATEMENTS}) == len(STATEMENTS)
    assert all(named(each.where) == (each.where,) for each in STATEMENTS)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (["HKR12 Theorem 1, proof"], ""),
        ([], "HKR12 Theorem 1 has neither"),
        (["HKR12 Theorem 1", "HKR12 Theorem 2"], "HKR12 Theorem 2 has a row, and a reason"),
        (["HKR12 Theorem 1", "HKR12 Lemma 3 (4)"], "HKR12 Lemma 3, HKR12 (4), which is no statement"),
        (["HKR12 Theorem 1", "HKR12 somewhere"], "HKR12 somewhere, which is no statement"),
    ],
)
def test_what_does_not_fit_is_said(rows: list[str], complaint: str) -> None:
    said = list(gaps(MADE_UP, rows))
    assert len(said) == bool(complaint)
    assert all(complaint in each for each in said)


def test_a_reason_that_names_a_calculator_or_a_row_names_one_that_exists() -> None:
    known, limits = {each.where for each in STATEMENTS if not each.without}, calculators()
    reasons = " ".join(each.without for each in STATEMENTS)
    assert set(re.findall(r"`ldpaudit limit ([\w.]+)`?", reasons)) <= set(limits)
    assert set(re.findall(rf"`((?:{'|'.join(literature.PAPERS)}) [^`]+)`", reasons)) <= known


def test_the_page_lists_what_has_no_row_with_the_reason() -> None:
    page = without(row for stem in literature.stems() for row in rows_of(stem))
    assert "|  |" not in page
    assert all(f"| {each.where} | {each.says} | {each.without} |" in page for each in STATEMENTS if each.without)


def test_no_reason_says_that_a_system_is_missing_which_is_built() -> None:
    reasons = " ".join(each.without for each in STATEMENTS)
    assert "not built" not in reasons
    known = {*stems(), *calculators(), *(each.where for each in STATEMENTS)}
    named_in = {name for name in re.findall(r"`([a-z_]+)`", reasons) if "_" in name}
    assert named_in <= known
    assert "expander_sketch" in named_in
    assert "not public" not in reasons, "Sentiment140 is"
