"""Certified tails against sums in rationals, against each other, and against mpmath at 60 digits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import flint
import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ldpaudit.accountants.numerics import binomial as b
from ldpaudit.accountants.numerics import hypergeometric
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_pmf, hypergeometric_upper
from ldpaudit.accountants.numerics.log_concave import series_factor
from ldpaudit.accountants.numerics.precision import at_most, narrow
from ldpaudit.accountants.numerics.trinomial import descending
from ldpaudit.enclosure import Enclosure

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
    factor = b._fraction_factor(n, p, 1 - p, k, 4)
    assert factor is not None
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
    summed, factor = [], hypergeometric._urn_factor

    def counted(*urn: int) -> flint.arb:
        summed.append(urn)
        return factor(*urn)

    monkeypatch.setattr(hypergeometric, "_urn_factor", counted)
    widths = []
    for bits in (53, 128, 53, 128):
        with flint.ctx.workprec(bits):
            widths.append(float(hypergeometric_upper(10_007, 1_003, 101, 31).rel_accuracy_bits()))
    assert len(summed) == 2
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
    [
        (lambda: b.binomial_upper(-1, Fraction(1, 2), 0), "n >= 0"),
        (lambda: b.binomial_upper(3, Fraction(3, 2), 0), "0 <= p <= 1"),
        (lambda: hypergeometric_pmf(5, 6, 1, 0), "marked <= population"),
    ],
)
def test_an_argument_outside_the_domain_is_refused_by_name(call: Callable[[], object], required: str) -> None:
    with pytest.raises(ValueError, match=required):
        call()


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
