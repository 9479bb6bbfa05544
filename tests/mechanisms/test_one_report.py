"""Mechanisms of one report each: hashes, subsets, bits and sketches against matrices, small fields and enumeration."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from scipy.linalg import hadamard

from ldpaudit import Rigour, Unsupported, account, audit
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.mechanisms import HadamardResponse, SubsetSelection, UnaryEncoding, count_mean_sketch
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.local_hashing import MERSENNE, LocalHashing
from ldpaudit.mechanisms.shared.coins import uniform_subset
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform
from ldpaudit.neighbours import ADD_REMOVE, USER_LEVEL
from tests.helpers import raises
from tests.samples import LEVEL, meet


def test_parity_is_that_of_the_one_bits() -> None:
    values = [0, 1, 2, 3, 7, (1 << 62) - 1, 1 << 61, (1 << 40) + 5]
    assert parity(values).tolist() == [bool(v.bit_count() % 2) for v in values]


@pytest.mark.parametrize("n", [1, 2, 16])
def test_the_transform_is_the_matrix(n: int) -> None:
    vector = np.arange(n) ** 2.0 + 1
    assert transform(vector).tolist() == (hadamard(n) @ vector).tolist()


@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 15])
def test_a_column_supports_a_value_where_its_row_is_plus_one(k: int) -> None:
    m = HadamardResponse(k, Fraction(3, 4))
    matrix = hadamard(m.columns)
    assert m.columns // 2 <= k < m.columns
    for x in m.inputs:
        assert (m.supports(np.arange(m.columns), x) == (matrix[x + 1] == 1)).all()
        assert matrix[x + 1].sum() == 0


def test_columns_beyond_any_table_are_sampled() -> None:
    k = (1 << 62) - 1
    m, rng = HadamardResponse.for_epsilon(1.0, k), np.random.default_rng(1)
    for x in (0, k - 1):
        views = m.sample(x, 200_000, rng)
        assert views.min() >= 0
        assert np.mean(m.supports(views, x)) == pytest.approx(float(m.p), abs=0.006)
        assert np.mean(m.supports(views, 1)) == pytest.approx(0.5, abs=0.006)
        assert np.mean(views / 2.0**62) == pytest.approx(0.5, abs=0.006)


FIELDS = [(2, 2), (2, 3), (3, 5), (5, 5), (4, 7), (6, 11)]


@pytest.mark.parametrize(("g", "prime"), FIELDS)
def test_every_two_values_collide_as_often_as_stated(g: int, prime: int) -> None:
    m = LocalHashing(g, Fraction(5, 6), domain=prime, prime=prime)
    functions = list(product(range(prime), repeat=2))
    for x, other in permutations(m.inputs, 2):
        alike = sum((a * x + b) % prime % g == (a * other + b) % prime % g for a, b in functions)
        assert Fraction(alike, prime**2) == m.collision


@pytest.mark.parametrize("x", [0, 1, MERSENNE - 1])
def test_a_view_names_the_hash_with_probability_p(x: int) -> None:
    m, rng = LocalHashing(5, Fraction(3, 5), domain=MERSENNE), np.random.default_rng(2)
    views = m.sample(x, 400_000, rng)
    assert np.mean(m.supports(views, x)) == pytest.approx(0.6, abs=0.004)
    exact = [(a * x + b) % MERSENNE % 5 == y for a, b, y in views[:1000].tolist()]  # in integers that cannot overflow
    assert exact == m.supports(views[:1000], x).tolist()


def test_the_law_of_the_deployed_field_is_given_by_structure() -> None:
    m = LocalHashing(3, Fraction(1, 2), domain=10)
    law = m.law(4)
    assert law.size == MERSENNE**2 * 3
    assert sum(law.probability((10**9, 7, y)) for y in range(3)) == Fraction(1, MERSENNE**2)
    raises(Unsupported, "enumerated", law.items)


def test_the_number_of_hash_values_is_the_one_of_the_paper() -> None:
    assert [LocalHashing.optimal(e, 4).g for e in (0.1, 1, 2, 5)] == [2, 4, 8, 149]
    assert LocalHashing.binary(3, 4).g == 2


@pytest.mark.parametrize(("k", "d"), [(1, 0), (1, 1), (5, 0), (6, 2), (6, 5), (4, 4)])
def test_every_subset_of_the_size_is_equally_likely(k: int, d: int) -> None:
    rows = uniform_subset(k, d, 40_000, np.random.default_rng(4))
    seen = Counter(map(tuple, rows.tolist()))
    assert set(map(sum, seen)) == {d}
    assert len(seen) == comb(k, d)
    if len(seen) > 1:
        assert stats.chisquare(list(seen.values())).pvalue > LEVEL


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_no_other_size_estimates_better_than_the_optimal_one(epsilon: float) -> None:
    k = 20
    best = SubsetSelection.optimal(epsilon, k)
    sizes = [SubsetSelection.for_epsilon(epsilon, k, d) for d in range(1, k)]
    assert best._variance() == min(m._variance() for m in sizes)
    assert abs(best.d - k / (exp(epsilon) + 1)) <= 1


def test_the_variance_that_the_size_is_chosen_by_is_that_of_the_estimate() -> None:
    m, rng = SubsetSelection.optimal(1.0, k=6), np.random.default_rng(6)
    one = np.array([m.estimate(view[None]) for view in m.sample(2, 50_000, rng)])
    assert one.var(axis=0).sum() == pytest.approx(float(m._variance()), rel=0.03)


REACH = 0.95
MECHANISMS = [
    UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)),
    UnaryEncoding(2, Fraction(9, 10), Fraction(1, 2)),
    UnaryEncoding.symmetric(1, k=2),
    UnaryEncoding.optimized(1.0, k=3),
]


@pytest.mark.parametrize(
    ("epsilon", "threshold"), [(Fraction(1, 3), Fraction(3, 5)), (1, None), (2, 1), (8, Fraction(9, 10)), (30, None)]
)
def test_thresholds_of_laplace_noise_are_exceeded_as_often_as_its_law_says(epsilon: Fraction, threshold: Fraction | None) -> None:
    m, noise = UnaryEncoding.thresholded(epsilon, 5, threshold), stats.laplace(scale=2 / float(epsilon))
    at = -2 * log(2 * m.q) / float(epsilon)
    assert [float(m.p), float(m.q)] == pytest.approx([noise.sf(at - 1), noise.sf(at)], rel=1e-12)
    assert threshold is None or at == pytest.approx(float(threshold), rel=1e-12)
    cost = account(m).epsilon(0)
    assert cost.high == pytest.approx(noise.logsf(at - 1) - noise.logcdf(at - 1) - noise.logsf(at) + noise.logcdf(at), rel=1e-12)
    assert cost.high < epsilon


def test_the_threshold_by_default_is_the_best_of_some_and_costs_accuracy_beside_optimized_bits_of_the_same_cost() -> None:
    def variance(m: UnaryEncoding) -> float:
        return float(m.q * (1 - m.q) / (m.p - m.q) ** 2)

    for epsilon in (Fraction(1, 2), 1, 4):
        best = UnaryEncoding.thresholded(epsilon, 3)
        others = [UnaryEncoding.thresholded(epsilon, 3, Fraction(i, 64)) for i in range(33, 65)]
        assert variance(best) == min(map(variance, others)) < max(map(variance, others))
        assert variance(best) > variance(UnaryEncoding.optimized(account(best).epsilon(0).high, 3))


@pytest.mark.parametrize("m", MECHANISMS, ids=str)
@given(epsilon=st.floats(0, 3), delta=st.fractions(0, Fraction(99, 100)))
def test_a_users_presence_costs_what_enumeration_says(m: UnaryEncoding, epsilon: float, delta: Fraction) -> None:
    oracle = FiniteProfile(both_directions(law_atoms(m.law(m.k - 1), m.law(None))), "enumeration")
    ours = account(m, ADD_REMOVE)
    for e, truth in ((ours.delta(epsilon), oracle.delta(epsilon)), (ours.epsilon(delta), oracle.epsilon(delta))):
        assert meet(e, truth)


@pytest.mark.parametrize("m", MECHANISMS, ids=str)
def test_a_users_presence_is_audited_to_cost_what_it_does(m: UnaryEncoding) -> None:
    exact = account(m, ADD_REMOVE).epsilon(0)
    evidence = audit(m, neighbours=ADD_REMOVE, seed=7)
    assert evidence.pair == (0, None)
    assert REACH * exact.low <= evidence.epsilon_lower <= exact.high


def test_optimized_unary_encoding_is_rounded_toward_privacy() -> None:
    for epsilon in (0.1, 1, Fraction(5, 3), 8):
        for m in (UnaryEncoding.optimized(epsilon, 4), UnaryEncoding.symmetric(epsilon, 4)):
            exact = account(m).epsilon(0)
            assert float(epsilon) * (1 - 1e-12) <= exact.low <= float(epsilon)


def test_flipping_each_bit_costs_once_a_bit_that_differs() -> None:
    m = UnaryEncoding.flips(Fraction(1, 10), k=5)
    assert account(m).epsilon(0).high == pytest.approx(2 * np.log(9))
    assert account(m, ADD_REMOVE).epsilon(0).high == pytest.approx(np.log(9))


def test_it_refuses_relations_that_it_does_not_know() -> None:
    raises(Unsupported, "user-level", account, MECHANISMS[0], USER_LEVEL)


DEPLOYED = [
    (CountMeanSketch.for_epsilon(4, 1024, 65536), 4),
    (CountMeanSketch.for_epsilon(2, 256, 65536), 2),
    (CountMeanSketch.for_epsilon(8, 1024, 65536), 8),
    (HadamardCountMeanSketch.for_epsilon(4, 32768, 1024), 4),
]


@pytest.mark.parametrize(("m", "epsilon"), DEPLOYED, ids=str)
def test_apples_parameters_cost_the_epsilon_that_they_are_made_from(m: CountMeanSketch, epsilon: int) -> None:
    exact = account(m).epsilon(0)
    assert exact.rigour is Rigour.EXACT
    assert epsilon * (1 - 1e-12) <= exact.low <= exact.high <= epsilon


@pytest.mark.parametrize(("m", "epsilon"), DEPLOYED, ids=str)
def test_collisions_leave_delta_enclosed_to_one_part_in_width(m: CountMeanSketch, epsilon: int) -> None:
    delta = account(m).delta(epsilon / 2)
    assert delta.rigour is (Rigour.INTERVAL if m.apart.collisions else Rigour.EXACT)
    assert delta.high * (1 - 1 / m.width) <= delta.low <= delta.high
    assert delta.low > 0


@pytest.mark.parametrize("m", [CountMeanSketch(4, 5, Fraction(3, 4), 9), HadamardCountMeanSketch(2, 3, Fraction(3, 4), 5)], ids=str)
def test_the_pair_that_collides_least_is_found_where_all_are_searched(m: CountMeanSketch) -> None:
    table = m.buckets(range(m.domain)).tolist()
    alike = {pair: sum(a == b for a, b in zip(*(table[x] for x in pair), strict=True))
             for pair in combinations(m.inputs, 2)}  # fmt: skip
    assert m.apart.certain
    assert m.apart.collisions == Fraction(min(alike.values()), m.hashes) == Fraction(alike[m.apart.pair], m.hashes)


def test_values_that_always_collide_are_not_told_apart() -> None:
    m = next(m for m in (HadamardCountMeanSketch(2, 1, Fraction(3, 4), d) for d in range(2, 9)))
    table = m.buckets(range(m.domain)).ravel()
    expected = np.log(3) if len(set(table.tolist())) > 1 else 0
    assert account(m).epsilon(0).high == pytest.approx(expected)


@pytest.mark.parametrize(("m", "epsilon"), DEPLOYED[1:2], ids=str)
def test_a_deployed_sketch_keeps_each_coordinate_with_probability_p(
    m: CountMeanSketch, epsilon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, x = 4_000, 7
    monkeypatch.setattr(count_mean_sketch, "_BLOCK", 3 * m.width)  # many blocks, the last one not whole
    views = m.sample(x, size, np.random.default_rng(1))
    assert views.shape == (size, 1 + m.width)
    assert views.dtype == np.uint16
    own = np.zeros((size, m.width), dtype=bool)
    own[np.arange(size), m.buckets(x)[views[:, 0]]] = True
    for chosen, p in ((own, m.p), (~own, 1 - m.p)):
        n = np.count_nonzero(chosen)
        ones = np.count_nonzero(views[:, 1:][chosen])
        assert abs(ones - n * float(p)) <= 6 * np.sqrt(n * float(p * (1 - p)))
    assert len(np.unique(views[:, 0])) > 0.9 * size * (1 - size / m.hashes / 2)


@pytest.mark.parametrize(
    "m", [CountMeanSketch(64, 512, Fraction(99, 100), 50), HadamardCountMeanSketch(64, 512, Fraction(99, 100), 50)]
)
def test_the_hash_functions_that_are_used_leave_the_counts_nearly_alone(m: CountMeanSketch) -> None:
    data = np.repeat(np.arange(50), np.arange(50))
    counts = np.arange(50)
    error = m.truth(data) - counts
    assert np.abs(error.mean()) < 1
    assert np.abs(error).max() < 6 * np.sqrt(np.sum(counts**2) / m.width / m.hashes)
