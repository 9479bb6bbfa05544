"""JL-HH: its readings against explicit matrices and densities, the system end to end, and what its paper prints."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from ldpaudit import Rigour, Unsupported, account
from ldpaudit.accountants.claims import jl_heavy_hitter as claims
from ldpaudit.accountants.claims.jl_heavy_hitter import FRESH, ONE, PRODUCTS, Setting
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.accountants.composition.laplace_vector import coordinates
from ldpaudit.derivation import proofs_of
from ldpaudit.mechanisms import FreshProducts, FreshProjections, JLHeavyHitter
from ldpaudit.mechanisms.shared.projections.random_projection import noise_for
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from tests.samples import around

MILLIONTH = Fraction(1, 10**6)
B1 = noise_for(1, MILLIONTH)
"""The printed scale for (1, 1e-6)."""
MANY = 10**24
"""Rows, a square; the normal limit is off by less than 1e-12."""
READINGS = (JLHeavyHitter, FreshProjections, FreshProducts)


def matrix(m: JLHeavyHitter) -> NDArray[np.float64]:
    bits = [[bin(int(r) & x).count("1") % 2 for x in range(m.domain)] for r in m.vectors]
    return (1 - 2.0 * np.array(bits)) / math.sqrt(m.rows)


@pytest.mark.parametrize(
    ("count", "apart", "printed"),
    [(MANY, 1, 0.376187034603553), (MANY // 2, 2, 0.545048765290475), (MANY, 2, 0.790446475985615),
     (5 * MANY, 2, 1.8883366089722)],
    ids=["absent user", "half of the rows differ", "all rows differ", "fresh noise for each of 10 values, half"],
)  # fmt: skip
def test_with_very_many_rows_the_cost_is_that_of_a_normal_law(count: int, apart: int, printed: float) -> None:
    found = coordinates(count, apart, MANY, B1, "").epsilon(MILLIONTH)
    assert found.low * (1 - 1e-9) < printed < found.high * (1 + 1e-9)
    assert found.relative_width < 1e-9


def test_a_hundred_rows_cost_what_the_closed_form_says() -> None:
    absent = account(JLHeavyHitter(1000, 100, B1), ADD_REMOVE).epsilon(MILLIONTH)
    assert absent.high == pytest.approx(0.37101100643195992, rel=1e-13)
    assert coordinates(50, 2, 100, B1, "").epsilon(MILLIONTH).high == pytest.approx(0.52749107684304976, rel=1e-13)


@pytest.mark.parametrize(("domain", "rows", "seed"), [(16, 9, 0), (13, 7, 1), (5, 4, 3)])
def test_counts_are_decoded_by_the_transpose_of_the_matrix(domain: int, rows: int, seed: int) -> None:
    m = JLHeavyHitter(domain, rows, Fraction(1), seed)
    a, rng = matrix(m), np.random.default_rng(seed)
    total, counts = rng.random(rows), rng.integers(0, 9, domain).astype(float)
    assert np.allclose(m.decode(total), a.T @ total)
    assert np.allclose(m.project(counts), a @ counts)
    assert np.allclose([m.columns(x) for x in range(domain)], a.T)
    assert np.allclose([m.products(x) for x in range(domain)], a.T @ a)
    assert not m.columns(None).any()


@pytest.mark.parametrize(("domain", "rows", "seed"), [(16, 9, 0), (13, 7, 1), (5, 4, 3), (17, 12, 5)])
def test_the_cost_is_that_of_the_pair_whose_columns_differ_most(domain: int, rows: int, seed: int) -> None:
    m = JLHeavyHitter(domain, rows, Fraction(3), seed)
    columns = matrix(m).T
    most = max(int(np.sum(columns[x] != columns[y])) for x, y in permutations(range(domain), 2))
    first, second, weight, known = m.apart()
    assert (weight, known) == (most, True)
    assert np.sum(columns[first] != columns[second]) == most
    assert account(m).epsilon(0).high == pytest.approx(2 * most / (3 * math.sqrt(rows)), rel=1e-14)
    assert account(m, ADD_REMOVE).epsilon(0).high == pytest.approx(math.sqrt(rows) / 3, rel=1e-14)
    fresh = FreshProjections(domain, rows, Fraction(3), seed)
    assert account(fresh).epsilon(0).high == pytest.approx(domain * account(m).epsilon(0).high, rel=1e-14)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_the_largest_loss_of_products_is_the_sum_of_their_distances(relation: object) -> None:
    m = FreshProducts(8, 25, Fraction(4), seed=2)
    rows = [m.products(x) for x in range(8)]
    pairs = [(x, y) for x, y in permutations(range(8), 2)] if relation == REPLACE_ONE else [(x, None) for x in range(8)]
    truth = max(np.abs(rows[x] - (0 if y is None else rows[y])).sum() for x, y in pairs) * 5 / 4
    found = account(m, relation).epsilon(0)  # type: ignore[arg-type]
    assert around(found, truth)


def test_products_of_two_values_cost_what_their_densities_say() -> None:
    m = FreshProducts(2, 4, Fraction(2), seed=1)
    shift = float(np.abs(m.products(0) - m.products(1))[0])
    assert shift > 0
    y = np.linspace(-40, 40, 4001)  # scales
    density = (15 + 15 * np.abs(y) + 6 * y**2 + np.abs(y) ** 3) * np.exp(-np.abs(y)) / 96  # of four Laplace noises
    cell = y[1] - y[0]
    assert density.sum() * cell == pytest.approx(1, rel=1e-6)
    moved = np.interp(y - shift, y, density)
    one, other = np.outer(density, moved), np.outer(moved, density)
    for epsilon in (0.0, 0.25, 0.5):
        truth = np.maximum(one - math.exp(epsilon) * other, 0).sum() * cell**2
        found = account(m).delta(epsilon)
        assert found.low < truth * (1 + 1e-3)
        assert truth < found.high * (1 + 1e-3)
        assert found.low > truth * 0.8


def test_few_products_are_bounded_within_a_factor_of_the_root_of_two_where_rows_are_many() -> None:
    found = account(FreshProducts(8, 10**6, B1), ADD_REMOVE).epsilon(MILLIONTH)
    assert found.low == pytest.approx(0.2543, abs=2e-3)
    assert found.high == pytest.approx(0.3762, abs=2e-3)
    with pytest.raises(Unsupported, match="up to 1024 values"):
        account(FreshProducts(2000, 100, B1))


@pytest.mark.slow
def test_where_not_all_pairs_or_rows_are_compared_the_cost_is_enclosed() -> None:
    wide, high = JLHeavyHitter(1 << 40, 10_000, B1), JLHeavyHitter(100, 10**9, B1)
    for m in (wide, high):
        found = account(m).epsilon(MILLIONTH)
        assert found.rigour is Rigour.INTERVAL
        assert 0 < found.low < found.high == coordinates(m.rows, 2, m.rows, B1, "").epsilon(MILLIONTH).high
    assert account(high, ADD_REMOVE).epsilon(MILLIONTH).relative_width < 1e-9, "any matrix costs the same"


@pytest.mark.parametrize("reading", READINGS)
def test_an_estimate_is_the_count_on_average_over_matrices(reading: type[JLHeavyHitter]) -> None:
    m, data, rng = reading(8, 5, Fraction(1)), [3] * 30 + [6] * 10, np.random.default_rng(0)
    answers = np.array([replace(m, seed=seed).run_in_law(data, rng) for seed in range(2_000)])
    assert np.all(np.abs(answers.mean(axis=0) - m.truth(data)) < 5 * answers.std(axis=0) / np.sqrt(len(answers)))


def test_a_run_serves_many_users_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    m = JLHeavyHitter(16, 50, Fraction(1, 100))
    monkeypatch.setattr("ldpaudit.mechanisms.shared.projections.random_projection._CHUNK", 170)
    counts = m.run([5] * 20 + [9] * 11, np.random.default_rng(1))
    assert m.heavy_hitter(counts) == 5
    assert counts[5] == pytest.approx(20 + 11 * m.products(9)[5], abs=0.1)


def test_as_printed_needs_rows_of_order_n_to_the_fourth_and_says_which_suffice() -> None:
    twentieth = Fraction(1, 20)
    assert JLHeavyHitter.as_printed(1, MILLIONTH, twentieth, 1000, 10).rows == 254_856
    with pytest.raises(ValueError, match=r"got rows=5\.096\d*e\+25, 4\.08e\+26 bytes per user; rows=452391 keep"):
        JLHeavyHitter.as_printed(1, MILLIONTH, twentieth, 10**6, 10**6)


@pytest.mark.parametrize("users", [10**3, 10**6])
def test_for_users_keeps_the_projection_s_error_at_a_tenth_of_the_noise_s(users: int) -> None:
    s = Setting(Fraction(1), MILLIONTH, Fraction(1, 20), 10**6, users)
    rows = JLHeavyHitter.for_users(1, MILLIONTH, 10**6, users).rows
    assert claims.projection_error(s, rows).high == pytest.approx(claims.noise_error(s, rows).high / 10, rel=0.07)


def test_the_noise_s_error_is_the_specified_one_and_is_kept_by_a_simulation() -> None:
    s = Setting(Fraction(1), MILLIONTH, Fraction(1, 20), 10**6, 10**6)
    assert claims.noise_error(s, 10**6).high == pytest.approx(89694.2838252, rel=1e-11)
    m = JLHeavyHitter(1 << 12, 10_000, B1)
    off = m.run_in_law(np.zeros(10**6, dtype=np.int64), np.random.default_rng(3)) - m.products(0) * 10**6
    assert off.std() == pytest.approx(float(B1) * math.sqrt(2e6), rel=0.05)
    assert np.abs(off).max() < claims.noise_error(replace(s, domain=1 << 12), 10_000).high


@pytest.mark.parametrize("s", claims.SIMULATED, ids=str)
def test_theorem_3_2_s_promise_is_kept_for_skewed_and_for_even_data(s: Setting) -> None:
    for claim in claims.accuracy(s):
        rng = np.random.default_rng(5)
        data = claim.data(rng)
        assert len(data) == s.users
        assert claim.error(data, s.mechanism.run_in_law(data, rng)) <= claim.alpha
        assert claim.error(np.array([3, 3, 4]), -np.arange(s.domain)) == 2


def standings(s: Setting) -> dict[str, Standing]:
    rows = [row for row in claims.lemma_3_1(s) if "this public matrix" in row.sentence]
    return {row.reading: row.standing for row in rows}


def test_lemma_3_1_holds_for_one_projection_and_for_products_and_fails_for_fresh_projections() -> None:
    s = Setting(Fraction(9, 10), MILLIONTH, Fraction(1, 20), 10, 3)
    assert standings(s) == {ONE: Standing.HOLDS, FRESH: Standing.FAILS, PRODUCTS: Standing.HOLDS}
    literal, most, absent, *_ = claims.lemma_3_1(s)
    assert literal.found.high == 0, "no two users' histograms are neighbours, read literally"
    assert most.holds
    assert most.standing is not Standing.FAILS, "a matrix that is hardly ever drawn accuses nobody"
    assert absent.standing is Standing.VARIANT


def test_lemma_3_1_fails_for_one_projection_near_delta_1_and_is_not_judged_where_its_proof_says_nothing() -> None:
    near = Setting(Fraction(999, 1000), Fraction(9999, 10_000), Fraction(1, 20), 10, 2)
    assert standings(near)[ONE] is Standing.FAILS
    s = Setting(Fraction(8), Fraction(1, 2), Fraction(1, 20), 1000, 10)
    rows = list(claims.lemma_3_1(s))
    assert {row.standing for row in rows} == {Standing.OUTSIDE, Standing.VARIANT}
    assert all("0 < epsilon, delta < 1" in " ".join(row.remarks) for row in rows)
    found = next(row for row in rows if row.reading == ONE and "this public matrix" in row.sentence).found
    assert found.low == pytest.approx(1.40 * 0.5, rel=0.005)
    tenth = replace(s, delta=Fraction(1, 10))
    assert claims.whatever_the_matrix(tenth, tenth.scale, REPLACE_ONE).delta(8).low == pytest.approx(2.97 * 0.1, rel=0.005)


def test_the_printed_noise_is_more_than_one_projection_needs() -> None:
    s = Setting(Fraction(1, 2), MILLIONTH, Fraction(1, 20), 1000, 10**6)
    epsilon = float(s.epsilon)

    def of_normal(mu: float) -> float:
        return float(stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu))

    enough = 1 / optimize.brentq(lambda mu: of_normal(mu) - 1e-6, 0.01, 1, xtol=1e-14)
    replaced, absent = (found.high for found in s.sufficient)
    assert replaced == pytest.approx(2 * enough, rel=1e-6)
    assert absent == pytest.approx(enough, rel=1e-6)
    assert float(s.scale) / replaced == pytest.approx(1.3047, rel=1e-4)
    for found, relation in zip(s.sufficient, (REPLACE_ONE, ADD_REMOVE), strict=True):
        assert found.relative_width < 1e-9
        assert claims.whatever_the_matrix(s, Fraction(found.high), relation).delta(s.epsilon).high <= s.delta
        assert claims.whatever_the_matrix(s, Fraction(found.low), relation).delta(s.epsilon).high > s.delta


def test_the_proofs_bound_one_projection_in_both_relations() -> None:
    assert len([proof for proof in proofs_of("jl_heavy_hitter") if proof.mechanism == "JLHeavyHitter"]) == 2
