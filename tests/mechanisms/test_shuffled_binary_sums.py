"""Labelled binary sums: one pair of counts, one message and a few more per user, any number of users."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from ldpaudit import account, audit
from ldpaudit.accountants.counting.count_min import worst_replaced
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.accountants.shuffled_binary_sums import expected_error, expected_error_bound, failure, for_privacy
from ldpaudit.accountants.shuffling.hidden_message import HiddenTuple, Seen
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.neighbours import ADD_REMOVE
from tests.oracles.shuffle import divergence

F = Fraction
SMALL = ShuffledBinarySums(users=3, values=3, gamma=F(1, 3))
SETTINGS = [
    (10**6, 10**4, F(1), F(1, 10**9), 72.17, 1.72, 41.0),
    pytest.param(10**8, 10**6, F(1), F(1, 10**10), 82.27, 1.82, 53.5, marks=pytest.mark.slow),
    pytest.param(10**5, 10**3, F(1, 2), F(1, 10**8), 204.7, 3.05, 58.3, marks=pytest.mark.slow),
]
"""users, values, epsilon, delta; the mean of a blanket, messages per user, expected error: as a coarser accountant found them."""


def messages(m: ShuffledBinarySums, data: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Law of the multiset of all messages, user by user and label by label."""
    found = {(0,) * m.values: F(1)}
    for x in data:
        for label in range(m.values):
            grown: dict[tuple[int, ...], Fraction] = {}
            for counts, weight in found.items():
                for coin, p in ((1, m.gamma), (0, 1 - m.gamma)):
                    seen = tuple(c + (coin + (x == label)) * (i == label) for i, c in enumerate(counts))
                    grown[seen] = grown.get(seen, F(0)) + weight * p
            found = grown
    return found


@pytest.mark.parametrize("m", [SMALL, ShuffledBinarySums(2, 2, F(1, 4)), ShuffledBinarySums(1, 3, F(1, 2))], ids=str)
def test_whatever_the_others_hold_the_shuffled_messages_cost_what_the_accountant_says(m: ShuffledBinarySums) -> None:
    profile = account(m)
    for ratio in (F(1), F(3, 2), F(2), F(5)):
        found = {
            divergence(messages(m, (0, *others)), messages(m, (1, *others)), ratio)
            for others in product(range(m.values), repeat=m.users - 1)
        }
        assert len(found) == 1
        delta = profile.delta(math.log(ratio))
        assert delta.low * (1 - 1e-12) <= found.pop() <= delta.high * (1 + 1e-12)


@pytest.mark.parametrize(("users", "values", "epsilon", "delta", "mean", "sent", "error"), SETTINGS)
def test_the_least_blanket_is_certified_and_the_next_thinner_one_is_not(
    users: int, values: int, epsilon: Fraction, delta: Fraction, mean: float, sent: float, error: float
) -> None:
    m = for_privacy(epsilon, delta, users, values)
    assert m.gamma * users == pytest.approx(mean, rel=5e-3)
    assert m.gamma * users < mean
    assert account(m).delta(epsilon).high <= delta < account(replace(m, gamma=m.gamma * F(9999, 10**4))).delta(epsilon).high
    assert float(m.expected_messages) == pytest.approx(sent, rel=5e-3)
    assert expected_error_bound(m).high == pytest.approx(error, rel=5e-3)
    assert 0.8 * error < expected_error(m).high < 0.9 * error


def test_a_pair_of_counts_is_a_hidden_tuple_where_messages_are_rare() -> None:
    users, delta = 10**8, F(1, 10**9)
    m = ShuffledBinarySums(users, 2, F(7206, 100 * users))
    tuples = HiddenTuple(users - 1, m.gamma, Seen.ALL, "one message among random ones")
    assert account(m).epsilon(delta).low == pytest.approx(tuples.epsilon(delta).low, abs=1e-5) == pytest.approx(1, abs=1e-4)


def test_it_is_a_row_of_count_min_without_collisions() -> None:
    m = ShuffledBinarySums(10**4, 100, F(1, 100))
    assert account(m).epsilon(F(1, 10**6)) == worst_replaced(m.users, m.gamma, 1, 1).epsilon(F(1, 10**6))


def test_a_user_more_or_less_costs_what_enumeration_says() -> None:
    profile = account(SMALL, ADD_REMOVE)
    oracle = FiniteProfile(both_directions(law_atoms(SMALL.law(0), SMALL.law(None))), "enumeration")
    for epsilon in (0.0, 0.5, 2.0):
        ours, truth = profile.delta(epsilon), oracle.delta(epsilon)
        assert ours.low <= truth.high
        assert truth.low <= ours.high
    wide = ShuffledBinarySums(60, values=40, gamma=F(1, 10))
    found = audit(wide, neighbours=ADD_REMOVE, delta=0.01, epsilon=1.0, trials=100_000, seed=3)
    exact = account(wide, ADD_REMOVE).epsilon(0.01)
    assert found.pair == (0, None)
    assert 0.7 * exact.low < found.epsilon_lower < exact.high


def test_a_view_of_many_labels_shows_two_and_the_total_of_the_others() -> None:
    m = ShuffledBinarySums(50, values=17, gamma=F(1, 5))
    assert (m.shown, SMALL.shown) == (2, 3)
    for x, means in ((0, (11, 10, 150)), (5, (10, 10, 151)), (None, (9.8, 9.8, 147))):
        views = m.sample(x, 40_000, np.random.default_rng(1))
        assert views.mean(axis=0) == pytest.approx(means, abs=0.2)


def test_a_run_has_the_law_of_the_counts_of_all_messages() -> None:
    data, rng = (0, 0, 2), np.random.default_rng(5)
    law = messages(SMALL, data)
    runs = np.array([SMALL.run(data, rng) for _ in range(20_000)]) + float(SMALL.expected_noise)
    for label in range(3):
        marginal = [float(sum((p for counts, p in law.items() if counts[label] == c), F(0))) for c in range(7)]
        seen = np.bincount(np.rint(runs[:, label]).astype(int), minlength=7)
        kept = [c for c in range(7) if marginal[c]]
        assert seen[kept].sum() == seen.sum() == 20_000
        assert stats.chisquare(seen[kept], np.array(marginal)[kept] * 20_000).pvalue > 1e-6


def test_a_hundred_million_users_cost_what_their_counts_cost() -> None:
    m = ShuffledBinarySums(10**8, values=10**4, gamma=F(72, 10**8))
    found = m.run_on_counts({0: 10**8 - 5000, 9999: 5000}, np.random.default_rng(0))
    off = np.abs(found - np.eye(1, 10**4)[0] * (10**8 - 5000) - 5000 * np.eye(1, 10**4, 9999)[0])
    assert 25 < off.max() < 60
    assert failure(m, 60).high < 1e-6
    assert failure(m, 25).low > 0.99


def test_how_likely_any_error_is_and_its_mean_are_those_of_simulated_noise() -> None:
    m = ShuffledBinarySums(500, values=30, gamma=F(1, 25))
    rng = np.random.default_rng(2)
    off = np.array([np.abs(m.run_on_counts({3: 500}, rng) - 500 * np.eye(1, 30, 3)[0]).max() for _ in range(4000)])
    assert expected_error(m).low == pytest.approx(off.mean(), rel=0.01)
    assert failure(m, 10).low == pytest.approx(np.mean(off > 10), abs=0.03)
    assert expected_error(m).high < expected_error_bound(m).high


def test_what_it_cannot_do_it_says_in_a_line() -> None:
    rng = np.random.default_rng(0)
    for parameters in ((0, 2, F(1, 2)), (5, 1, F(1, 2)), (5, 2, F(1)), (5, 2, F(0))):
        with pytest.raises(ValueError, match="ShuffledBinarySums needs"):
            ShuffledBinarySums(*parameters)
    with pytest.raises(ValueError, match="needs an input among"):
        SMALL.run([0, 7, 1], rng)
    with pytest.raises(ValueError, match="at least one user"):
        SMALL.run([], rng)
    with pytest.raises(Unsupported, match=r"2\*\*63 coins"):
        ShuffledBinarySums(1 << 60, 1 << 20, F(1, 2)).sample(0, 1, rng)
    with pytest.raises(ValueError, match="gamma = 1/2 does not keep it"):
        for_privacy(F(1, 100), F(1, 10**9), 100, 4)
    with pytest.raises(ValueError, match="epsilon > 0 and delta > 0"):
        for_privacy(1, 0, 100, 4)
