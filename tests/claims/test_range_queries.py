"""Rows about range queries: their numbers at the paper's parameters, and nothing that fails by a rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants.claims.range_queries import (
    Setting,
    accuracy,
    all_boxes_error,
    binary_logarithm,
    box_error,
    largest_column,
    node_error,
)
from ldpaudit.mechanisms.range_queries import HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.mechanisms.shuffled_hadamard import printed_rho

LEVEL = 1e-6
F = Fraction


@pytest.mark.parametrize(
    ("m", "node", "box"),
    [
        (HadamardRangeQueries(10**6, 1024, 20, 74982), 1194.9, 22704),
        (HadamardRangeQueries(10**6, 1024, 20, 3768), 270.8, 5145.7),
        (RangeQueries(10**6, 1024, 20, 377), 87.97, 1671.5),
    ],
    ids=str,
)
def test_errors_at_a_thousand_values_are_those_of_bernstein(
    m: HadamardRangeQueries | RangeQueries, node: float, box: float
) -> None:
    assert node_error(m, F(1, 10)).high == pytest.approx(node, rel=1e-4)
    assert box_error(m, F(1, 10)).high == pytest.approx(box, rel=1e-4)
    assert box_error(m, F(1, 10)).high == pytest.approx(19 * node_error(m, F(1, 10)).high, rel=1e-12)


def test_dividing_epsilon_and_delta_among_ten_widths_asks_for_two_hundred_times_the_noise() -> None:
    assert printed_rho(F(1, 10), F(1, 10**7), 1) == 69915


def test_the_error_of_a_node_covers_the_exact_binomial() -> None:
    m = RangeQueries(4096, 64, 12, 300)
    found, hits = node_error(m, F(1, 10)).high, (m.rho + 1) * m.users
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
    bound = all_boxes_error(m, beta).high
    assert stats.binom.sf(int(np.sum(np.abs(off).max(axis=1) > bound)) - 1, len(off), float(beta)) > LEVEL
    assert np.abs(off).max() > bound / 2
    most = (m.rho + 2**m.dimensions) * m.users * float(m.hit) * g.most_terms
    assert 0.6 * most < off.var(axis=0).max() < 1.35 * most, "300 runs, of which the largest of all boxes' variances"
    assert bound < box_error(m, beta).high


def test_a_thousand_values_ranges_are_within_less_than_a_third_of_their_nodes_errors() -> None:
    m = RangeQueries(10**6, 1024, 20, 377)
    hits, nats = (m.rho + 2) * m.users * float(m.hit) * 19, math.log(20 * 1024 * 1025 / 2)
    bound = (2 * nats / 3 + math.sqrt(4 * nats**2 / 9 + 2 * hits * nats)) / (1 - float(m.hit))
    assert all_boxes_error(m, F(1, 10)).high == pytest.approx(bound, rel=1e-9)
    assert bound < box_error(m, F(1, 10)).high / 3


@pytest.mark.parametrize("grid", [Grid(8), Grid(100), Grid(5, 2)], ids=str)
def test_the_largest_column_is_counted(grid: Grid) -> None:
    assert largest_column(grid) == max(len(grid.column(value)) for value in range(grid.cells)) == grid.most_nodes


def test_a_logarithm_of_a_power_of_two_is_exact_and_of_another_number_no_less() -> None:
    assert [binary_logarithm(1 << i) for i in (1, 10, 20)] == [1, 10, 20]
    assert 6.6438561897747 < binary_logarithm(100) < 6.6438561897748


def test_a_simulation_keeps_what_theorem_5_9_promises_and_is_not_far_below_it() -> None:
    s = Setting(F(1), F(1, 10**6), 1 << 12, 1 << 5)
    rng, (promise,) = np.random.default_rng(5), accuracy(s)
    errors = []
    for _ in range(20):
        data = promise.data(rng)
        errors.append(promise.error(data, s.mechanism.run(data, rng)))
    missed = sum(error > promise.alpha for error in errors)
    assert stats.binom.sf(missed - 1, len(errors), promise.beta) > LEVEL
    assert max(errors) > promise.alpha / 40
