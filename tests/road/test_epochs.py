"""Deployments that answer epoch after epoch, within a budget per window and per lifetime."""

from __future__ import annotations

import math

import pytest

from ldpaudit import account
from ldpaudit.errors import DeploymentError
from ldpaudit.files.deployment import load, loads
from ldpaudit.neighbours import SAME_PATTERN
from tests.helpers import ROOT

FILE = ROOT / "deployments" / "epochs-budget.toml"


def test_a_window_and_a_lifetime_cost_the_answers_that_their_budgets_admit() -> None:
    claims = {claim.id: account(claim.plan).epsilon(0).high for claim in load(FILE).claims}
    assert claims == pytest.approx({"report": 0.1, "window": 1.0, "lifetime": 6.0}, abs=1e-9)


@pytest.mark.parametrize(("old", "new", "window", "lifetime"), [
    ("window_answers = 10", "window_answers = 40", 3.0, 6.0), ("lifetime_answers = 60", "lifetime_answers = 500", 1.0, 12.5),
    ("count = 365", "count = 4", 0.4, 0.4), ("lifetime_answers = 60", "lifetime_answers = 7", 0.7, 0.7),
    ("count = 365", "count = 35", 1.0, 1.5), ("count = 365", "count = 55", 1.0, 2.0),
])  # fmt: skip
def test_no_answer_is_counted_that_cannot_come(old: str, new: str, window: float, lifetime: float) -> None:
    claims = {claim.id: account(claim.plan).epsilon(0).high for claim in loads(FILE.read_text().replace(old, new)).claims}
    assert (claims["window"], claims["lifetime"]) == pytest.approx((window, lifetime), abs=1e-9)


def test_a_window_needs_epochs() -> None:
    text = FILE.read_text()
    start, end = text.index("[epochs]"), text.index("[[claims]]")
    with pytest.raises(DeploymentError, match=r"a claim per window needs a table \[epochs\]"):
        loads(text[:start] + text[end:])


KEPT = FILE.with_name("epochs-memoized.toml")


def test_kept_answers_cost_their_budget_of_values_where_values_repeat_alike_and_elsewhere_no_epsilon_is_enough() -> None:
    costs = {claim.id: account(claim.plan, claim.neighbours).epsilon(0).high for claim in load(KEPT).claims}
    expected = {"report": 0.5, "window-same-pattern": 1.5, "lifetime-same-pattern": 1.5, "lifetime": math.inf}
    assert costs == pytest.approx(expected)


@pytest.mark.parametrize(("old", "new", "values"), [
    ("values = 3", "values = 300", (8, 8)), ("values = 3\n", "", (8, 8)), ("window_answers = 10", "window_answers = 2", (2, 3)),
    ("lifetime_answers = 60", "lifetime_answers = 1", (1, 1)),
    ("memoized = true", "memoized = true\nreports = 2", (3, 3)),
])  # fmt: skip
def test_no_more_values_are_kept_than_answers_and_values_there_are(old: str, new: str, values: tuple[int, int]) -> None:
    claims = {claim.id: claim for claim in loads(KEPT.read_text().replace(old, new)).claims}
    found = [account(claims[f"{unit}-same-pattern"].plan, SAME_PATTERN).epsilon(0).high for unit in ("window", "lifetime")]
    assert found == pytest.approx([value / 2 for value in values])


def test_a_claim_about_kept_answers_that_names_no_relation_is_about_any_two_streams() -> None:
    text = KEPT.read_text().replace('neighbours = "same-pattern"\n', "")
    assert [str(claim.neighbours) for claim in loads(text).claims] == ["replace-one"] + ["user-level"] * 3


ANSWERED = 'kind = "randomized_response"\nepsilon = "1/2"\nk = 8'
BIT = 'kind = "memoized_bit"\nepochs = 1\nf = "1/2"\np = "1/2"\nq = "3/4"'


@pytest.mark.parametrize(("mechanism", "budget", "whole"), [
    (f"{BIT}\n[contribution]\nreports = 2", "", "MemoizedBit(epochs=120, f=1/2, p=1/2, q=3/4)"),
    ('kind = "one_bit"\nvariant = "dbitflip"\nk = 8\nd = 2\np = "3/4"', "values = 3\n",
     "MemoizedDBitFlip(epochs=60, k=8, d=2, p=3/4, values=3)"),
])  # fmt: skip
def test_other_clients_that_keep_what_they_drew_are_named_too(mechanism: str, budget: str, whole: str) -> None:
    text = KEPT.read_text().replace(ANSWERED, mechanism).replace("values = 3\n", budget)
    text = text.replace("reports = 2\n\n[contribution]", "reports = 2")
    (claim,) = (claim for claim in loads(text).claims if claim.id == "lifetime")
    assert str(claim.plan) == whole


REPORT = """\
schema = "ldpaudit.deployment/1"
id = "ours"
[mechanism]
{mechanism}
[contribution]
memoized = true
{epochs}
[[claims]]
id = "report"
epsilon = 2
"""
KEEPS = 'kind = "rappor"\nbits = 8\nhashes = 2\nf = "1/2"\np = "1/4"\nq = "3/4"'
BUDGET = "[epochs]\ncount = 9\nwindow = 3\nwindow_answers = 2\nlifetime_answers = 4"


@pytest.mark.parametrize(("mechanism", "epochs", "says"), [
    (KEEPS, "", ""),
    (ANSWERED, BUDGET, ""),
    (ANSWERED, "", r"contribution\.memoized: memoized = true needs a mechanism that memoizes, or a table \[epochs\]"),
    ('kind = "laplace"\nepsilon = 1\nlow = 0\nhigh = 1', "", "needs a mechanism that memoizes"),
    ('kind = "rappor"\nvariant = "permanent"\nbits = 8\nhashes = 2\nf = "1/2"', "", "memoizes, .* got PermanentRappor"),
    (KEEPS, BUDGET, r"contribution\.memoized: memoized = true beside \[epochs\]: Rappor"),
])  # fmt: skip
def test_a_client_that_is_said_to_keep_answers_is_one_that_does_though_only_one_report_is_claimed(
    mechanism: str, epochs: str, says: str
) -> None:
    text = REPORT.format(mechanism=mechanism, epochs=epochs)
    if says:
        with pytest.raises(DeploymentError, match=says):
            loads(text)
        return
    fresh = loads(text.replace("memoized = true", "").replace(epochs, ""))
    assert loads(text).claims == fresh.claims


@pytest.mark.parametrize(("old", "new", "says"), [
    ("[contribution]\nmemoized = true", "", "the key `values` needs memoized = true"),
    (ANSWERED, ANSWERED.replace("randomized_response", "subset_selection"), "over epochs are analysed only for memoized"),
    (ANSWERED, BIT, "without a budget of values"),
    (ANSWERED, 'kind = "guarantee"\nepsilon = "1/2"', "needs a mechanism that memoizes"),
    ("values = 3", "values = 0", "epochs.values"),
])  # fmt: skip
def test_what_is_not_known_memoized_is_refused(old: str, new: str, says: str) -> None:
    text = KEPT.read_text()
    assert old in text
    with pytest.raises(DeploymentError, match=says):
        loads(text.replace(old, new))
