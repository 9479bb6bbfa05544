"""Certified tails, and how far counts stray, against sums in rationals, against each other, and against mpmath at 60 digits."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb
from unittest.mock import Mock

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from ldpaudit import Enclosure, Unsupported
from ldpaudit.accountants.numerics import binomial as b, deviations, hypergeometric
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_pmf, hypergeometric_upper
from ldpaudit.accountants.numerics.log_concave import series_factor
from ldpaudit.accountants.numerics.precision import at_most, narrow
from ldpaudit.accountants.numerics.trinomial import descending
from ldpaudit.core.working_precision import working_precision
from tests.helpers import raises, some
from tests.oracles.pairs import heads

BITS = 128
LOST_BITS = 8  # bits that a tail may lose of the working precision

probabilities = st.fractions(0, 1, max_denominator=10**6)
counts = st.integers(0, 40)


@pytest.fixture(autouse=True)
def _precision() -> object:
    with flint.ctx.workprec(BITS):
        yield


def assert_encloses(found: flint.arb, truth: Fraction) -> None:
    """The ball contains the rational, exactly compared, and is narrow relative to it."""
    if truth.denominator == 1:
        assert found.contains(flint.arb(int(truth)))
    with flint.ctx.workprec(8 * BITS):
        assert found.lower() <= ball(truth)
        assert found.upper() >= ball(truth)
    assert truth in (0, 1) or found.rel_accuracy_bits() >= BITS - LOST_BITS


def binomial(n: int, p: Fraction, ks: range) -> Fraction:
    return sum((comb(n, k) * p**k * (1 - p) ** (n - k) for k in ks), Fraction(0))


def summed_up(population: int, marked: int, draws: int, ks: range) -> Fraction:
    ways = sum(comb(marked, k) * comb(population - marked, draws - k) for k in ks if 0 <= k <= draws)
    return Fraction(ways, comb(population, draws))


@given(counts, probabilities, st.integers(-2, 42))
def test_a_binomial_tail_contains_the_rational_sum(n: int, p: Fraction, k: int) -> None:
    assert_encloses(b.binomial_upper(n, p, k), binomial(n, p, range(max(k, 0), n + 1)))
    assert_encloses(b.binomial_lower(n, p, k), binomial(n, p, range(min(k, n) + 1)))
    assert_encloses(b.binomial_pmf(n, p, k), binomial(n, p, range(k, k + 1)) if 0 <= k <= n else Fraction(0))


@st.composite
def urns(draw: st.DrawFn) -> tuple[int, int, int]:
    population = draw(st.integers(0, 30))
    return population, draw(st.integers(0, population)), draw(st.integers(0, population))


@given(urns(), st.integers(-2, 32))
def test_a_hypergeometric_tail_contains_the_rational_sum(urn: tuple[int, int, int], k: int) -> None:
    draws = urn[2]
    assert_encloses(hypergeometric_upper(*urn, k), summed_up(*urn, range(max(k, 0), draws + 1)))
    assert_encloses(hypergeometric_pmf(*urn, k), summed_up(*urn, range(k, k + 1)))


@given(st.integers(1, 12), st.tuples(*[st.integers(1, 50)] * 3))
def test_the_trinomial_sweep_gives_the_coefficients_of_the_power(total: int, weights: tuple[int, int, int]) -> None:
    p, w, q = (Fraction(x, sum(weights)) for x in weights)
    law = [Fraction(1)]
    for _ in range(total):
        padded = [Fraction(0), Fraction(0), *law, Fraction(0), Fraction(0)]
        law = [q * padded[i + 2] + w * padded[i + 1] + p * padded[i] for i in range(len(law) + 2)]
    found = dict(descending(total, (ball(p), ball(w), ball(q)), total))
    assert set(found) == set(range(total + 1))
    for index, mass in found.items():
        assert_encloses(mass, law[total + index])


@given(st.integers(100, 10**6), st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000), st.data())
def test_the_continued_fraction_agrees_with_the_series(n: int, p: Fraction, data: st.DataObject) -> None:
    mode = int((n + 1) * p)
    assume(mode < n)
    k = data.draw(st.integers(mode + 1, n))
    factor = some(b._fraction_factor(n, p, 1 - p, k, 4))
    odds = ball(p) / ball(1 - p)
    series = series_factor(lambda j: odds * (n - j) / (j + 1), n - k, k)
    assert factor.overlaps(series)
    assert factor.rel_accuracy_bits() >= BITS - 64  # no guard bits here, and each level of the fraction costs some


def summed(term: Callable[[int], mpmath.mpf], start: int) -> mpmath.mpf:
    """Terms from a start beyond the mode on, until they no longer count at 60 digits."""
    total, k = mpmath.mpf(0), start
    while True:
        here = term(k)
        total, k = total + here, k + 1
        if here < total * mpmath.mpf(10) ** -62:
            return total


def log_comb(n: int, k: int) -> mpmath.mpf:
    return mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)


def assert_is(found: flint.arb, truth: mpmath.mpf) -> None:
    """Within the 30 digits that 128 bits have to spare."""
    text = mpmath.nstr(truth, 50, strip_zeros=False)
    assert abs(found / flint.arb(text) - 1) < flint.arb("1e-30")


LARGE = [
    (10**6, Fraction(1, 2), 520_000),
    (10**9, Fraction(1, 2), 530_000_000),
    (10**12, Fraction(1, 10**11), 120),
    (10**9, Fraction(1, 10**6), 2_300),
    (400, Fraction(1, 3), 399),
]


@pytest.mark.parametrize(("n", "p", "k"), LARGE)
def test_a_large_binomial_tail_is_what_mpmath_sums_at_60_digits(n: int, p: Fraction, k: int) -> None:
    with mpmath.workdps(90):
        heads, tails = mpmath.mpf(p.numerator) / p.denominator, mpmath.mpf((1 - p).numerator) / p.denominator

        def term(j: int) -> mpmath.mpf:
            if j > n:
                return mpmath.mpf(0)
            return mpmath.exp(log_comb(n, j) + j * mpmath.log(heads) + (n - j) * mpmath.log(tails))

        assert_is(b.binomial_upper(n, p, k), summed(term, k))
        assert_is(b.binomial_lower(n, 1 - p, n - k), summed(term, k))


def test_a_tail_is_summed_once_for_each_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    summed, widths = Mock(side_effect=hypergeometric._urn_factor), []
    monkeypatch.setattr(hypergeometric, "_urn_factor", summed)
    for bits in (53, 128, 53, 128):
        with flint.ctx.workprec(bits):
            widths.append(float(hypergeometric_upper(10_007, 1_003, 101, 31).rel_accuracy_bits()))
    assert summed.call_count == 2
    assert widths[0] == widths[2] < 56 < 120 < widths[1] == widths[3]


def test_a_large_hypergeometric_tail_is_what_mpmath_sums_at_60_digits() -> None:
    population, marked, draws, k = 10**12, 10**9, 10**6, 2_300
    with mpmath.workdps(90):
        total = log_comb(population, draws)

        def term(j: int) -> mpmath.mpf:
            return mpmath.exp(log_comb(marked, j) + log_comb(population - marked, draws - j) - total)

        truth = summed(term, k)
        assert truth < mpmath.mpf(10) ** -200
        assert_is(hypergeometric_upper(population, marked, draws, k), truth)


def test_a_window_of_too_many_masses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    half = flint.arb(1) / 2
    monkeypatch.setattr(b, "_LARGEST_WINDOW", len(b.binomial_window(100, half, half, 20)[0]) - 1)
    raises(Unsupported, "masses is supported", b.binomial_window, 100, half, half, 20)


@pytest.mark.parametrize("distance", [1, 3, 10, 37, 100, 1000])
def test_relative_accuracy_is_kept_however_far_out(distance: int) -> None:
    n = 10**9
    k = n // 2 + distance * 15_811
    upper = b.binomial_upper(n, Fraction(1, 2), k)
    assert upper.rel_accuracy_bits() >= BITS - LOST_BITS
    assert upper > 0
    assert (upper + b.binomial_lower(n, Fraction(1, 2), k - 1)).overlaps(flint.arb(1))


def test_a_transcendental_probability_is_enclosed_by_its_rational_neighbours() -> None:
    n, k = 10_000, 3_900
    p = flint.arb(-1).exp()
    low, high = (Fraction(int((p * 2**80).lower().floor().fmpz()) + i, 2**80) for i in (0, 1))
    found = b.binomial_upper(n, p, k)
    assert b.binomial_upper(n, low, k) < found
    assert found < b.binomial_upper(n, high, k)
    assert found.rel_accuracy_bits() >= BITS - n.bit_length() - LOST_BITS


def test_a_complement_that_is_known_better_is_used() -> None:
    tiny = flint.arb("1e-60")
    assert b.binomial_pmf(10, 1 - tiny, 9).rel_accuracy_bits() < 0
    assert b.binomial_pmf(10, 1 - tiny, 9, tiny).rel_accuracy_bits() >= BITS - LOST_BITS


def test_degenerate_laws_are_exact() -> None:
    zero, one = Fraction(0), Fraction(1)
    for found, value in (
        (b.binomial_upper(10**12, zero, 1), 0),
        (b.binomial_upper(10**12, one, 10**12), 1),
        (b.binomial_upper(10**12, Fraction(1, 2), 0), 1),
        (b.binomial_upper(10**12, Fraction(1, 2), 10**12 + 1), 0),
        (b.binomial_lower(10**12, Fraction(1, 2), -1), 0),
        (b.binomial_pmf(0, Fraction(1, 3), 0), 1),
        (hypergeometric_upper(10**12, 10**12, 5, 5), 1),
        (hypergeometric_upper(10**12, 0, 5, 1), 0),
    ):
        assert found.is_exact()
        assert found == value


@pytest.mark.parametrize(
    ("call", "required"),
    [(lambda: b.binomial_upper(-1, Fraction(1, 2), 0), "n >= 0"),
     (lambda: b.binomial_upper(3, Fraction(3, 2), 0), "0 <= p <= 1"),
     (lambda: hypergeometric_pmf(5, 6, 1, 0), "marked <= population")],
)  # fmt: skip
def test_an_argument_outside_the_domain_is_refused_by_name(call: Callable[[], object], required: str) -> None:
    raises(ValueError, required, call)


@given(st.fractions(-(10**6), 10**6))
def test_a_narrow_enclosure_holds_its_value_between_two_floats(value: Fraction) -> None:
    found: Enclosure = narrow(lambda: ball(value), "a rational")
    assert value in found
    assert found.high - found.low <= 4e-16 * abs(value)


@given(st.fractions(-(10**6), 10**6), st.fractions(-(10**6), 10**6))
def test_a_comparison_is_decided_unless_it_is_a_tie(value: Fraction, limit: Fraction) -> None:
    assert at_most(lambda: ball(value).exp().log(), limit) is (None if value == limit else value < limit)


def test_a_value_that_no_precision_tells_is_anything() -> None:
    assert narrow(lambda: None, "nothing").low == -float("inf")
    assert narrow(lambda: None, "nothing").high == float("inf")


F = Fraction


def enumerated(n: int, p: Fraction, sums: int) -> Fraction:
    masses = heads(n, p)
    every = product(range(n + 1), repeat=sums)
    return sum((math.prod(masses[k] for k in counts) * max(abs(k - n * p) for k in counts) for counts in every), F(0))


def bound(variance: Fraction, sums: int) -> float:
    with working_precision(160):
        return float(deviations.expected_largest(variance, sums))


@pytest.mark.parametrize(
    ("variance", "sums", "value"), [(F(1), 500, 5.6281), (F(1, 100), 500_000, 2.9363), (F(100), 1000, 41.4483)]
)
def test_the_bound_of_an_expected_largest_deviation_is_lambert_s_formula(variance: Fraction, sums: int, value: float) -> None:
    assert bound(variance, sums) == pytest.approx(value, abs=5e-5)
    log, v = math.log(2 * sums), float(variance)
    from scipy.special import lambertw

    formula = (log - v) / lambertw((log - v) / (math.e * v)).real - v
    assert float(deviations.expected_largest(variance, sums)) == pytest.approx(formula, rel=1e-12)


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
        found = float(deviations.largest_of_one_and_others(variance, other, others, flint.arb(nats)))
        alike = float(deviations.largest_of_one_and_others(variance, variance, others, flint.arb(0)))
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


@pytest.mark.parametrize(("n", "p", "sums"), [
    (7, F(1, 3), 3), (6, F(1, 2), 2), (1, F(1, 10), 4), (5, F(9, 10), 1), (1, F(1, 2), 3), (1, F(1, 4), 1),
])  # fmt: skip
def test_an_expected_largest_binomial_deviation_is_what_enumeration_finds(n: int, p: Fraction, sums: int) -> None:
    with working_precision(128):
        found, truth = deviations.expected_largest_binomial(n, p, sums), enumerated(n, p, sums)
        assert found.overlaps(ball(truth))
        assert float(found.rad()) < 1e-25


@given(n=st.integers(1, 10**6), p=st.fractions(F(1, 1000), F(999, 1000)), sums=st.integers(1, 10**6))
def test_no_bound_is_below_the_exact_expected_largest_deviation(n: int, p: Fraction, sums: int) -> None:
    with working_precision(128):
        assert deviations.expected_largest_binomial(n, p, sums) < deviations.expected_largest(n * p * (1 - p), sums)


@given(n=st.integers(1, 10**5), p=st.fractions(F(1, 1000), F(999, 1000)), nats=st.floats(0.1, 300))
def test_a_deviation_by_bernstein_is_exceeded_no_more_often_than_it_says(n: int, p: Fraction, nats: float) -> None:
    with working_precision(128):
        reach = deviations.bernstein(ball(n * p * (1 - p)), ball(F(nats)))
        assert deviations.outside(n, p, F(math.ceil(float(reach)))) <= 2 * (-ball(F(nats))).exp()


def test_how_likely_a_deviation_is_equals_the_sum_of_the_masses_beyond() -> None:
    n, p = 9, F(1, 3)
    for reach in (F(0), F(1), F(3, 2), F(6), F(7)):
        beyond = sum((mass for k, mass in enumerate(heads(n, p)) if abs(k - 3) > reach), F(0))
        assert deviations.outside(n, p, reach).overlaps(ball(beyond))
        assert deviations.any_outside(n, p, reach, 5).overlaps(ball(1 - (1 - beyond) ** 5))


def test_what_is_outside_the_domain_or_too_wide_is_refused_in_a_line() -> None:
    for variance, sums in ((F(0), 1), (F(1), 0)):
        raises(ValueError, "variance > 0 and sums >= 1", deviations.expected_largest, variance, sums)
    raises(Unsupported, "deviations are not summed", deviations.expected_largest_binomial, 10**20, F(1, 2), 2)


def test_half_of_a_wide_symmetric_law_lies_above_its_mode() -> None:
    n = 10**6
    found, truth = b.binomial_upper(n, Fraction(1, 2), n // 2 + 1), (1 - b.binomial_pmf(n, Fraction(1, 2), n // 2)) / 2
    assert found.overlaps(truth)
    assert found.rel_accuracy_bits() > 30
