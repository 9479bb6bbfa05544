"""Repeated shuffles, from both sides, against every pair of views of two runs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import pytest

from ldpaudit.accountants import account
from ldpaudit.accountants.shuffling.plan import OneDataSet, ShuffleProfile
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Guarantee, Repeat, Shuffle
from tests.oracles import shuffle as oracle


def delta(laws: tuple[oracle.Law, oracle.Law], runs: int, ratio: float) -> float:
    """Of this many runs on two data sets: float sums of exact probabilities."""
    found = [(float(p), float(laws[1][view])) for view, p in laws[0].items()]
    together = [(1.0, 1.0)]
    for _ in range(runs):
        together = [(p * a, q * b) for (p, q), (a, b) in product(together, found)]
    return sum(max(p - ratio * q, 0.0) for p, q in together)


def of(m: KaryRandomizedResponse, held: list[int]) -> oracle.Law:
    return oracle.shuffled(dict(m.law(x).items()) for x in held)


LONG = [pytest.param(2, 21, 2, 0.98, marks=pytest.mark.slow), pytest.param(2, 20, 3, 0.5, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("k", "users", "runs", "share"), [(3, 18, 2, 0.99), (4, 17, 1, 0), (2, 12, 3, 0.5), *LONG])
def test_a_repetition_is_between_a_data_set_that_occurs_and_a_bound(k: int, users: int, runs: int, share: float) -> None:
    """Of 20 users the data set's two directions differ, the more so the rarer the views; the lower end is of both."""
    m = KaryRandomizedResponse(k, Fraction(3, 4))
    others = [2] * (users - 1) if k > 2 else [1] * ((users - 1) // 2) + [0] * (users - 1 - (users - 1) // 2)
    laws = of(m, [0, *others]), of(m, [1, *others])
    found = account(Repeat(Shuffle(m, users), runs))
    for epsilon in (0.1, 0.4, 0.9):
        attained = delta(laws, runs, exp(epsilon))
        at = found.delta(epsilon)
        assert at.high >= attained * (1 - 1e-9)
        if runs > 1:
            assert at.low <= max(attained, delta((laws[1], laws[0]), runs, exp(epsilon))) * (1 + 1e-9)
            assert at.low >= attained * share
            assert at.low > account(Shuffle(m, users)).delta(epsilon).low


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_many_runs_of_many_users_are_enclosed_closely(k: int) -> None:
    found = account(Repeat(Shuffle(KaryRandomizedResponse.for_epsilon(1, k), 3000), 30)).epsilon(1e-6)
    assert found.relative_width < 0.02


def test_a_data_set_that_is_composed_is_the_same_with_the_inputs_exchanged() -> None:
    """Of an even number of others half hold each value; of an odd one the ball holds both directions."""
    for users in (20, 21):
        profile = account(Shuffle(KaryRandomizedResponse(2, Fraction(3, 4)), users))
        assert isinstance(profile, ShuffleProfile)
        value = profile.bound.exchangeable(0.3)
        assert value is not None
        at = OneDataSet(value, profile.local).delta(0.3)
        half = (users - 1) // 2
        m = KaryRandomizedResponse(2, Fraction(3, 4))
        first, second = (of(m, [x] + [1] * half + [0] * (users - 1 - half)) for x in (0, 1))
        for laws in ((first, second), (second, first)):
            assert at.low * (1 - 1e-9) <= delta(laws, 1, exp(0.3)) <= at.high * (1 + 1e-9)


@pytest.mark.parametrize("plan", [Shuffle(Guarantee(Fraction(1)), 20), Shuffle(KaryRandomizedResponse(3, Fraction(3, 4)), 9)])
def test_where_no_data_set_of_that_kind_is_known_one_run_is_the_lower_end(plan: Shuffle) -> None:
    once, twice = account(plan).delta(0.2), account(Repeat(plan, 2)).delta(0.2)
    assert twice.low == once.low
    assert twice.high > once.high
