"""The sign oracle and the hashtogram: what their matrices are, what they estimate, and what the talk prints of them."""

import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ldpaudit import Unsupported, account
from ldpaudit.accountants.claims import hashtogram as hashtogram_claims, sign_oracle
from ldpaudit.accountants.pld.finite import channel_profile
from ldpaudit.mechanisms import Hashtogram, SignOracle, hashtogram
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity
from tests.helpers import raises
from tests.samples import SEEDED_LEVEL, same_number

MANY = 1 << 20
ALMOST_SURE = 1 - Fraction(1, 10**15)
"""A coin that shows the truth in every test."""


@pytest.mark.parametrize("domain", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("index", range(6))
def test_no_user_is_more_exposed_than_another(domain: int, index: int) -> None:
    oracle = SignOracle(10, domain, Fraction(2, 3), seed=1, index=index)
    table = Hashtogram(10, domain, 2, 3, Fraction(2, 3), seed=1, index=index)
    for m in (oracle, table):
        for epsilon in (0, 0.3):
            assert same_number(account(m).delta(epsilon), channel_profile(m).delta(epsilon))
        first, second = m.apart
        assert m.signs(first, np.array([index])) == -m.signs(second, np.array([index]))


@pytest.mark.parametrize("domain", [2, 7, 8])
def test_signs_of_two_values_agree_as_stated_on_average_over_all_vectors(domain: int) -> None:
    m = SignOracle(1, domain, Fraction(3, 4))
    vectors = np.arange(1, 1 << m.bits)
    for x in range(1, domain):
        mean = np.mean([(-1) ** (r & x).bit_count() for r in vectors.tolist()])
        assert mean == pytest.approx(float(m.agreement), abs=1e-12)


def test_the_rows_of_the_matrix_are_never_stored() -> None:
    m = SignOracle.for_epsilon(1.0, users=10**6, domain=1 << 62)
    rng = np.random.default_rng(0)
    views = m.collect(rng.integers(0, 1 << 62, 1_000), rng)
    tracemalloc.start()
    m.query(views, [5, 1 << 61, (1 << 62) - 1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    raises(Unsupported, "query some", m.estimate, views)


def test_the_warm_up_is_estimated_by_the_slides_formula() -> None:
    eta, n = Fraction(1, 10), 500
    m = SignOracle.warm_up(eta, n)
    rng = np.random.default_rng(2)
    views = m.collect(rng.integers(0, 2, n), rng)
    y = -views[:, 1]  # the value 1 has the sign -1 here, and 1 on the slide
    expected = (2 * eta * n + Fraction(int(y.sum()))) / (4 * eta)
    assert m.query(views, 1) == pytest.approx(float(expected), rel=1e-12)
    assert m.estimate(views).sum() == pytest.approx(n)


def test_queries_do_not_depend_on_how_they_are_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    m = SignOracle.for_epsilon(1.0, MANY, domain=300)
    rng = np.random.default_rng(3)
    views = m.collect(rng.integers(0, 300, 400), rng)
    whole = m.estimate(views)
    monkeypatch.setattr("ldpaudit.mechanisms.sign_oracle._BLOCK", 1_000)
    assert np.array_equal(m.estimate(views), whole)
    assert np.array_equal(m.query(views, [[7, 5], [299, 0]]), whole[[[7, 5], [299, 0]]])


@pytest.mark.parametrize("domain", [2, 50])
def test_hoeffdings_bound_is_exceeded_no_more_often_than_it_says(domain: int) -> None:
    n, runs = 400, 3_000
    m = SignOracle.for_epsilon(1.0, MANY, domain)
    data, rng = [1] * 100 + [0] * 300, np.random.default_rng(4)
    errors = np.abs([m.run(data, rng)[1] - 100 for _ in range(runs)])
    for beta in (0.5, 0.2, 0.05):
        t = sign_oracle.error_of(m, n, beta)
        assert sign_oracle.failure(m, n, t.low).high >= beta * (1 - 1e-9)
        seen = int(np.count_nonzero(errors > t.high))
        assert stats.binom.sf(seen - 1, runs, beta) > SEEDED_LEVEL


@pytest.mark.parametrize("error", [0, Fraction(3, 2), 4])
def test_the_exact_failure_of_the_warm_up_is_that_of_all_outcomes(error: Fraction) -> None:
    n, p = 9, Fraction(3, 5)
    truth = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1) if abs(k - p * n) > (2 * p - 1) * error)
    found = sign_oracle.all_ones(p, n, Fraction(error))
    assert found.low <= truth <= found.high


def test_some_value_is_wrong_as_often_as_the_bound_says() -> None:
    rng, n, domain, p = np.random.default_rng(5), 200, 64, Fraction(3, 4)
    errors = np.array([
        np.abs(rng.choice([-1, 1], (domain - 1, n)) @ rng.choice([-1, 1], n)).max() / float(2 * p - 1)
        for _ in range(2_000)
    ])  # fmt: skip
    for error in (30, 60):
        bound = sign_oracle.some_error(p, n, domain, Fraction(error)).low
        assert 0.4 < bound <= np.mean(errors > error) + 0.02


def test_a_users_sign_is_the_hadamard_entry_of_the_cell() -> None:
    m = Hashtogram.for_epsilon(1.0, 5_000, domain=10**6, seed=3)
    index = np.arange(2_000)
    values = np.random.default_rng(6).integers(0, 10**6, 2_000)
    group, column = m.places(index)
    cells = np.array([int(m.hash(int(j), int(x))) for j, x in zip(group, values, strict=True)])
    assert np.array_equal(m.signs(values, index), 1 - 2 * parity(cells & column).astype(np.int64))
    assert (int(column.min()), int(column.max())) == (1, m.cells - 1)
    assert cells.max() < m.cells
    assert set(group.tolist()) == set(range(m.groups))


def test_users_are_spread_evenly_over_groups_and_columns() -> None:
    group, column = Hashtogram(MANY, 1 << 30, 8, 5, Fraction(3, 4)).places(np.arange(200_000))
    assert stats.chisquare(np.bincount(group * 7 + column - 1, minlength=35)).pvalue > SEEDED_LEVEL


def test_two_values_share_a_cell_as_often_as_stated() -> None:
    m = Hashtogram(10, 64, 8, 4_000, Fraction(3, 4))
    for x, y in ((0, 1), (5, 40), (63, 62)):
        together = np.mean([m.hash(j, x) == m.hash(j, y) for j in range(m.groups)])
        assert together == pytest.approx(float(m.collision), abs=6 * math.sqrt(float(m.collision) / m.groups))


def test_nothing_is_hashed_where_there_is_a_cell_for_every_value() -> None:
    m = Hashtogram.for_epsilon(1.0, 10**6, domain=64)
    assert m.collision == 0
    assert sorted(m.hash(0, np.arange(64)).tolist()) == list(range(64))


def test_the_table_is_that_of_all_reports_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    m = Hashtogram(MANY, 10**6, 64, 5, ALMOST_SURE)
    data = np.random.default_rng(7).integers(0, 10**6, 10_000)
    tables = []
    for chunk in (hashtogram._CHUNK, 999):
        monkeypatch.setattr(hashtogram, "_CHUNK", chunk)
        tables.append(m.run(data, np.random.default_rng(8)))
    first = int(np.random.default_rng(8).integers(m.users))
    views = m.reports(data, (first + np.arange(len(data))) % m.users, np.random.default_rng(9))
    assert np.array_equal(tables[0], tables[1])
    assert np.array_equal(tables[0], m.estimate(views))


def zipf(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.minimum(rng.zipf(1.2, n), 2**39).astype(np.int64)


def test_queries_are_within_the_error_of_the_theorem() -> None:
    n, beta, rng = 20_000, 0.05, np.random.default_rng(10)
    data = zipf(n, rng)
    asked = np.array([1, 2, 3, 1_000, 2**38 + 5])
    truth = np.array([np.count_nonzero(data == x) for x in asked])
    missed = []
    for seed in range(40):
        m = Hashtogram.for_epsilon(1.0, n, 1 << 40, beta, seed)
        bound = hashtogram_claims.query_error(m, n, beta).high
        missed.append(np.abs(m.query(m.run(data, rng), asked) - truth) > bound)
    assert stats.binom.sf(np.sum(missed, axis=0).max() - 1, 40, beta) > SEEDED_LEVEL


def test_the_error_of_a_query_is_sampling_and_collisions_and_noise() -> None:
    n, beta, g, cells, epsilon = 10**6, 0.05, 25, 1024, 1.0
    m = Hashtogram.for_epsilon(epsilon, n, 1 << 40, beta)
    assert (m.groups, m.cells) == (g, cells)
    nats, c, kappa = math.log(8 * g / beta), 1 / math.tanh(epsilon / 2), 1 / cells
    sampling = g * nats / 3 + math.sqrt((g * nats / 3) ** 2 + 2 * g * n * nats)
    collisions, noise = 8 * kappa * (n + sampling), c * math.sqrt(8 * g * (n + sampling))
    by_hand = sampling + (collisions + noise) / (1 - kappa)
    assert hashtogram_claims.query_error(m, n, beta).high == pytest.approx(by_hand, rel=1e-6)  # kappa is a little less


def test_too_few_groups_bound_nothing() -> None:
    m = replace(Hashtogram.for_epsilon(1.0, 10**4, 1 << 40), groups=1)
    assert hashtogram_claims.query_error(m, 10**4, 0.05).low == math.inf


def test_one_hash_function_into_sqrt_n_cells_does_not_bound_the_error_over_all_values() -> None:
    # The slide's "can hash X into range of size about sqrt(n)" leaves out that it takes several, and their median.
    n, rng = 10**4, np.random.default_rng(11)
    data = np.full(n, 12_345)
    one = replace(Hashtogram.for_epsilon(1.0, n, 1 << 20), groups=1)
    same = np.flatnonzero(one.hash(0, np.arange(1 << 14)) == one.hash(0, 12_345))
    errors = np.abs(one.query(one.run(data, rng), same) - n * (same == 12_345))
    assert np.median(errors[same != 12_345]) > 0.8 * n
    several = Hashtogram.for_epsilon(1.0, n, 1 << 20)
    answers = several.query(several.run(data, rng), same)
    assert np.abs(answers - n * (same == 12_345)).max() < hashtogram_claims.query_error(several, n, 0.05).high


def test_the_memory_of_a_run_is_free_of_the_number_of_users() -> None:
    m = Hashtogram(1 << 22, 1 << 40, 1 << 10, 9, Fraction(3, 4))
    peaks = []
    for n in (1 << 19, 1 << 21):
        data = np.ones(n, dtype=np.int64)
        m.run(data[:10], np.random.default_rng(0))
        tracemalloc.start()
        m.run(data, np.random.default_rng(0))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0] < 64 << 20


def test_counts_are_of_one_user_to_all_of_them() -> None:
    m, rng = SignOracle(3, 4, ALMOST_SURE), np.random.default_rng(0)
    for held in (1, 3):
        assert m.run_with_random_columns({2: held}, rng)[2] == pytest.approx(held)
    for held in (0, 4):
        raises(ValueError, f"SignOracle needs 1 to users=3 users, got {held}", m.run_with_random_columns, {2: held}, rng)
