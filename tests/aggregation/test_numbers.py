"""Sums of noisy numbers: references of 30 digits, closed forms, and brute force over all data sets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations

import flint
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.interpolate import CubicSpline

from ldpaudit import Aggregate, Compose, Mechanism, Repeat, Shuffle, Unsupported, account
from ldpaudit.accountants.aggregation import clamped
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.numerics.laplace_sum import density
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import DiscreteLaplace, Gaussian, GaussianReport, Geometric, Laplace, TruncatedGeometric
from ldpaudit.neighbours import group
from tests.helpers import raises
from tests.oracles.sums import Outcomes, divergence, neighbouring, summed, worst, worst_of_both

F = Fraction
HALF, MILLIONTH = F(1, 2), F(1, 10**6)
LEFT = F(1, 10**12)
"""More than what a window of 20 integers leaves out of noise of alpha 1/5, and than what floats round."""


def window(alpha: Fraction, reach: int = 20) -> Outcomes:
    return {(z,): (1 - alpha) / (1 + alpha) * alpha ** abs(z) for z in range(-reach, reach + 1)}


def test_sums_of_integers_and_of_real_numbers_are_the_references() -> None:
    """A23, and A24 with its twelfth digit corrected: the sum's density is a polynomial times an exponential."""
    found = account(Aggregate(Geometric(3, HALF), 100)).epsilon(MILLIONTH)
    assert found.low < 0.5759540752571112857 < found.high < found.low * (1 + 1e-9)
    found = account(Aggregate(Laplace(F(1)), 10)).epsilon(MILLIONTH)
    assert found.low < 0.6500862362595168994 < found.high < found.low * (1 + 1e-9)


@given(
    st.fractions(F(1, 50), F(1, 5), max_denominator=50),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from([F(1), F(9, 8), F(3, 2), F(3), F(50)]),
    st.lists(st.just(F(1, 5)), max_size=1),
    st.integers(1, 2),
)
@settings(max_examples=25, deadline=None)
def test_a_sum_of_integers_costs_what_brute_force_over_all_data_sets_finds(
    alpha: Fraction, users: int, bound: int, x: Fraction, noise: list[Fraction], changed: int
) -> None:
    m = Geometric(bound, alpha)
    law = summed([*[window(alpha)] * users, *map(window, noise)])

    def shifted(held: Iterable[int]) -> Outcomes:
        return {(z + sum(held),): p for (z,), p in law.items()}

    truth = max(
        divergence(shifted((*first, *others)), shifted((*second, *others)), x)
        for others in combinations_with_replacement(m.inputs, users - changed)
        for first, second in permutations(combinations_with_replacement(m.inputs, changed), 2)
    )
    found = account(Aggregate(m, users, map(DiscreteLaplace, noise)), group(changed)).delta(math.log(x))
    assert found.low - LEFT <= truth <= found.high + LEFT
    assert found.high - found.low < LEFT


@given(
    st.fractions(F(1, 20), F(9, 10), max_denominator=20), st.sampled_from([(2, 3), (3, 2), (4, 1)]),
    st.sampled_from([F(1), F(9, 8), F(3, 2), F(3), F(50)]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_a_sum_of_clamped_integers_costs_what_brute_force_over_all_data_sets_finds(
    alpha: Fraction, size: tuple[int, int], x: Fraction, noisy: bool, few: bool
) -> None:
    """With all data sets looked at, exactly; as with many users, the truth lies between the ends."""
    users, m = size[0], TruncatedGeometric(size[1], alpha)
    truth = worst(m, users, x, noise=window(F(1, 5)) if noisy else None)
    found = account(Aggregate(m, users, [DiscreteLaplace(F(1, 5))] * noisy))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clamped, "_SETS", 64 if few else 0)
        low, high = found.delta(math.nextafter(math.log(x), 9)).low, found.delta(max(0.0, math.nextafter(math.log(x), 0))).high
    assert low - LEFT <= truth <= high + LEFT
    assert not few or high - low < 2 * LEFT


@pytest.mark.parametrize("x", [F(1), F(3), F(20)])
def test_rounds_of_one_clamped_integer_and_noise_cost_what_brute_force_says(x: Fraction) -> None:
    m = TruncatedGeometric(2, F(1, 4))
    pairs = list(neighbouring(m, 1, noise=window(F(1, 5))))
    found = account(Repeat(Aggregate(m, 1, [DiscreteLaplace(F(1, 5))]), 2)).delta(math.log(x))
    assert found.low - LEFT <= worst_of_both(pairs, pairs, x) <= found.high + LEFT


@pytest.mark.slow
def test_a_sum_of_many_clamped_integers_costs_less_than_their_shuffle_where_aggregators_add_noise() -> None:
    m, noise = TruncatedGeometric(2, HALF), DiscreteLaplace(F(9, 10))
    found, alone = (account(Aggregate(m, 100, added)).epsilon(MILLIONTH) for added in ([noise], []))
    assert 0 < found.low < found.high < 1.001 * found.low
    assert found.high < alone.low < alone.high <= account(Shuffle(m, 100)).epsilon(MILLIONTH).high < 1.1 * alone.low


@pytest.mark.few(5)
@pytest.mark.parametrize("users", [2, 3, 64, 65, 1000])
@pytest.mark.parametrize("shift", [F(1, 7), F(1), F(5, 2)])
def test_a_sum_of_real_numbers_costs_what_its_tails_say_at_thresholds_on_a_grid(users: int, shift: Fraction) -> None:
    """Every threshold attains something, and the best of many close ones nearly all: by an integral of the density in floats."""
    step, wide = 1e-3, math.sqrt(2 * users) * 12 + 30
    places = np.arange(-wide, wide, step)
    with working_precision(64):
        coarse = np.linspace(0, wide + 1, 400)
        logs = CubicSpline(coarse, [float(density(users, F(float(x))).log()) for x in coarse])
    masses = np.exp(logs(np.abs(places)) - logs(0))
    tails = masses[::-1].cumsum()[::-1] / masses.sum()
    back = round(float(shift) / step)
    profile = account(Aggregate(Laplace(1 / shift), users))
    for epsilon in (0.0, 0.3 * float(shift), 0.8 * float(shift)):
        found = profile.delta(epsilon)
        truth = float(np.max(tails[:-back] - math.exp(epsilon) * tails[back:]))
        assert found.high - found.low <= 1e-9 * found.high + 1e-18
        assert found.low == pytest.approx(truth, rel=2e-2, abs=1e-4 * float(shift) / math.sqrt(users))
    assert profile.delta(shift).high == 0
    assert profile.epsilon(0).low <= shift <= profile.epsilon(0).high
    for delta in (1e-3, 1e-9):
        ends = profile.epsilon(delta)
        assert profile.delta(ends.high).low <= delta <= profile.delta(ends.low).high
        assert ends.high <= ends.low * (1 + 1e-8)


def test_next_to_its_pure_epsilon_hardly_anything_is_left_of_a_sum_of_real_numbers() -> None:
    m = Laplace(Fraction(1, 3), Fraction(-1, 7), Fraction(2, 5))
    found, pure = account(Aggregate(m, 5)), Fraction(57, 35)
    for less in (Fraction(1, 10**17), Fraction(1, 10**400)):
        assert found.delta(pure - less).high < 1e-300


def test_normal_noises_of_users_are_one_of_their_variances_sum() -> None:
    m, one = GaussianReport(F(3), F(-1), F(4)), account(Gaussian(F(6), (5,)))
    assert account(Aggregate(m, 4)).epsilon(MILLIONTH).low == one.epsilon(MILLIONTH).low
    assert account(Aggregate(m, 4), group(3)).epsilon(MILLIONTH).low == account(Gaussian(F(6), (15,))).epsilon(MILLIONTH).low
    assert account(Repeat(Aggregate(m, 4), 9)).epsilon(MILLIONTH).low == account(Gaussian(F(2), (5,))).epsilon(MILLIONTH).low


def test_more_users_never_cost_and_a_group_costs_more() -> None:
    for m in (Geometric(3, HALF), Laplace(F(1)), GaussianReport(F(1))):
        found = [account(Aggregate(m, users)).epsilon(1e-6) for users in (1, 2, 10, 100, 10**4)]
        assert all(more.high < fewer.low for fewer, more in pairwise(found))
        assert found[0] == account(m).epsilon(1e-6)
        two = account(Aggregate(m, 100), group(2)).epsilon(1e-6)
        assert 2 * found[3].low < two.low <= two.high < 3 * found[3].high


@pytest.mark.slow
@pytest.mark.parametrize("m", [Geometric(3, HALF), pytest.param(Laplace(F(1)), marks=pytest.mark.slow)], ids=str)
def test_rounds_of_sums_compose(m: Mechanism) -> None:
    one, five = (account(plan).epsilon(1e-6) for plan in (Aggregate(m, 100), Repeat(Aggregate(m, 100), 5)))
    assert account(Aggregate(Repeat(m, 5), 100)).epsilon(1e-6) == five
    assert five.high < 1.002 * five.low
    assert 2 * one.high < five.low < five.high < 3 * one.low
    both = account(Compose([Aggregate(m, 100), Aggregate(Geometric(1, HALF), 100)])).epsilon(1e-6)
    assert one.high < both.low <= both.high < 2 * one.low


def test_noise_of_aggregators_adds_to_that_of_integers() -> None:
    m, noise = Geometric(3, HALF), DiscreteLaplace(F(9, 10))
    both = account(Aggregate(m, 100, [noise]))
    alone = account(DiscreteLaplace(F(9, 10), (3,)))
    assert both.epsilon(1e-6).high < min(account(Aggregate(m, 100)).epsilon(1e-6).low, alone.epsilon(1e-6).low)
    assert both.epsilon(0).high == alone.epsilon(0).high
    for real in (Laplace(F(1)), GaussianReport(F(1))):
        raises(Unsupported, "these reports are real numbers", account, Aggregate(real, 9, [noise]))
    raises(Unsupported, "spreads over", account, Aggregate(Geometric(1000, F(99999, 100000)), 10**6))


@pytest.mark.parametrize(("n", "alpha"), [(2, F(1, 2)), (3, F(1, 10**12)), (40, F(9, 10)), (1000, F(1, 3)), (5, F(999, 1000))])
def test_masses_of_a_sum_of_discrete_laplace_noises_are_as_right_as_they_say(n: int, alpha: Fraction) -> None:
    """By the series over the smaller one of the two negative binomial numbers."""
    found = Masses.discrete_laplace_sum(n, alpha)
    at = range(0, len(found.values) // 2, 1 + len(found.values) // 20)
    with working_precision(400):
        a = flint.arb(alpha.numerator) / alpha.denominator
        for k in at:
            one = (1 - a) ** n
            term = flint.arb(flint.fmpz.bin_uiui(n + k - 1, k)) * a**k * one * one
            total, j = flint.arb(0), 0
            while j < 50 or term > total * flint.arb(2) ** -60:
                total += term
                term *= a * a * (flint.arb(n + j) / (j + 1)) * (flint.arb(n + k + j) / (k + j + 1))
                j += 1
            value = flint.arb(float(found.values[k - found.first]))
            assert value <= total * (1 + found.error)
            assert total <= value * (1 + found.error) + found.outside
    assert float(found.values.sum()) == pytest.approx(1, abs=1e-9)
    assert found.error < 1e-8
    assert found.outside < 1e-36
