"""The bound of a sequential audit as it tightened: what was known when, and that all of it holds together."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from ldpaudit import audit
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.e_process import EProcess
from ldpaudit.attacks.engine.play import FINAL
from ldpaudit.evidence import Look, Mode
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.helpers import some

BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
AUDITS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 1.0},
    "delta": {"epsilon": 1.0, "delta": 1e-3},
    "refuted": {"epsilon": 0.8},
    "nothing claimed": {},
}


def looks(**options: Any) -> tuple[Look, ...]:
    return some(audit(BINARY, **{"trials": 20_000, **options}).trajectory).looks


def test_the_bounds_of_all_looks_hold_together() -> None:
    # With the exact bound of a fixed sample at every look, 23 of these audits exceed epsilon at one of them, and 18 may.
    runs, alpha, true = 60, 0.3, 0.85
    code = KaryRandomizedResponse.for_epsilon(true, k=2)
    found = [looks(implementation=code, trials=400, confidence=1 - alpha, seed=seed) for seed in range(runs)]
    assert sum(any(look.epsilon_lower > true for look in each) for each in found) <= runs * alpha
    assert all(any(look.epsilon_lower > 0 for look in each) for each in found)


@pytest.mark.parametrize("name", AUDITS)
def test_each_look_says_what_the_any_time_test_says_of_its_counts_alone_and_the_last_is_where_the_audit_ended(name: str) -> None:
    evidence = audit(BINARY, trials=20_000, **AUDITS[name])
    found = some(evidence.trajectory)
    assert found.level == 1 - FINAL
    share, alpha = evidence.delta * found.directions / evidence.inputs, found.level * (1 - evidence.confidence)
    test = EProcess(evidence.inputs, share, alpha, found.tuning)
    for look in found.looks:
        counts = Counts(look.right, look.guesses - look.right, look.measured)
        assert look.epsilon_lower == test.epsilon_lower(counts)
        assert not look.epsilon_lower or test.refutes(counts, look.epsilon_lower)
        assert not test.refutes(counts, look.epsilon_lower * (1 + 1e-8) + 1e-8)
    last = found.looks[-1]
    assert 3 <= len(found.looks) <= 30
    assert all(2 * after.trials >= 3 * before.trials for before, after in pairwise(found.looks[:-1]))
    assert last.trials == evidence.trials
    if evidence.mode is Mode.SEQUENTIAL:
        ended = evidence.measured, evidence.guesses, evidence.right, evidence.epsilon_lower
        assert (last.measured, last.guesses, last.right, last.epsilon_lower) == ended


def test_a_fixed_sample_is_looked_at_once_and_has_no_bounds_before() -> None:
    assert audit(BINARY, trials=1_000, mode=Mode.FIXED).trajectory is None


def test_the_views_that_a_score_was_learned_from_are_counted_as_drawn() -> None:
    evidence = audit(BINARY.sample, inputs=[0, 1], epsilon=1.0, trials=20_000)
    assert evidence.trajectory is not None
    first, *_, last = evidence.trajectory.looks
    assert first.trials > first.measured + 1_000
    assert last.trials <= evidence.trials
    assert evidence.trajectory.after(5).looks[-1] == replace(last, trials=last.trials + 5)
