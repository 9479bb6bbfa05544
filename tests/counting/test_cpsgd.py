"""cpSGD's binomial mechanism beside the exact one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from math import comb

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import binom

from ldpaudit.accountants.claims.published import published
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.theorems import Change, cpsgd_as_printed, cpsgd_epsilon, cpsgd_hypotheses

HALF, MILLIONTH, ONE = Fraction(1, 2), Fraction(1, 10**6), Change.of_one_count(1)


def test_the_formula_gives_the_numbers_of_public_implementations() -> None:
    assert 0.6375 < cpsgd_epsilon(2000, HALF, ONE, MILLIONTH).high < 0.6376
    for p, fewest in ((HALF, 1483), (Fraction(1, 4), 1978)):
        met = [all(each.holds for each in cpsgd_hypotheses(n, p, ONE, MILLIONTH)) for n in (fewest - 1, fewest)]
        assert met == [False, True]


def test_every_sensitivity_and_the_dimension_has_its_own_term() -> None:
    # At p = 1/2: b = 1/3, c = 7 sqrt(2) / 4, d = 2/3, as draft-case-ppm-binomial-dp-01 prints them.
    delta, change, v = 1e-6, Change(5, 11, 3, 7), 500.0
    far, tail = math.log(1.25 / delta), math.log(10 / delta)
    first = math.sqrt(11 * 2 * far / v)
    second = (math.sqrt(11) * 7 * math.sqrt(2) / 4 * math.sqrt(tail) + 5 / 3) / (v * (1 - delta / 10))
    third = 3 * (2 / 3 * far + 2 / 3 * math.log(20 * 7 / delta) * tail) / v
    assert cpsgd_epsilon(2000, HALF, change, delta).high == pytest.approx(first + second + third, rel=1e-12)


@st.composite
def settings(draw: st.DrawFn) -> tuple[int, Fraction, int, Fraction]:
    """Coins whose printed epsilon is about 1 and less: most settings that are drawn at random have a larger one."""
    p, sensitivity = draw(st.fractions(Fraction(1, 200), HALF, max_denominator=1000)), draw(st.integers(1, 200))
    delta = draw(st.sampled_from([Fraction(9, 10), Fraction(1, 100), MILLIONTH, Fraction(1, 10**12)]))
    far, tail = math.log(1.25 / delta), math.log(20 / delta)
    variance = draw(st.integers(2, 200)) / 2 * sensitivity * (2 * sensitivity * far + 3 * tail**2)
    return 2000 + math.ceil(variance / (p * (1 - p))), p, sensitivity, delta


@given(settings())
@example((4 * 10**8, HALF, 1800, MILLIONTH))  # the first term is nearly all of it, and epsilon nearly 1
def test_where_its_hypotheses_are_met_and_it_is_at_most_one_it_is_never_below_the_exact_epsilon(
    setting: tuple[int, Fraction, int, Fraction],
) -> None:
    trials, p, sensitivity, delta = setting
    change = Change.of_one_count(sensitivity)
    assume(all(each.holds for each in cpsgd_hypotheses(trials, p, change, delta)))
    assume(cpsgd_epsilon(trials, p, change, delta).high <= 1)
    exact = ShiftProfile(trials, p, sensitivity).epsilon(delta)
    assert exact.high <= cpsgd_as_printed(trials, p, change, delta).low


def test_with_every_printed_hypothesis_met_it_fails_for_a_few_coins_that_are_counted_in_rationals() -> None:
    coins, shift, delta = 2000, 223, Fraction(1, 100)
    change, tails = Change.of_one_count(shift), list(accumulate(comb(coins, k) for k in range(coins, -1, -1)))
    assert all(each.holds for each in cpsgd_hypotheses(coins, HALF, change, delta))
    here, there = (Fraction(tails[coins - 1226 + moved], 2**coins) for moved in (shift, 0))
    # e**51.1 = (e**5.11)**10 <= 165.68**10
    assert cpsgd_epsilon(coins, HALF, change, delta).high < 51.1
    assert here - Fraction("165.68") ** 10 * there > 42 * delta
    profile = ShiftProfile(coins, HALF, shift)
    (row,) = published(profile, delta, profile.epsilon(delta))
    assert (row.name, row.standing) == ("cpSGD binomial mechanism", Standing.FAILS)


def test_where_its_epsilon_exceeds_one_it_may_be_below_the_truth() -> None:
    trials, sensitivity, delta = 4 * 10**8, 20_000, Fraction(1, 10**6)
    change = Change.of_one_count(sensitivity)
    assert all(each.holds for each in cpsgd_hypotheses(trials, HALF, change, delta))
    epsilon = cpsgd_epsilon(trials, HALF, change, delta).high
    assert 10 < epsilon < ShiftProfile(trials, HALF, sensitivity).epsilon(delta).low
    # One event, without our accountants: the noisy count is at least five standard deviations above the mean.
    event = trials // 2 + 63_000
    here, there = (float(binom.sf(event - 1 - shift, trials, 0.5)) for shift in (sensitivity, 0))
    assert here - math.exp(epsilon) * there > 2 * delta


@pytest.mark.parametrize(
    ("trials", "p", "sensitivity", "delta", "says"),
    [
        (2000, Fraction(3, 4), 1, MILLIONTH, "0 < p <= 1/2"),
        (2000, HALF, 1, Fraction(1), "0 < delta < 1"),
        (1000, HALF, 1, MILLIONTH, "= 250 >= 23 ln"),
        (2000, HALF, 251, MILLIONTH, "= 500 >= 2 Delta_inf"),
    ],
)
def test_a_hypothesis_that_is_not_met_is_named(trials: int, p: Fraction, sensitivity: int, delta: Fraction, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        cpsgd_as_printed(trials, p, Change.of_one_count(sensitivity), delta)
