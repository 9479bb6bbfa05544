"""A budget of time becomes one of trials, by the pace of the code itself."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ldpaudit.pace import MOST, seconds, trials_within


@dataclass
class Clock:
    """Code that takes so long for an audit and for a trial; what it has taken is the time."""

    audit: float
    trial: float
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def run(self, trials: int) -> None:
        self.now += self.audit + trials * self.trial


@pytest.mark.parametrize("trial", [1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize("audit", [0.0, 0.05, 1.0])
def test_a_time_is_spent_and_not_exceeded(trial: float, audit: float) -> None:
    clock = Clock(audit, trial)
    clock.run(trials_within(60, clock.run, 214, clock))
    assert 30 < clock.now < 60


def test_what_is_too_slow_has_the_smallest_audit() -> None:
    clock = Clock(0, 1)
    assert trials_within(60, clock.run, 214, clock) == 214


def test_no_budget_is_endless() -> None:
    clock = Clock(0, 0)
    assert trials_within(60, clock.run, 214, clock) == MOST


def test_a_time_has_a_unit() -> None:
    assert [seconds(text) for text in ("60s", "1.5m", "2h")] == [60, 90, 7200]


@pytest.mark.parametrize("text", ["", "60", "s", "-1s", "1d", "0s", "1e3s", "60s "])
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="such as 60s"):
        seconds(text)
