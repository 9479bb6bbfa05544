"""Deviations of counts: bounds above what enumeration finds, and exact values equal to it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.deviations import (
    any_outside,
    bernstein,
    expected_largest,
    expected_largest_binomial,
    largest_of_one_and_others,
    outside,
)
from ldpaudit.core.working_precision import working_precision
from ldpaudit.errors import Unsupported

F = Fraction


def law(n: int, p: Fraction) -> list[Fraction]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def enumerated(n: int, p: Fraction, sums: int) -> Fraction:
    masses = law(n, p)
    every = product(range(n + 1), repeat=sums)
    return sum((math.prod(masses[k] for k in counts) * max(abs(k - n * p) for k in counts) for counts in every), F(0))


def bound(variance: Fraction, sums: int) -> float:
    with working_precision(160):
        return float(expected_largest(variance, sums))


@pytest.mark.parametrize(
    ("variance", "sums", "value"), [(F(1), 500, 5.6281), (F(1, 100), 500_000, 2.9363), (F(100), 1000, 41.4483)]
)
def test_the_bound_of_an_expected_largest_deviation_is_lambert_s_formula(variance: Fraction, sums: int, value: float) -> None:
    assert bound(variance, sums) == pytest.approx(value, abs=5e-5)
    log, v = math.log(2 * sums), float(variance)
    from scipy.special import lambertw

    formula = (log - v) / lambertw((log - v) / (math.e * v)).real - v
    assert float(expected_largest(variance, sums)) == pytest.approx(formula, rel=1e-12)


@given(
    variance=st.fractions(F(1, 100), 10**9),
    other=st.fractions(F(1, 100), 10**9),
    others=st.sampled_from((0, 1, 50, 10**6)),
    nats=st.floats(0, 50),
)
def test_one_sum_and_others_are_bounded_by_the_least_exponential_moment(
    variance: Fraction, other: Fraction, others: int, nats: float
) -> None:
    with working_precision(160):
        found = float(largest_of_one_and_others(variance, other, others, flint.arb(nats)))
        alike = float(largest_of_one_and_others(variance, variance, others, flint.arb(0)))
    assert alike == pytest.approx(bound(variance, 1 + others), rel=1e-6)
    s = np.exp(np.linspace(-15, 5, 4001))
    phi = np.expm1(s) - s
    terms = np.logaddexp(float(variance) * phi, float(other) * phi + math.log(others) if others else -np.inf)
    assert found == pytest.approx(np.min((nats + math.log(2) + terms) / s), rel=1e-4)


def test_where_lambert_s_formula_is_0_over_0_the_bound_is_its_limit() -> None:
    v = F(math.log(2 * 500)).limit_denominator(10**9)
    assert bound(v, 500) == pytest.approx(float(v) * (math.e - 1), rel=1e-9)


def test_for_wide_laws_the_bound_is_the_normal_law_s() -> None:
    for variance in (10**12, 10**30):
        assert bound(F(variance), 500) == pytest.approx(math.sqrt(2 * variance * math.log(1000)), rel=1e-4)


@pytest.mark.parametrize(
    ("n", "p", "sums"),
    [(7, F(1, 3), 3), (6, F(1, 2), 2), (1, F(1, 10), 4), (5, F(9, 10), 1), (1, F(1, 2), 3), (1, F(1, 4), 1)],
)
def test_an_expected_largest_binomial_deviation_is_what_enumeration_finds(n: int, p: Fraction, sums: int) -> None:
    with working_precision(128):
        found, truth = expected_largest_binomial(n, p, sums), enumerated(n, p, sums)
        assert found.overlaps(ball(truth))
        assert float(found.rad()) < 1e-25


@given(n=st.integers(1, 10**6), p=st.fractions(F(1, 1000), F(999, 1000)), sums=st.integers(1, 10**6))
def test_no_bound_is_below_the_exact_expected_largest_deviation(n: int, p: Fraction, sums: int) -> None:
    with working_precision(128):
        assert expected_largest_binomial(n, p, sums) < expected_largest(n * p * (1 - p), sums)


@given(n=st.integers(1, 10**5), p=st.fractions(F(1, 1000), F(999, 1000)), nats=st.floats(0.1, 300))
def test_a_deviation_by_bernstein_is_exceeded_no_more_often_than_it_says(n: int, p: Fraction, nats: float) -> None:
    with working_precision(128):
        reach = bernstein(ball(n * p * (1 - p)), ball(F(nats)))
        assert outside(n, p, F(math.ceil(float(reach)))) <= 2 * (-ball(F(nats))).exp()


def test_how_likely_a_deviation_is_equals_the_sum_of_the_masses_beyond() -> None:
    n, p = 9, F(1, 3)
    for reach in (F(0), F(1), F(3, 2), F(6), F(7)):
        beyond = sum((mass for k, mass in enumerate(law(n, p)) if abs(k - 3) > reach), F(0))
        assert outside(n, p, reach).overlaps(ball(beyond))
        assert any_outside(n, p, reach, 5).overlaps(ball(1 - (1 - beyond) ** 5))


def test_what_is_outside_the_domain_or_too_wide_is_refused_in_a_line() -> None:
    for variance, sums in ((F(0), 1), (F(1), 0)):
        with pytest.raises(ValueError, match="variance > 0 and sums >= 1"):
            expected_largest(variance, sums)
    with pytest.raises(Unsupported, match="deviations are not summed"):
        expected_largest_binomial(10**20, F(1, 2), 2)
