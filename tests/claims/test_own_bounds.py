"""Bounds of one's own stand beside the field's, and fail where the certified lower end is above them."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import metadata

import pytest

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.ledger import ledger
from ldpaudit.accountants.claims.published import published
from ldpaudit.accountants.claims.sentence import Provenance, Standing
from ldpaudit.errors import ImplementationError
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Plan, Repeat, Shuffle
from tests.helpers import fails_in_one_line, run

PLAN = Shuffle(KaryRandomizedResponse(2, Fraction(3, 4)), 100)
DELTA = Fraction(1, 1000)


def one(plan: Plan, delta: Fraction) -> float | None:
    """Shuffles, delta above 0: 1.

    And no more.
    """
    if not isinstance(plan, Shuffle):
        return None
    if not delta:
        raise ValueError("one needs delta > 0, got delta=0")
    return 1.0


def least(plan: Plan, delta: Fraction) -> float:
    return 1e-9


def broken(plan: Plan, delta: Fraction) -> float:
    raise KeyError("gone")


def test_a_bound_holds_or_fails_beside_what_is_certified() -> None:
    certified = account(PLAN).epsilon(DELTA)
    rows = {row.name: row for row in published(PLAN, DELTA, certified, bounds=(one, least))}
    assert rows["one"].standing is Standing.HOLDS
    assert (rows["one"].needs, rows["one"].provenance) == ("Shuffles, delta above 0: 1", Provenance.OWN)
    printed = rows["one"].printed
    assert printed is not None
    assert printed.claimed == 1
    assert (rows["least"].standing, rows["least"].source) == (Standing.FAILS, f"{__name__}.least")


def test_a_bound_of_other_plans_is_no_row_and_one_whose_hypothesis_is_not_met_says_which() -> None:
    repeated = Repeat(PLAN, 2)
    assert "one" not in {row.name for row in published(repeated, DELTA, account(repeated).epsilon(DELTA), bounds=(one,))}
    (row,) = (row for row in published(PLAN, Fraction(0), account(PLAN).epsilon(0), bounds=(one,)) if row.name == "one")
    assert (row.standing, row.unmet) == (Standing.OUTSIDE, "delta > 0, got delta=0")


def test_a_bound_that_raises_anything_else_is_named() -> None:
    with pytest.raises(ImplementationError, match="the bound broken raised KeyError: 'gone'"):
        published(PLAN, DELTA, account(PLAN).epsilon(DELTA), bounds=(broken,))


def test_bounds_of_packages_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [metadata.EntryPoint("theirs", f"{__name__}:least", "ldpaudit.bounds")]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "ldpaudit.bounds" else [])
    plan = ("account", "randomized_response", "k=2", "p=3/4", "--shuffle", "100", "--delta=1e-3", "--compare", "--format", "json")
    rows = json.loads(run(*plan, "--bound", f"{__name__}:one").stdout)["published"]
    assert {row["name"]: row["standing"] for row in rows if row["known"] == "by its function"} == {"least": "fails", "one": "holds"}
    points.append(metadata.EntryPoint("gone", "no.such:thing", "ldpaudit.bounds"))
    fails_in_one_line(run(*plan), "the bound gone needs no.such:thing: ModuleNotFoundError")


def test_a_bound_is_shown_beside_the_field_s_alone() -> None:
    fails_in_one_line(run("account", "laplace", "scale=1", "--bound", "a:b"), "account needs --compare with --bound")
    fails_in_one_line(run("table", "ggkpv-1", "--bound", "a:b"), "table needs field with --bound, got ggkpv-1")


@pytest.mark.slow
def test_the_ledger_has_bounds_that_are_about_all_settings_of_a_kind() -> None:
    chapters = {chapter.title: [each.stated.name for each in chapter.formulas] for chapter in ledger((one, least))}
    assert {"one", "least"} < {*chapters["Shuffling"]}
    assert "one" not in chapters["Composition"]
