"""Sparse statistical queries: what two sets cost against all multisets, what is promised of them, and the whole system."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from ldpaudit import account
from ldpaudit.accountants.claims import sparse_statistical_queries as claims
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.attacks.range_queries import attack
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries, apart
from ldpaudit.proofs.sparse_statistical_queries import prove
from tests.helpers import proved
from tests.mechanisms.test_shuffled_hadamard import same_law
from tests.oracles.hadamard import Oracle

TWO = math.log(2)
F = Fraction


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
        assert found.low * (1 - 1e-12) <= max(costs) <= found.high * (1 + 1e-12)
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

    assert same_law([m.run(data, rng).round(6) for _ in range(900)], [literal().round(6) for _ in range(900)])
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


def test_the_score_is_the_log_likelihood_ratio_of_a_view() -> None:
    m = SparseStatisticalQueries(2, 2, 1, 1, 1, 1)
    found, laws = attack(m), [m.law(x) for x in m.inputs]
    views = [y for y, p in laws[0].items() if p or laws[1].probability(y)]
    for view, score in zip(views, found.score(np.array(views)), strict=True):
        p, q = (law.probability(view) for law in laws)
        assert score == pytest.approx(math.log(p / q) if p and q else math.inf if p else -math.inf, abs=1e-9)


def test_the_listed_inputs_are_as_far_apart_as_is_promised_and_their_elements_independent() -> None:
    for queries, k, changed in ((2, 1, 1), (3, 3, 2), (255, 6, 5), (256, 3, 2)):
        m = SparseStatisticalQueries(4, queries, k, changed, 3, 1)
        first, second = (m.oracle.elements(x)[: m.compared] for x in m.inputs)
        assert apart(*m.inputs) == m.compared <= changed
        assert max(*m.inputs[0], *m.inputs[1]) < queries
        assert len({sum(chosen) for size in range(9) for chosen in combinations(first + second, size)}) == 4**m.compared


def test_corollary_b_1_s_two_terms_are_small_enough_from_a_number_of_users_on() -> None:
    for s in claims.EXAMPLES:
        privacy, error = claims.printed(s)
        assert (privacy.standing, error.standing) == (Standing.HOLDS, Standing.VARIANT)
        assert (error.holds is True) == (s.users >= claims.sufficient_users(s))
    first, second, third = claims.EXAMPLES
    assert [claims.sufficient_users(s) for s in (first, second, third)] == [first.users, second.users, first.users]
    sampled = 2 * first.queries * math.exp(-first.users * float(first.tolerance) ** 2 / 2)
    assert sampled < claims.failure(first, first.users).high < 2 * sampled


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SparseStatisticalQueries(3, 1, 1, 1, 2, 2), "queries"),
        (lambda: SparseStatisticalQueries(3, 4, 5, 1, 2, 2), "1 <= k <= 4"),
        (lambda: SparseStatisticalQueries(3, 4, 2, 3, 2, 2), "1 <= changed <= 2"),
        (lambda: SparseStatisticalQueries(3, 4, 2, 2, 2, 2).run([(0, 1, 2)], np.random.default_rng(0)), "at most 2 different"),
        (lambda: SparseStatisticalQueries(3, 4, 2, 2, 2, 2).run([(1, 1)], np.random.default_rng(0)), "at most 2 different"),
        (lambda: SparseStatisticalQueries(3, 4, 2, 2, 2, 2).run([(4,)], np.random.default_rng(0)), "below 4"),
        (lambda: SparseStatisticalQueries(3, 4, 2, 2, 2, 2).run([], np.random.default_rng(0)), "at least one user"),
        (lambda: SparseStatisticalQueries(3, 4, 2, 2, 2, 2).answer([(0,)], [0], np.random.default_rng(0)), "each of 3 users"),
        (lambda: SparseStatisticalQueries(1, 4, 2, 2, 2, 2).answer([(0,)], [1], np.random.default_rng(0)), r"range\(1\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error_of_one_line(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as found:
        make()
    assert len(str(found.value).splitlines()) == 1


def test_the_proofs_check_and_claim_no_epsilon_at_delta_0() -> None:
    proofs, m = proved(prove), SparseStatisticalQueries(2, 4, 1, 1, 1, 1)
    assert all(p.steps and p.at(m) is None for p in proofs)


@pytest.mark.parametrize("users", [1 << 12, 1 << 15, 1 << 18])
@pytest.mark.parametrize("tolerance", [Fraction(1, 50), Fraction(1, 5), Fraction(1, 2)])
def test_the_failure_of_an_answer_is_hoeffding_s_bound_and_bernstein_s(users: int, tolerance: Fraction) -> None:
    s = claims.Setting(Fraction(1), Fraction(1, 10**6), users, 100, 3, tolerance)
    m = s.of(users)
    t, p = float(tolerance), float(m.hit)
    x, v = users * t / 2 * (1 - p), (m.rho + m.k) * users * p
    truth = 200 * math.exp(-users * t * t / 2) + 200 * math.exp(-x * x / (2 * (v + x / 3)))
    assert claims.failure(s, users).high == pytest.approx(truth, rel=1e-9, abs=1e-300)
