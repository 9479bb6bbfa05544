"""What is true is refuted no more often than stated, in every mode and wherever one may stop; few runs, fixed seeds."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from benchmarks import level
from benchmarks.level import CONFIDENCE, Case, cases, most
from ldpaudit import audit
from ldpaudit.attacks import Reading
from ldpaudit.evidence import Form
from ldpaudit.workers.experiment import AS_RETURNED
from tests.attacks.test_blackbox import bits, coin
from tests.attacks.test_reports import of_length
from tests.attacks.test_tokens import TRUTH, records, two_places

RUNS = 30
FEW = 12
"""Runs in which a function is learned from, which takes ten times as long; the nightly check does them all."""
CHANCE = 0.025
"""Probability, at most, that a case of the stated level is refuted more often than `limit` allows."""
MANY = 2_000
EVERY_VIEW = [case for case in cases() if "every view" in case.name]
CASES = [case for case in cases() if "every view" not in case.name]
LONG = {
    "binary response, a look at every view", "a function, binary response, sequential", "a function, noise alone, sequential",
    "a function at delta 0.1, sequential", "a function, its event learned again, sequential",
    "unary encoding, a look at every view",
    "to the last views, noise alone, sequential", "to the last views, 5-ary response, sequential",
}  # fmt: skip
"""The cases that take longest, beside which there is another one of their mode."""


def limit(runs: int) -> int:
    """Refutations of a true claim among so many runs that are exceeded with probability `CHANCE` at most."""
    return int(stats.binom.isf(CHANCE, runs, 1 - CONFIDENCE))


def shorter(several: list[Case]) -> list[Any]:
    return [pytest.param(case, id=case.name, marks=[pytest.mark.slow] * (case.name in LONG)) for case in several]


@pytest.mark.few(9)
@pytest.mark.parametrize("case", shorter(CASES))
def test_a_true_claim_is_refuted_no_more_often_than_stated(case: Case) -> None:
    fewer = {"last views": 5, "learned again": 5, "a function": FEW, "delta": FEW}
    runs = next((runs for words, runs in fewer.items() if words in case.name), RUNS)
    assert case.count(0, runs) <= limit(runs)


@pytest.mark.parametrize("case", shorter(EVERY_VIEW))
def test_nor_where_the_audit_may_stop_after_every_view(case: Case) -> None:
    assert MANY / 1000 <= case.count(0, MANY) <= most(MANY) * MANY


@dataclass(frozen=True)
class Sound:
    """A function of a true claim, as a seed makes it, and how it is audited."""

    make: Callable[[int], Callable[..., Any]]
    epsilon: float = 1.0
    trials: int = 600
    reading: Reading = AS_RETURNED
    inputs: tuple[int, ...] = (0, 1)
    runs: int = FEW


def noisy(*shape: int) -> Sound:
    return Sound(lambda _: lambda x, size, rng: rng.normal(size=(size, *shape)), 0.0)


def alike(low: int, high: int) -> Callable[[int], Any]:
    """Lists whose length varies, and says nothing."""
    report = of_length(low, high, lambda row: row.tolist())
    return lambda x: report(0)


SOUND: dict[str, Sound] = {
    "randomized response": Sound(coin),
    "a constant": Sound(lambda _: lambda x: "the same", 0.0, inputs=(0, 1, 2)),
    "noise alone": noisy(),
    "bits": Sound(lambda seed: bits(seed, 8), inputs=(0, 3)),
    "many noises": noisy(4),
    "many noises and a classifier": replace(noisy(3), trials=1_500, reading=Reading(learned=True), runs=5),
    "lists of about a hundred numbers": Sound(lambda _: alike(70, 120), 0.0, 300, runs=4),
    "lists of 500 to 1,000 numbers": Sound(lambda _: alike(500, 1_000), 0.0, 300, runs=4),
    "two of forty bits together": Sound(lambda _: partial(two_places, 2, 40, TRUTH), trials=1_000, runs=8),
    "objects of any form": Sound(lambda _: partial(records, TRUTH), trials=1_000, runs=8),
    **{
        f"{form} reports of {users}": Sound(lambda _: level.TINY.sample, reading=Reading(form, users))
        for form in Form for users in (1, 2)
    },
}  # fmt: skip
FEW_KINDS = ("randomized response", "noise alone", "many noises and a classifier", "canonical reports of 1")


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [kind if kind in FEW_KINDS else pytest.param(kind, marks=pytest.mark.slow) for kind in SOUND])
def test_a_sound_function_is_refuted_no_more_often_than_stated(kind: str) -> None:
    s = SOUND[kind]
    if s.reading.learned:
        pytest.importorskip("sklearn")
    options: dict[str, Any] = {"inputs": s.inputs, "epsilon": s.epsilon, "trials": s.trials, "reading": s.reading}
    refuted = sum(audit(s.make(seed), seed=seed, **options).epsilon_lower > s.epsilon for seed in range(s.runs))
    assert refuted <= limit(s.runs)


@pytest.mark.slow
def test_runs_may_be_done_a_few_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, parts, names = tmp_path / "whole.json", tmp_path / "parts.json", ["unary encoding, a look"]
    level.main(whole, 700, names)
    for runs in (100, 400, 700):
        level.main(parts, runs, names)
    assert json.loads(whole.read_text()) == json.loads(parts.read_text())
    assert "TOO MANY" not in capsys.readouterr().out
