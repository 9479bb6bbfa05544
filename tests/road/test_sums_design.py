"""Who adds noise to a sum: certified, ordered by the error, and with about the fewest users for an error."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from ldpaudit import Aggregate, account
from ldpaudit.plan import Run
from ldpaudit.studies.design import Goal
from ldpaudit.studies.frequencies import Noisy, least_noise, least_users

GOAL = Goal(Fraction(1), Fraction(1, 1000))
RUNS, SURE = 2000, 5
"""A standard deviation of so many runs is within 5 of its standard errors, but once in a million."""


@pytest.fixture(scope="module")
def found() -> tuple[Noisy, ...]:
    return least_noise(GOAL, 400, 3)


def test_every_way_keeps_the_goal_with_hardly_any_room_and_the_least_error_comes_first(
    found: tuple[Noisy, ...],
) -> None:
    assert len(found) == 4
    for each in found:
        kept = account(each.plan)
        assert kept.delta(GOAL.epsilon).high <= GOAL.delta
        assert 0.99 < kept.epsilon(GOAL.delta).high <= 1
    assert all(a.error.high <= b.error.high for a, b in pairwise(found))
    assert [each.parties for each in found if isinstance(each.plan, Run)] == [2, 2, 2]


def test_the_error_is_that_of_estimates_that_are_drawn(found: tuple[Noisy, ...]) -> None:
    (clients,) = (each for each in found if not each.parties)
    (laplace,) = (each for each in found if str(each.plan).startswith("DiscreteLaplace"))
    assert isinstance(clients.plan, Aggregate)
    assert isinstance(laplace.plan, Run)
    rng, data = np.random.default_rng(4), {0: 400}
    drawn = np.array([clients.plan.run(data, rng) for _ in range(RUNS)]).std(axis=0)
    m = laplace.plan.mechanism
    noise = np.std(m.noise(RUNS, rng) + m.noise(RUNS, rng))  # type: ignore[attr-defined]
    assert np.all(np.abs(drawn / clients.error.high - 1) < SURE / math.sqrt(2 * RUNS))
    assert abs(noise / laplace.error.high - 1) < SURE * math.sqrt(5 / (4 * RUNS)), "its kurtosis is 6 at most"


def test_one_aggregator_alone_adds_the_root_of_half() -> None:
    one, two = (least_noise(GOAL, 400, 3, aggregators) for aggregators in (1, 2))
    errors = [{str(each.plan): each.error.high for each in ways if each.parties} for ways in (one, two)]
    assert errors[1] == pytest.approx({plan: math.sqrt(2) * error for plan, error in errors[0].items()})


def test_about_the_fewest_users_have_the_error_that_is_asked_for() -> None:
    share = Fraction(1, 20)
    for each in least_users(GOAL, share, 3):
        assert each.error.high <= share * each.users
        assert each.error.high > share * (each.users - 1) * Fraction(99, 100)
        assert account(each.plan).delta(GOAL.epsilon).high <= GOAL.delta


@pytest.mark.parametrize(
    ("goal", "users", "values", "aggregators"),
    [
        (Goal(Fraction(0), Fraction(1, 9)), 9, 4, 2),
        (Goal(Fraction(1)), 9, 4, 2),
        (GOAL, 1, 4, 2),
        (GOAL, 9, 1, 2),
        (GOAL, 9, 4, 0),
    ],
)
def test_what_is_no_question_is_refused(goal: Goal, users: int, values: int, aggregators: int) -> None:
    with pytest.raises(ValueError, match="sums need"):
        least_noise(goal, users, values, aggregators)
    with pytest.raises(ValueError, match="sums need an error"):
        least_users(GOAL, Fraction(1), 4)
