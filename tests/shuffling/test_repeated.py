"""Repeated shuffles, from both sides, against every pair of views of two runs."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import exp

import pytest

from ldpaudit.accountants import account
from ldpaudit.accountants.shuffling.plan import OneDataSet, ShuffleProfile
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.channel import Channel
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


def of(m: Mechanism, held: list[int]) -> oracle.Law:
    return oracle.shuffled(dict(m.law(x).items()) for x in held)


LONG = [pytest.param(2, 21, 2, 0.98, marks=pytest.mark.slow), pytest.param(2, 20, 3, 0.5, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("k", "users", "runs", "share"), [(3, 18, 2, 0.99), (4, 17, 1, 0), (2, 12, 3, 0.5), *LONG])
def test_a_repetition_is_between_a_data_set_that_occurs_and_a_bound(k: int, users: int, runs: int, share: float) -> None:
    """Of bits, every number of others may hold each; else they hold a third value."""
    m = KaryRandomizedResponse(k, Fraction(3, 4))
    held = [[2] * (users - 1)] if k > 2 else [[1] * t + [0] * (users - 1 - t) for t in range(users)]
    pairs = [(of(m, [0, *others]), of(m, [1, *others])) for others in held]
    found = account(Repeat(Shuffle(m, users), runs))
    for epsilon in (0.1, 0.4, 0.9):
        attained = max(delta(laws, runs, exp(epsilon)) for pair in pairs for laws in (pair, pair[::-1]))
        at = found.delta(epsilon)
        assert at.high >= attained * (1 - 1e-9)
        if runs > 1:
            assert at.low <= attained * (1 + 1e-9)
            assert at.low >= attained * share
            assert at.low > account(Shuffle(m, users)).delta(epsilon).low


def test_a_data_set_that_differs_with_the_inputs_exchanged_is_composed() -> None:
    """Of a channel all others hold one value: the lower end is of the best such data set, in its better order."""
    m, users = Channel([[Fraction(p, 10) for p in row] for row in ((6, 3, 1), (1, 2, 7), (1, 7, 2))]), 14
    found = account(Repeat(Shuffle(m, users), 2))
    pairs = [[of(m, [x] + [other] * (users - 1)) for x in pair] for pair in permutations(m.inputs, 2) for other in m.inputs]
    for epsilon in (0.3, 0.9):
        attained = max(delta((first, second), 2, exp(epsilon)) for first, second in pairs)
        assert attained * 0.99 <= found.delta(epsilon).low <= attained * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_many_runs_of_many_users_are_enclosed_closely(k: int) -> None:
    found = account(Repeat(Shuffle(KaryRandomizedResponse.for_epsilon(1, k), 3000), 30)).epsilon(1e-6)
    assert found.relative_width < 0.02


@pytest.mark.parametrize("k", [2, 3])
def test_a_data_set_that_is_composed_is_known_in_both_orders_of_the_inputs(k: int) -> None:
    """Of an even number of users no data set of bits looks the same with the inputs exchanged."""
    m, users = KaryRandomizedResponse(k, Fraction(3, 4)), 18
    profile = account(Shuffle(m, users))
    assert isinstance(profile, ShuffleProfile)
    found = [OneDataSet(value, profile.local).delta(0.3) for value in profile.bound.both_ways(0.3)]
    assert len(found) == (2 if k == 2 else 1)
    sets = [[x] * t + [y] * (users - 1 - t) for x, y in ((0, 1), (2 % k, 1)) for t in range(users)]
    pairs = [(of(m, [0, *others]), of(m, [1, *others])) for others in sets]
    truths = [(delta(pair, 1, exp(0.3)), delta(pair[::-1], 1, exp(0.3))) for pair in pairs]
    ends = found[0], found[-1]
    assert any(all(e.low * (1 - 1e-9) <= x <= e.high * (1 + 1e-9) for e, x in zip(ends, truth, strict=True)) for truth in truths)


@pytest.mark.parametrize("plan", [Shuffle(Guarantee(Fraction(1)), 20), Shuffle(KaryRandomizedResponse(3, Fraction(3, 4)), 9)])
def test_where_no_data_set_of_that_kind_is_known_one_run_is_the_lower_end(plan: Shuffle) -> None:
    once, twice = account(plan).delta(0.2), account(Repeat(plan, 2)).delta(0.2)
    assert twice.low == once.low
    assert twice.high > once.high
