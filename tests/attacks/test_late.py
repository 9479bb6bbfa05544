"""Code that behaves well at first, and rare leaks: the last views are learned from, and the last look spends on rarer events."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpaudit import audit
from ldpaudit.attacks import Execution
from ldpaudit.attacks.blackbox import late, learning
from ldpaudit.attacks.blackbox.choosing import NONE, SPENT, Candidate, Reports, _rarer, better, spend
from ldpaudit.attacks.blackbox.encoding import Encoded, encode
from ldpaudit.attacks.blackbox.features import Score
from ldpaudit.attacks.blackbox.learning import Learning
from ldpaudit.attacks.blackbox.scores import NOTHING
from ldpaudit.attacks.blackbox.target import target
from ldpaudit.attacks.blackbox.weights import clear_ratio
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import bound_of
from ldpaudit.attacks.engine import play
from ldpaudit.attacks.engine.run import run
from ldpaudit.attacks.games.game import Narrower, Target, Wager
from ldpaudit.attacks.games.two_inputs import Prospect, ThresholdRule
from ldpaudit.evidence import LEARNED_AGAIN, Mode
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.workers.experiment import Experiment
from tests.helpers import some

BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
TRIALS = 20_000


class Honest:
    """Reports fair coins in this many calls, and its input afterwards."""

    def __init__(self, calls: int) -> None:
        self.left, self.rng = calls, np.random.default_rng(3)

    def __call__(self, x: int) -> int:
        self.left -= 1
        return int(self.rng.integers(0, 2)) if self.left >= 0 else x


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_code_that_is_honest_in_its_first_calls_is_refuted_by_the_last(mode: Mode, share: float) -> None:
    evidence = audit(Honest(int(share * TRIALS)), inputs=[0, 1], epsilon=1.0, trials=TRIALS, mode=mode)
    assert evidence.epsilon_lower > 1
    assert evidence.event.startswith(late.LATE)
    assert evidence.trials == TRIALS
    assert bound_of(evidence) == evidence.epsilon_lower
    assert some(evidence.p_value) <= 0.05


def test_at_delta_above_0_a_known_event_is_looked_at_as_soon_as_its_stake_is_chosen() -> None:
    leak: Callable[..., Any] = lambda x, size, rng: np.full(size, x)  # noqa: E731
    assert audit(leak, inputs=[0, 1], epsilon=1.0, delta=1e-6, trials=1_000_000).trials < 1_000


def test_a_claim_that_is_refuted_before_ends_the_audit_before() -> None:
    leak = KaryRandomizedResponse.for_epsilon(2.0, k=2)
    assert audit(leak.sample, inputs=[0, 1], epsilon=1.0, trials=1_000_000).trials < late.late_views(1_000_000, 2)


class Salted:
    """Returns its input, salted; the salt is changed after this many calls and, where it is lost then, says nothing."""

    def __init__(self, calls: int, lost: bool = False) -> None:
        self.left, self.salts, self.lost = calls, (3, 9), lost

    def __call__(self, x: int) -> int:
        self.left -= 1
        if not self.left:
            self.salts = (5, 5) if self.lost else (17, 4)
        return self.salts[x]


LEARNED = {3_000: 460, 9_000: 1_331}
"""Calls in which audits of these many views have learned their event for the last time."""
CLAIMED = 5.0
"""Refuted by 640 right guesses, and by no fewer: more than an audit of 3,000 views sees while it learns."""


@pytest.mark.few(2)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("more", [0, 100])
def test_an_event_that_no_longer_fires_is_learned_again_and_the_tests_go_on(delta: float, more: int) -> None:
    evidence = audit(Salted(LEARNED[3_000] + more), inputs=[0, 1], epsilon=CLAIMED, delta=delta, trials=3_000)
    assert evidence.refutes(CLAIMED)
    assert LEARNED_AGAIN in evidence.event
    assert evidence.trials < 3_000
    assert evidence.guesses > LEARNED[3_000] - 50
    assert bound_of(evidence) == evidence.epsilon_lower
    assert evidence.seed is None


def test_in_a_fixed_sample_an_event_that_never_fires_is_learned_again() -> None:
    evidence = audit(Salted(LEARNED[9_000]), inputs=[0, 1], epsilon=1.0, trials=9_000, mode=Mode.FIXED)
    assert evidence.refutes(1.0)
    assert LEARNED_AGAIN in evidence.event
    assert evidence.trials <= 9_000
    assert bound_of(evidence) == evidence.epsilon_lower


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_no_event_fires_any_more_what_was_counted_before_stands_and_the_budget_is_spent(delta: float) -> None:
    evidence = audit(Salted(LEARNED[3_000], lost=True), inputs=[0, 1], epsilon=CLAIMED, delta=delta, trials=3_000)
    assert not evidence.refutes(CLAIMED)
    assert LEARNED_AGAIN in evidence.event
    assert (evidence.trials, evidence.guesses) == (3_000, evidence.right)
    assert evidence.guesses < LEARNED[3_000]


def test_where_no_event_fires_the_resolution_says_so() -> None:
    evidence = audit(Salted(LEARNED[9_000], lost=True), inputs=[0, 1], epsilon=1.0, trials=9_000, mode=Mode.FIXED)
    assert (evidence.guesses, evidence.epsilon_lower, evidence.trials) == (0, 0, 9_000)
    says = "no event was found that distinguishes the inputs, and what was learned before did not fire"
    assert evidence.resolution == f"{says}, so this says nothing about the code beyond these 9,000 views"


@pytest.mark.parametrize("delta", [0.0, 1e-2])
@pytest.mark.parametrize("leak", [0.0, 0.02, 0.3])
def test_all_tests_that_begin_while_a_score_is_learned_spend_the_level_once(delta: float, leak: float) -> None:
    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        return np.where(rng.random(size) < leak, 10 + x, BINARY.sample(x, size, rng))

    box = target(function, [0, 1], Experiment(8_000, 1 - 0.05, 0, delta, 1.0))
    assert sum(each.share for each in box.target.wagers) <= 1 + 1e-12
    job = play.Job(box.target, Experiment(box.remaining, 1 - 0.05, 0, delta, 1.0))
    assert sum(look.share for look in job.looks(play.begin(job))) == pytest.approx(1 - play.FINAL)
    assert all(each.counts.trials <= 8_000 - box.remaining for each in box.target.wagers)


@pytest.mark.parametrize("claim", [0.5, pytest.param(1.0, marks=pytest.mark.slow)])
def test_of_fifty_inputs_the_two_that_differ_are_found_in_a_tenth_of_the_views_that_all_of_them_would_take(claim: float) -> None:
    rates = dict.fromkeys(range(50), 0.5) | {3: 0.8, 4: 0.2}
    views = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        evidence = audit(lambda x, rng=rng: int(rng.random() < rates[x]), inputs=[*rates], epsilon=claim, seed=seed)
        assert evidence.refutes(claim)
        assert {3, 4} & set(evidence.pair)
        views.append(evidence.trials)
    assert sorted(views)[1] < 37_366 / 10


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_a_sound_function_of_four_inputs_is_audited_to_its_end_whichever_lead(seed: int) -> None:
    coins = random.Random(seed)
    response = lambda x: x if coins.random() < 0.5 else coins.choice([y for y in range(4) if y != x])  # noqa: E731
    evidence = audit(response, inputs=[0, 1, 2, 3], epsilon=1.5, trials=5_000, seed=seed)
    assert evidence.trials == 5_000
    assert evidence.epsilon_lower <= 1.5


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", Mode)
def test_no_view_is_drawn_twice_and_none_beyond_the_budget(mode: Mode) -> None:
    drawn: list[float] = []

    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        views = rng.random(size)
        drawn.extend(views.tolist())
        return views

    evidence = audit(function, inputs=[0, 1, 2], epsilon=1.0, trials=TRIALS, mode=mode)
    assert len(set(drawn)) == len(drawn) == evidence.trials == TRIALS


def test_the_last_part_is_small_and_is_left_out_where_it_would_be_too_small_to_learn_from() -> None:
    assert late.late_views(1_000_000, 2) == 15_000
    assert late.late_views(6_000, 2) == 0
    assert 0 < late.late_views(6_400, 2) <= 0.015 * 6_400
    assert late.late_views(6_400, 3) == 0
    assert late.late_views(1_000_000, 0) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", Mode)
def test_progress_is_told_from_the_first_reports_to_the_last_views_and_its_bound_never_falls_back(mode: Mode) -> None:
    told: list[tuple[int, float]] = []
    execution = Execution(progress=lambda drawn, bound: told.append((drawn, bound)))
    evidence = audit(BINARY.sample, inputs=[0, 1], epsilon=1.0, trials=TRIALS, mode=mode, execution=execution)
    views, bounds = zip(*told, strict=True)
    assert list(views) == sorted(views)
    assert views[0] < 0.16 * TRIALS
    assert bounds[0] == 0
    assert views[-1] == evidence.trials == TRIALS
    assert bounds[-1] > 0.8
    assert mode is Mode.SEQUENTIAL or bounds[-1] == evidence.epsilon_lower


@pytest.mark.slow
def test_a_test_that_goes_on_with_several_pairs_keeps_what_it_counted_on_each(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever is learned of noise on three inputs is bet on, and refutes nothing: another pair leads each time.
    monkeypatch.setattr(Learning, "_promises", lambda self, found: found and found.score is not NOTHING and not found.likely)
    monkeypatch.setattr(Learning, "_refutes", lambda self, wager: False)
    rng, pairs, counted, held = np.random.default_rng(4), set[tuple[int, int]](), learning._counted, list[int]()

    def kept(bet: Any, sides: Any) -> Any:
        after = counted(bet, sides)
        held.extend([bet.wager.counts.trials, after.wager.counts.trials] if bet.wager.share == before.share else [])
        return after

    def toss(pair: tuple[int, int], size: int) -> list[tuple[Encoded, int]]:
        pairs.add(pair)
        return [(encode(rng.random(size), size, x), size) for x in pair]

    monkeypatch.setattr(learning, "_counted", kept)
    before, asked = Wager(0.5, 2, (), Counts(40, 30, 100)), Experiment(20_000, epsilon=1.0)
    draw: Any = lambda places, size: [encode(rng.random(size), size, x) for x in places]  # noqa: E731
    made = Learning(draw, 3, 4_000, asked, False, lambda drawn: None, toss, wagers=(before,)).run()
    assert len(pairs) > 1
    assert [100, *sorted(held)] == [100, *held]
    assert made.wagers[0].counts.trials == held[-1] > 1_000


PROSPECT = Prospect(0.0, 0.05, 100_000, 1e-6)
ONE = ThresholdRule(1.0, -1.0)


def leaking(share: float, x: int, size: int, rng: np.random.Generator) -> Any:
    """Randomized response of epsilon 1 that reports its input in clear in this many of its reports."""
    return np.where(rng.random(size) < share, 10 + x, BINARY.sample(x, size, rng))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_hundred_sightings_that_are_all_right_are_worth_two_nats(mode: Mode, seed: int) -> None:
    evidence = audit(partial(leaking, 2e-3), inputs=[0, 1], epsilon=1.0, trials=50_000, mode=mode, seed=seed)
    if mode is Mode.FIXED:
        assert evidence.epsilon_lower > 2
        assert evidence.guesses == evidence.right > 50
        assert evidence.event.startswith("rarer extremes")
    else:  # it stops as soon as the claim is refuted
        assert evidence.epsilon_lower > 1
        assert evidence.trials < 50_000
    assert some(evidence.p_value) <= 0.05


@pytest.mark.slow
def test_one_report_in_ten_thousand_is_found_in_a_million() -> None:
    evidence = audit(partial(leaking, 1e-4), inputs=[0, 1], epsilon=1.0, trials=1_000_000)
    assert evidence.refutes(1.0)
    assert evidence.trials < 500_000


def test_what_rarer_events_may_spend_is_a_part_of_the_last_look_and_all_looks_together_spend_the_level() -> None:
    rules = tuple(Narrower(ONE, share, "rare") for share in (0.1, 0.2))
    noise: Callable[..., NDArray[np.float64]] = lambda side, size, rng: rng.integers(-1, 2, (size, 3))  # noqa: E731
    target = Target((0, 1), "noise", noise, chosen=ONE, narrower=rules)
    for mode in Mode:
        job = play.Job(target, Experiment(1_000, mode=mode), share=0.9)
        state = play.measure(job, play.begin(job))
        assert sum(look.share for look in (*job.looks(state), *job.narrow_looks(state))) == pytest.approx(0.9)
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


@pytest.mark.few(1)
@pytest.mark.parametrize(("function", "trials"), [(partial(leaking, 2e-3), 50_000), (BINARY.sample, 20_000)])
def test_an_audit_of_rare_leaks_or_with_a_last_part_goes_on_from_its_checkpoint(
    function: Callable[..., Any], trials: int, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"inputs": [0, 1], "epsilon": 1.0, "trials": trials}
    alone = audit(function, **options)
    execution = Execution(checkpoint=tmp_path / "audit.json")
    assert [audit(function, execution=execution, **options) for _ in range(2)] == [alone, alone]
