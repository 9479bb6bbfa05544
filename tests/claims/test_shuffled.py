"""What GGKPV prints of shuffled protocols at its own parameters, beside numbers that were found in another way."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldpaudit import Shuffle, account, literature
from ldpaudit.accountants.claims import randomized_response, range_queries, unary_encoding
from ldpaudit.accountants.claims.shuffled_hadamard import EXAMPLES, Setting, accuracy, failure, sufficient_rho
from ldpaudit.mechanisms import HadamardRangeQueries, KaryRandomizedResponse, RangeQueries, ShuffledHadamard
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.mechanisms.shuffled_hadamard import printed_rho
from tests.claims.test_literature import printed_at
from tests.samples import SEEDED_LEVEL

HADAMARD = {"epsilon": Fraction(0)}, {"delta": Fraction(1)}, {"domain": 6}, {"k": 0}, {"beta": Fraction(1)}
TENTH = Fraction(1, 10)
CLOSED: list[Any] = [(Fraction(2), TENTH, 10**6, 4), (Fraction(1), TENTH, 1, 4), (Fraction(1), TENTH, 10**6, 4, Fraction(1))]
REFUSED: list[Callable[[], object]] = [
    *(partial(ShuffledHadamard.as_printed, epsilon, delta, 4, 4) for epsilon, delta in ((0, 0.1), (1, 0), (1, 1))),
    *(partial(replace, EXAMPLES[0], **change) for change in HADAMARD),
    *(partial(module.Setting, *given) for module in (randomized_response, unary_encoding) for given in CLOSED),
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_settings_outside_the_domain_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="need"):
        call()


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1.0, 1e-6, 1), (0.25, 1e-12, 1), (0.9, 1e-3, 4)])
def test_the_printed_blanket_is_the_lemmas(epsilon: float, delta: float, k: int) -> None:
    m = ShuffledHadamard.as_printed(epsilon, delta, users=1 << 13, domain=64, k=k)
    assert m.rho == math.ceil(36 * k * k * math.log(math.e * k / (epsilon * delta)) / epsilon**2)
    assert m.tau == 13


@pytest.mark.parametrize(("s", "rho", "ratio"), [
    (Setting(Fraction(1), Fraction(1, 10**6), 1 << 20, 1 << 10), 43, 12.4),
    (Setting(Fraction(1, 2), Fraction(1, 10**9), 1 << 14, 1 << 16), 239, 13.5),
    (Setting(Fraction(1, 10), Fraction(1, 10**6), 1 << 16, 1 << 8), 2_642, 23.3),
])  # fmt: skip
def test_a_twelfth_of_the_printed_blanket_is_enough(s: Setting, rho: int, ratio: float) -> None:
    found = sufficient_rho(s)
    assert found.low == found.high == rho
    assert s.mechanism.rho / found.high == pytest.approx(ratio, abs=0.1)
    enough, less = (account(replace(s.mechanism, rho=r)).delta(s.epsilon) for r in (rho, rho - 1))
    assert enough.high <= s.delta < less.low
    assert [replace(s, users=n).power.holds for n in (2, 3, 4)] == [True, False, True]


def test_the_failure_of_an_estimate_is_two_binomial_tails() -> None:
    m = ShuffledHadamard(users=64, domain=8, tau=6, rho=20)
    trials, p = 64 * 21, 1 / 64
    reached = 10.05 * (1 - p)
    above, below = math.floor(trials * p + reached), math.ceil(trials * p - reached) - 1
    truth = stats.binom.sf(above, trials, p) + stats.binom.cdf(below, trials, p)
    assert failure(m, 10.05).high == pytest.approx(truth, rel=1e-9)
    rng, data = np.random.default_rng(7), np.zeros(64, dtype=int)
    off = sum(abs(m.run(data, rng)[5]) > 10.05 for _ in range(800))
    assert stats.binomtest(off, 800, truth).pvalue > SEEDED_LEVEL


@pytest.mark.parametrize("k", [1, 3])
def test_the_printed_errors_are_exceeded_no_more_often(k: int) -> None:
    s = Setting(Fraction(1), Fraction(1, 100), 256, 32, k=k)
    for claim in accuracy(s):
        found = literature.measure(s, claim, 60, seed=8, confidence=1 - SEEDED_LEVEL)
        assert found.holds is not False
        assert found.upper > claim.alpha / 10


F = Fraction


@pytest.mark.parametrize(("m", "node", "box"), [
    (HadamardRangeQueries(10**6, 1024, 20, 74982), 1194.9, 22704),
    (HadamardRangeQueries(10**6, 1024, 20, 3768), 270.8, 5145.7),
    (RangeQueries(10**6, 1024, 20, 377), 87.97, 1671.5),
], ids=str)  # fmt: skip
def test_errors_at_a_thousand_values_are_those_of_bernstein(
    m: HadamardRangeQueries | RangeQueries, node: float, box: float
) -> None:
    assert range_queries.node_error(m, F(1, 10)).high == pytest.approx(node, rel=1e-4)
    assert range_queries.box_error(m, F(1, 10)).high == pytest.approx(box, rel=1e-4)
    assert range_queries.box_error(m, F(1, 10)).high == pytest.approx(19 * range_queries.node_error(m, F(1, 10)).high, rel=1e-12)


def test_dividing_epsilon_and_delta_among_ten_widths_asks_for_two_hundred_times_the_noise() -> None:
    assert printed_rho(F(1, 10), F(1, 10**7), 1) == 69915


def test_the_error_of_a_node_covers_the_exact_binomial() -> None:
    m = RangeQueries(4096, 64, 12, 300)
    found, hits = range_queries.node_error(m, F(1, 10)).high, (m.rho + 1) * m.users
    p = float(m.hit)
    beyond = stats.binom.sf(hits * p + found * (1 - p), hits, p) + stats.binom.cdf(hits * p - found * (1 - p), hits, p)
    assert 0.1 / 64 / 50 < beyond <= 0.1 / 64


@pytest.mark.parametrize("m", [RangeQueries(4096, 16, 12, 20), RangeQueries(1024, 4, 10, 9, 2)], ids=str)
def test_all_boxes_together_are_within_an_error_that_grows_with_the_root_of_their_nodes(m: RangeQueries) -> None:
    rng, g = np.random.default_rng(3), m.grid
    data = np.zeros(m.users, dtype=np.int64)
    lines = [(a, b) for a in range(m.side) for b in range(a, m.side)]
    boxes = np.array(list(product(lines, repeat=m.dimensions)))
    off = np.array([g.totals(m.run(data, rng) - g.held(data), boxes) for _ in range(300)])
    beta = F(1, 10)
    bound = range_queries.all_boxes_error(m, beta).high
    assert stats.binom.sf(int(np.sum(np.abs(off).max(axis=1) > bound)) - 1, len(off), float(beta)) > SEEDED_LEVEL
    assert np.abs(off).max() > bound / 2
    most = (m.rho + 2**m.dimensions) * m.users * float(m.hit) * g.most_terms
    assert 0.6 * most < off.var(axis=0).max() < 1.35 * most, "300 runs, of which the largest of all boxes' variances"
    assert bound < range_queries.box_error(m, beta).high


def test_a_thousand_values_ranges_are_within_less_than_a_third_of_their_nodes_errors() -> None:
    m = RangeQueries(10**6, 1024, 20, 377)
    hits, nats = (m.rho + 2) * m.users * float(m.hit) * 19, math.log(20 * 1024 * 1025 / 2)
    bound = (2 * nats / 3 + math.sqrt(4 * nats**2 / 9 + 2 * hits * nats)) / (1 - float(m.hit))
    assert range_queries.all_boxes_error(m, F(1, 10)).high == pytest.approx(bound, rel=1e-9)
    assert bound < range_queries.box_error(m, F(1, 10)).high / 3


@pytest.mark.parametrize("grid", [Grid(8), Grid(100), Grid(5, 2)], ids=str)
def test_the_largest_column_is_counted(grid: Grid) -> None:
    assert range_queries.largest_column(grid) == max(len(grid.column(value)) for value in range(grid.cells)) == grid.most_nodes


def test_a_logarithm_of_a_power_of_two_is_exact_and_of_another_number_no_less() -> None:
    assert [range_queries.binary_logarithm(1 << i) for i in (1, 10, 20)] == [1, 10, 20]
    assert 6.6438561897747 < range_queries.binary_logarithm(100) < 6.6438561897748


def test_a_simulation_keeps_what_theorem_5_9_promises_and_is_not_far_below_it() -> None:
    s = range_queries.Setting(F(1), F(1, 10**6), 1 << 12, 1 << 5)
    (promise,) = range_queries.accuracy(s)
    found = literature.measure(s, promise, 20, seed=5, confidence=1 - SEEDED_LEVEL)
    assert found.holds is not False
    assert found.upper > promise.alpha / 40


def test_the_least_noise_lies_between_one_that_data_refute_and_one_that_is_certified() -> None:
    s = randomized_response.EXAMPLES[1]
    (needed,) = (each.found for each in printed_at("randomized_response", s) if "draws" in each.sentence)
    for gamma, end in ((needed.low, "low"), (needed.high, "high")):
        delta = account(Shuffle(KaryRandomizedResponse.with_uniform_draw(F(gamma), s.values), s.users)).delta(s.epsilon)
        assert (getattr(delta, end) > s.delta) is (end == "low")


def test_the_proof_s_bound_of_the_error_is_lambert_s_at_the_mean_of_a_poisson_law() -> None:
    rows = [each for s in unary_encoding.EXAMPLES for each in unary_encoding.error(s) if "Lambert" in each.sentence]
    assert [each.claimed for each in rows] == pytest.approx([785.7, 2941, 712.9], rel=2e-4)
    assert all(1 < each.looseness < 1.3 for each in rows)


@pytest.mark.parametrize(("epsilon0", "of_blanket"), [(0.1, 0.680), (0.5, 0.591), (1, 0.428), (3, 0.303)])
def test_the_constant_of_theorem_a_1_is_below_that_of_the_blanket_and_below_one(epsilon0: float, of_blanket: float) -> None:
    users, delta = 10**4, 1e-6
    assert epsilon0 <= math.log(users / math.log(1 / delta)) / 2
    found = account(Shuffle(KaryRandomizedResponse.for_epsilon(epsilon0, k=2), users)).epsilon(delta)
    c = found.high / (min(1, epsilon0) * math.exp(epsilon0) * math.sqrt(math.log(1 / delta) / users))
    assert 0.7 * of_blanket < c <= 1.001 * of_blanket


def test_an_error_is_simulated_where_all_users_hold_one_value() -> None:
    for module, stem in ((randomized_response, "randomized_response"), (unary_encoding, "unary_encoding")):
        setting = module.Setting(F(1), F(1, 10**6), 10**5, 200 if module is unary_encoding else 8)
        (claim,) = literature.accuracy(stem, setting)
        found = literature.measure(setting, claim, 60, seed=1)
        assert found.failures <= 3
        assert 1 < found.looseness < 3
