"""Sets of queries and quantiles over oracles of Hadamard response: cost against all multisets, loss, rank and error."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit import account
from ldpaudit.accountants.claims import sparse_statistical_queries as claims
from ldpaudit.accountants.claims.shuffled_quantiles import loss_bound, prefix_error
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.range_queries import RangeQueries
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries, apart
from tests.oracles.hadamard import Oracle
from tests.samples import around, same_law

F = Fraction
SHARES = (F(1, 10), F(1, 2), F(9, 10))


def loss(data: np.ndarray[Any, Any], y: float, share: float) -> float:
    above = np.maximum(data - y, 0).sum()
    return float(share * above + (1 - share) * np.maximum(y - data, 0).sum())


def test_quantiles_of_known_counts_are_midpoints_of_the_first_cell_that_reaches_them() -> None:
    m = ShuffledQuantiles(users=10, cells=8, tau=2, rho=1)
    prefixes = np.cumsum([1, 0, 3, 2, 0, 0, 4, 0]).astype(float)
    assert [m.quantile(prefixes, share) for share in SHARES] == [0.0625, 0.4375, 0.8125]


def test_a_number_lies_in_the_cell_that_ends_at_or_after_it() -> None:
    m = ShuffledQuantiles(users=5, cells=4, tau=2, rho=1)
    assert m.cell([0, 0.25, 0.26, 0.5, 1]).tolist() == [0, 0, 1, 1, 3]
    assert m.truth([0, 0.25, 0.26, 0.5, 1]).tolist() == [2, 4, 4, 5]


@given(
    st.integers(2, 9),
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.floats(0, 4),
    st.sampled_from(SHARES),
    st.integers(0, 2**32),
)
def test_the_loss_and_the_rank_are_within_their_bounds_for_any_noise(
    cells: int, numbers: list[float], alpha: float, share: Fraction, seed: int
) -> None:
    m, data = ShuffledQuantiles(len(numbers), cells, 2, 1), np.array(numbers)
    truth, rng = m.truth(data), np.random.default_rng(seed)
    noisy = truth + alpha * rng.choice([-1, 1, 0.5], cells)
    noisy[-1] = len(data)
    found = m.quantile(noisy, share)
    least = min(loss(data, y, float(share)) for y in data)
    assert loss(data, found, float(share)) <= least + loss_bound(alpha, len(data), cells, share) + 1e-9
    cell, goal = round(found * cells - 0.5), float(share) * len(data)
    assert truth[cell] >= goal - alpha - 1e-9
    assert cell == 0 or truth[cell - 1] < goal + alpha + 1e-9


@given(st.integers(0, 2**32))
def test_a_larger_share_never_has_a_smaller_quantile(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, prefixes = ShuffledQuantiles(50, 16, 2, 1), rng.normal(25, 20, 16)
    prefixes[-1] = 50
    found = [m.quantile(prefixes, F(i, 20)) for i in range(1, 20)]
    assert found == sorted(found)


def test_quantiles_cost_what_the_range_queries_cost() -> None:
    m = ShuffledQuantiles(10**4, 1024, 14, 400)
    assert account(m).epsilon(1e-6) == account(RangeQueries(10**4, 1024, 14, 400)).epsilon(1e-6)


def test_a_million_users_have_their_median_within_the_certified_rank() -> None:
    m, rng = ShuffledQuantiles(10**6, 1 << 10, 20, 377), np.random.default_rng(4)
    data = rng.random(10**6) ** 3
    prefixes = m.run(data, rng)
    assert prefixes[-1] == 10**6
    alpha = prefix_error(m.ranges, F(1, 10**6)).high
    for share in SHARES:
        rank = np.count_nonzero(data <= m.quantile(prefixes, share) + 0.5 / m.cells)
        assert float(share) * 10**6 - alpha <= rank
        assert np.count_nonzero(data <= m.quantile(prefixes, share) - 0.5 / m.cells) <= float(share) * 10**6 + alpha


TWO = math.log(2)


def subsets(queries: int, k: int) -> list[tuple[int, ...]]:
    return [each for size in range(k + 1) for each in combinations(range(queries), size)]


def test_as_many_elements_are_replaced_as_the_larger_set_does_not_share() -> None:
    m = SparseStatisticalQueries(3, 6, 3, 3, 2, 2)
    for a, b in combinations(subsets(6, 3), 2):
        replaced = len(set(m.oracle.elements(a)) - set(m.oracle.elements(b)))
        assert replaced == apart(a, b) == apart(b, a)


@pytest.mark.parametrize(("k", "changed"), [(1, 1), (2, 1), (2, 2)])
def test_sets_within_the_promise_cost_no_more_than_the_bound_by_all_multisets(k: int, changed: int) -> None:
    m = SparseStatisticalQueries(1, 3, k, changed, 1, 1)
    oracle, profile, sets = Oracle(m.oracle.domain, 1), account(m), subsets(3, k)
    near = [(a, b) for a, b in combinations(sets, 2) if apart(a, b) <= changed]
    for epsilon in (0.0, TWO, 1.5):
        costs = [oracle.pair(1, (), m.oracle.elements(a), m.oracle.elements(b)).delta(epsilon).low for a, b in near]
        found = profile.delta(epsilon)
        assert around(found, max(costs))
        if k == 1:
            assert max(costs) == pytest.approx(found.high, rel=1e-12)


def test_two_users_cost_no_more_than_the_bound_whatever_the_other_holds() -> None:
    m, oracle, sets = SparseStatisticalQueries(2, 2, 1, 1, 1, 1), Oracle(2, 1), [(1,), (2,), (3,)]
    worst = max(oracle.pair(2, o, a, b).delta(TWO).low for o in sets for a, b in combinations(sets, 2))
    found = account(m).delta(TWO)
    assert found.low <= worst <= found.high * (1 + 1e-12)
    assert worst == pytest.approx(5 / 32, rel=1e-12)


def test_a_promise_of_less_changed_elements_costs_less_than_of_k() -> None:
    costs = [account(SparseStatisticalQueries(10**4, 1000, 4, d, 14, 1000)).epsilon(1e-6).high for d in (1, 2, 4)]
    assert costs[0] < costs[1] / 1.4 < costs[2] / 1.96, "about the root of their number"
    tight = account(SparseStatisticalQueries(10**4, 1000, 4, 1, 14, 1000)).epsilon(1e-6)
    assert tight.low > 0.99 * tight.high


def test_run_has_the_joint_law_of_the_oracle_s_estimates_on_everybodys_messages() -> None:
    m, rng, data = SparseStatisticalQueries(3, 3, 2, 2, 3, 1), np.random.default_rng(5), [(2,), (0, 1), (2,)]

    def literal() -> Any:
        return m.oracle.estimate(np.concatenate([m.oracle.randomize(x, rng) for x in data]))[:3]

    assert same_law([m.run(data, rng).round(6) for _ in range(500)], [literal().round(6) for _ in range(500)])
    assert m.truth(data).tolist() == [1, 1, 2]


def test_answers_are_shares_of_users_and_within_the_error_that_is_certified() -> None:
    m, rng = SparseStatisticalQueries(10**5, 130, 8, 8, 17, 3000), np.random.default_rng(1)
    prefixes = [[(1 << length) - 2 + (x >> (6 - length)) for length in range(1, 7)] for x in range(64)]
    data = rng.binomial(63, 0.3, m.users)
    found = m.answer(prefixes, data, rng)
    truth = m.truth([tuple(prefixes[x]) for x in data.tolist()]) / m.users
    assert truth[:2].sum() == 1
    assert np.all((found >= 0) & (found <= 1))
    assert np.abs(found - truth).max() < m.error_of_answers(F(1, 10**6)) / m.users < 0.02


def test_sets_that_differ_by_more_than_is_promised_are_refused() -> None:
    rng, m = np.random.default_rng(0), SparseStatisticalQueries(2, 9, 3, 1, 3, 1)
    digits = [(x, 4 + x, 8) for x in range(4)]
    assert SparseStatisticalQueries(2, 9, 3, 2, 3, 1).answer(digits, [0, 3], rng).shape == (9,)
    with pytest.raises(ValueError, match="differ by at most 1 elements, got 2"):
        m.answer(digits, [0, 3], rng)
    many = SparseStatisticalQueries(2, 4000, 2, 1, 13, 1)
    with pytest.raises(Unsupported, match="take changed = k = 2"):
        many.answer([(x,) for x in range(3000)], [0, 3], rng)


def test_the_listed_inputs_are_as_far_apart_as_is_promised_and_their_elements_independent() -> None:
    for queries, k, changed in ((2, 1, 1), (3, 3, 2), (255, 6, 5), (256, 3, 2)):
        m = SparseStatisticalQueries(4, queries, k, changed, 3, 1)
        first, second = (m.oracle.elements(x)[: m.compared] for x in m.inputs)
        assert apart(*m.inputs) == m.compared <= changed
        assert max(*m.inputs[0], *m.inputs[1]) < queries
        assert len({sum(chosen) for size in range(9) for chosen in combinations(first + second, size)}) == 4**m.compared


def test_corollary_b_1_s_two_terms_are_small_enough_from_a_number_of_users_on() -> None:
    first, _, third = claims.EXAMPLES
    assert [claims.sufficient_users(s) for s in (first, third)] == [first.users, first.users]
    sampled = 2 * first.queries * math.exp(-first.users * float(first.tolerance) ** 2 / 2)
    assert sampled < claims.failure(first, first.users).high < 2 * sampled


@pytest.mark.parametrize("users", [1 << 12, 1 << 15, 1 << 18])
@pytest.mark.parametrize("tolerance", [Fraction(1, 50), Fraction(1, 5), Fraction(1, 2)])
def test_the_failure_of_an_answer_is_hoeffding_s_bound_and_bernstein_s(users: int, tolerance: Fraction) -> None:
    s = claims.Setting(Fraction(1), Fraction(1, 10**6), users, 100, 3, tolerance)
    m = s.of(users)
    t, p = float(tolerance), float(m.hit)
    x, v = users * t / 2 * (1 - p), (m.rho + m.k) * users * p
    truth = 200 * math.exp(-users * t * t / 2) + 200 * math.exp(-x * x / (2 * (v + x / 3)))
    assert claims.failure(s, users).high == pytest.approx(truth, rel=1e-9, abs=1e-300)
