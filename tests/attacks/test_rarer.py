"""Rare leaks: the last look spends a part of its level on events that few reports show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpaudit import audit
from ldpaudit.attacks import Execution
from ldpaudit.attacks.blackbox.choosing import NONE, SPENT, Candidate, Reports, _rarer, better, spend
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.attacks.blackbox.features import Score
from ldpaudit.attacks.blackbox.scores import NOTHING
from ldpaudit.attacks.blackbox.weights import clear_ratio
from ldpaudit.attacks.engine import play
from ldpaudit.attacks.engine.run import run
from ldpaudit.attacks.games.game import Narrower, Target
from ldpaudit.attacks.games.two_inputs import Prospect, ThresholdRule
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.workers.experiment import Experiment

BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
PROSPECT = Prospect(0.0, 0.05, 100_000, 1e-6)
ONE = ThresholdRule(1.0, -1.0)


def leaking(share: float) -> Callable[..., Any]:
    """Randomized response of epsilon 1 that reports its input in clear in this many of its reports."""

    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        return np.where(rng.random(size) < share, 10 + x, BINARY.sample(x, size, rng))

    return function


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_hundred_sightings_that_are_all_right_are_worth_two_nats(mode: Mode, seed: int) -> None:
    evidence = audit(leaking(2e-3), inputs=[0, 1], epsilon=1.0, trials=50_000, mode=mode, seed=seed)
    if mode is Mode.FIXED:
        assert evidence.epsilon_lower > 2
        assert evidence.guesses == evidence.right > 50
        assert evidence.event.startswith("rarer extremes")
    else:  # it stops as soon as the claim is refuted
        assert evidence.epsilon_lower > 1
        assert evidence.trials < 50_000
    assert evidence.p_value is not None
    assert evidence.p_value <= 0.05


def test_one_report_in_ten_thousand_is_found_in_a_million() -> None:
    evidence = audit(leaking(1e-4), inputs=[0, 1], epsilon=1.0, trials=1_000_000)
    assert evidence.refutes(1.0)
    assert evidence.trials < 500_000


def test_what_rarer_events_may_spend_is_a_part_of_the_last_look_and_all_looks_together_spend_the_level() -> None:
    rules = tuple(Narrower(ONE, share, "rare") for share in (0.1, 0.2))
    noise: Callable[..., NDArray[np.float64]] = lambda side, size, rng: rng.integers(-1, 2, (size, 3))  # noqa: E731
    target = Target((0, 1), "noise", noise, chosen=ONE, narrower=rules)
    for mode in Mode:
        job = play.Job(target, Experiment(1_000, mode=mode), share=0.9)
        state = play.measure(job, play.begin(job))
        shares = [look.share for look in (*job.looks(state), *job.narrow_looks(state))]
        assert sum(shares) == pytest.approx(0.9)
        assert len(state.narrower) == 2
        assert job.narrow_looks(replace(state, drawn=999)) == []


def test_each_narrower_rule_reads_its_own_column() -> None:
    def draw(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        seen = rng.random(size) < 0.1
        return np.stack([rng.choice([-1.0, 1.0], size), np.where(seen, 1.0 - 2 * side, 0.0), np.zeros(size)], axis=1)

    rules = tuple(Narrower(ONE, 0.1, event) for event in ("a rare one", "never"))
    for mode in Mode:
        found = run(Target((0, 1), "a coin", draw, chosen=ONE, narrower=rules), Experiment(2_000, mode=mode))
        assert found.event == "a rare one"
        assert found.guesses == found.right > 150
        assert found.epsilon_lower > 3


def test_no_share_is_spent_where_no_rarer_event_promises_more() -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.choice([-1.0, 1.0], 5_000, p=p) for p in ([0.27, 0.73], [0.73, 0.27]))
    assert better(first, second, 1.0, PROSPECT) == []
    first[:300], second[:200] = 3.0, 3.0  # three fifths of these are right
    assert better(first, second, 0.2, PROSPECT)
    assert not better(first, second, 1.0, PROSPECT)
    first[:300], second[:200] = 1.0, -1.0
    first[:10], second[:10] = 3.0, -3.0
    ((promise, rule),) = better(first, second, 1.0, PROSPECT)
    assert promise > 1.5
    assert rule == ThresholdRule(3.0, -3.0)
    for mode in Mode:
        assert sum(each.share for each in spend(NOTHING, [rule, ONE], mode).narrower) == pytest.approx(SPENT[mode])


def test_nothing_is_spent_on_what_the_luck_of_a_part_makes_of_a_score_with_one_value() -> None:
    x = np.array([0, 1]).repeat(1_000)
    reports = Reports([encode(x, 2_000, 0), encode(x, 2_000, 1)], 2_000)
    ratio = Score("a coin", {}, {})
    likes = np.where(np.arange(2_000) % 5, 1.0, 1.1)  # the like of one part is larger, and right more often
    first = np.where(np.arange(2_000) % 5 * (np.arange(2_000) % 3) == 0, likes, -1.0)
    for size in (1.0, 2.0):
        own: Any = lambda encoded, _, size=size: np.where(encoded[next(iter(encoded))].leaves[0], size, -size)  # noqa: E731
        likely = Candidate((0, 1), own, first, -first, refitted=True)
        chosen = Candidate((0, 1), ratio, np.sign(first), -np.sign(first))
        assert _rarer([likely], chosen, ONE, reports, PROSPECT, Mode.FIXED) == NONE


def test_two_sightings_of_two_count_and_what_a_coin_would_show_does_not() -> None:
    ratios = clear_ratio(np.array([2.0, 1.0, 5.0, 900.0, 0.0]), np.array([0.0, 0.0, 4.0, 600.0, 7.0]))
    assert ratios[[1, 2]].tolist() == [0, 0]
    assert ratios[[0, 3, 4]] == pytest.approx([math.log(5), math.log(900.5 / 600.5), -math.log(15)])


@pytest.mark.parametrize(("function", "trials"), [(leaking(2e-3), 50_000), (BINARY.sample, 20_000)])
def test_an_audit_of_rare_leaks_or_with_a_last_part_goes_on_from_its_checkpoint(
    function: Callable[..., Any], trials: int, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"inputs": [0, 1], "epsilon": 1.0, "trials": trials}
    alone = audit(function, **options)
    execution = Execution(checkpoint=tmp_path / "audit.json")
    assert [audit(function, execution=execution, **options) for _ in range(2)] == [alone, alone]
