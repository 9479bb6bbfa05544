"""A budget of time becomes one of trials, by the pace of the code itself."""

import math
from dataclasses import dataclass

import pytest

from ldpaudit.core.pace import MOST, seconds, trials_within, views_needed


@dataclass
class Clock:
    """Code that takes so long for an audit, for a trial and to load at first; what it has taken is the time."""

    audit: float
    trial: float
    load: float = 0.0
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def run(self, trials: int) -> None:
        self.now += self.load + self.audit + trials * self.trial
        self.load = 0.0


@pytest.mark.parametrize("trial", [1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize("audit", [0.0, 0.05, 1.0])
def test_a_time_is_spent_and_not_exceeded(trial: float, audit: float) -> None:
    clock = Clock(audit, trial)
    clock.run(trials_within(60, clock.run, 214, clock))
    assert 30 < clock.now < 60


@pytest.mark.parametrize("budget", [3, 6, 60])
def test_what_is_loaded_at_first_is_no_part_of_the_pace(budget: float) -> None:
    clock = Clock(0.01, 1e-6, load=0.7)
    clock.run(trials_within(budget, clock.run, 214, clock))
    assert budget / 3 < clock.now <= budget


@pytest.mark.parametrize(("trial", "trials"), [(1, 214), (0, MOST)])
def test_what_is_too_slow_has_the_smallest_audit_and_no_budget_is_endless(trial: float, trials: int) -> None:
    clock = Clock(0, trial)
    assert trials_within(60, clock.run, 214, clock) == trials


@pytest.mark.parametrize(("epsilon", "delta", "inputs"), [(1.0, 0.0, 2), (4.0, 0.0, 2), (2.0, 0.01, 2), (3.0, 0.0, 5)])
def test_a_claim_can_be_refuted_where_right_guesses_alone_refute_it(epsilon: float, delta: float, inputs: int) -> None:
    best = (math.exp(epsilon) + delta * (inputs - 1)) / (math.exp(epsilon) + inputs - 1)
    for trials in (1, 10, 100, 300, 1000, 10_000):
        assert (trials >= views_needed(inputs, epsilon, delta, 0.999)) == (best**trials <= 0.001)


def test_a_time_has_a_unit() -> None:
    assert [seconds(text) for text in ("60s", "1.5m", "2h")] == [60, 90, 7200]


@pytest.mark.parametrize("text", ["", "60", "s", "-1s", "1d", "0s", "1e3s", "60s "])
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="such as 60s"):
        seconds(text)
