"""Pages of the sources: every numbered statement has a row or a reason, tables lose nothing when judged, and pictures have data."""

import json
import math
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module

import pytest

from benchmarks.literature import without
from benchmarks.looseness import COMPOSITION, PICTURES, SHUFFLING, Line, draw, section
from ldpaudit.accountants import claims as room
from ldpaudit.accountants.claims import tables as certified
from ldpaudit.accountants.claims.sentence import Printed, Standing, rounding
from ldpaudit.accountants.claims.statements import STATEMENTS, Statement, gaps, named
from ldpaudit.accountants.limits import calculators
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms import stems
from ldpaudit.studies import literature, tables
from tests.claims.test_literature import rows_of
from tests.helpers import ROOT, run

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


@pytest.mark.parametrize(("rows", "complaint"), [
    (["HKR12 Theorem 1, proof"], ""),
    ([], "HKR12 Theorem 1 has neither"),
    (["HKR12 Theorem 1", "HKR12 Theorem 2"], "HKR12 Theorem 2 has a row, and a reason"),
    (["HKR12 Theorem 1", "HKR12 Lemma 3 (4)"], "HKR12 Lemma 3, HKR12 (4), which is no statement"),
    (["HKR12 Theorem 1", "HKR12 somewhere"], "HKR12 somewhere, which is no statement"),
])  # fmt: skip
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


@pytest.mark.parametrize(("low", "high", "standing", "agrees"), [
    (0.05, 0.09, Standing.HOLDS, False),
    (0.104, 0.1041, Standing.HOLDS, True),
    (0.105, 0.1059, Standing.HOLDS, True),
    (0.1055, 0.12, Standing.OPEN, False),
    (0.107, 0.12, Standing.FAILS, False),
])  # fmt: skip
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


FEW = {"shuffling-users": (1e3, 1e6), "shuffling-epsilon": (0.5, 5.0), "composition-runs": (1, 30, 1e5), "noise-users": (1e6,)}
"""Values of x that take little time."""
NAMES = {picture.name: picture for picture in PICTURES}


@cache
def lines_of(name: str) -> list[Line]:
    return NAMES[name].lines(FEW[name])


@pytest.mark.parametrize("name", [*list(FEW)[:3], pytest.param("noise-users", marks=pytest.mark.slow)])
def test_every_point_is_finite_and_no_formula_is_below_the_certified_value(name: str) -> None:
    lines = lines_of(name)
    for line in lines:
        assert line.points, line.name
        for x, y in line.points:
            assert x in FEW[name]
            assert 1 <= y < math.inf, line.name
    assert max(y for line in lines for _, y in line.points) > 2


def test_a_line_ends_where_a_hypothesis_does() -> None:
    ends = {line.name: line.points[-1][0] for line in lines_of("shuffling-epsilon")}
    assert ends == {name: 0.5 if name.startswith("EFMRTT19") else 5.0 for name in SHUFFLING}
    ends = {line.name: line.points[-1][0] for line in lines_of("composition-runs")}
    assert ends == {name: 30 if name.startswith("HKR12") else 1e5 for name in COMPOSITION}


def test_the_page_shows_every_picture_and_every_picture_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.looseness.ledger", tuple)  # no picture is of its formulas, which take long
    page = section()
    for picture in PICTURES:
        file = f"pictures/{picture.name}.png"
        assert f"]({file})" in page
        assert (ROOT / "docs" / file).read_bytes().startswith(b"\x89PNG")
        assert (ROOT / "docs" / file).stat().st_size < 100_000
    assert {p.stem for p in (ROOT / "docs" / "pictures").glob("*.png")} == set(NAMES)


def test_a_picture_is_the_same_bytes_each_time() -> None:
    def lines(grid: object) -> list[Line]:
        return [Line("a line", ((1.0, 2.0), (10.0, 3.0)))]

    small = replace(PICTURES[0], grid=(1.0, 10.0), lines=lines)
    drawn = draw(small)
    assert drawn == draw(small)
    assert drawn != draw(replace(small, up="something else"))
