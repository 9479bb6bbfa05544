"""Deployments that answer epoch after epoch, within a budget per window and per lifetime."""

from __future__ import annotations

import pytest

from ldpaudit import account
from ldpaudit.deployment import load, loads
from ldpaudit.errors import DeploymentError
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


def test_a_window_needs_epochs_and_epochs_need_fresh_answers() -> None:
    text = FILE.read_text()
    start, end = text.index("[epochs]"), text.index("[[claims]]")
    with pytest.raises(DeploymentError, match=r"a claim per window needs a table \[epochs\]"):
        loads(text[:start] + text[end:])
    with pytest.raises(DeploymentError, match="needs fresh answers"):
        loads(text.replace("[epochs]", "[contribution]\nmemoized = true\n\n[epochs]"))
