"""What is true is refuted no more often than stated, in every mode and wherever one may stop; few runs, fixed seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import level
from benchmarks.level import Case, cases, most

RUNS = 50
FEW = 20
"""Runs in which a function is learned from, which takes ten times as long; the nightly check does them all."""
MANY = 2_000
EVERY_VIEW = [case for case in cases() if "every view" in case.name]
CASES = [case for case in cases() if "every view" not in case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_true_claim_is_refuted_no_more_often_than_stated(case: Case) -> None:
    fewer = {"last views": RUNS // 5, "learned again": RUNS // 10, "a function": FEW, "delta": RUNS // 2}
    runs = next((runs for words, runs in fewer.items() if words in case.name), RUNS)
    assert case.count(0, runs) <= most(runs) * runs


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_nor_over_more_runs(case: Case) -> None:
    assert case.count(1000, 4 * RUNS) <= most(4 * RUNS) * 4 * RUNS


@pytest.mark.parametrize("case", EVERY_VIEW, ids=lambda c: c.name)
def test_nor_where_the_audit_may_stop_after_every_view(case: Case) -> None:
    refuted = case.count(0, MANY)
    assert MANY / 1000 <= refuted <= most(MANY) * MANY


def test_runs_may_be_done_a_few_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, parts, names = tmp_path / "whole.json", tmp_path / "parts.json", ["unary encoding, a look"]
    level.main(whole, 700, names)
    for runs in (100, 400, 700):
        level.main(parts, runs, names)
    assert json.loads(whole.read_text()) == json.loads(parts.read_text())
    assert "TOO MANY" not in capsys.readouterr().out
