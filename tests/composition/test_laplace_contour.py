"""Many coordinates with Laplace noise: the contour integral against the closed form, other splits and the normal limit."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import pytest
from scipy.stats import norm

from ldpaudit import account
from ldpaudit.accountants.composition import laplace_contour, laplace_vector
from ldpaudit.accountants.composition.laplace_contour import Groups
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates, LaplaceGroups
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Repeat

F = Fraction


def integral(groups: Groups, epsilon: Fraction) -> flint.arb:
    with working_precision(160):
        return laplace_contour.delta(groups, epsilon)


def closed(count: int, step: Fraction, epsilon: Fraction) -> flint.arb:
    with working_precision(256):
        return laplace_vector._delta(LaplaceCoordinates(count, step, "the sum"), epsilon)


@pytest.mark.parametrize("epsilon", [F(0), F(2, 3)])
@pytest.mark.parametrize(("count", "step"), [(70, F(1, 50)), (300, F(1, 20)), (160, F(1, 2))])
def test_the_integral_is_the_closed_form(count: int, step: Fraction, epsilon: Fraction) -> None:
    found, truth = integral(((count, step),), epsilon), closed(count, step, epsilon)
    assert found.overlaps(truth)
    assert found.rad() < truth * 1e-5


@pytest.mark.parametrize("groups", [((120, F(1, 4)), (80, F(1, 4))), ((1, F(2)), (99, F(2)))])
def test_two_groups_of_one_step_are_one_group(groups: Groups) -> None:
    (count, step), (more, _) = groups
    found = integral(groups, F(5))
    assert found.overlaps(closed(count + more, step, F(5)))
    assert found.rad() < found.mid() * 1e-2


def test_a_group_of_tiny_steps_adds_next_to_nothing() -> None:
    alone, both = (integral(groups, F(3)) for groups in (((600, F(1, 5)),), ((600, F(1, 5)), (50, F(1, 10**9)))))
    assert abs(float(both / alone) - 1) < 1e-6


@pytest.mark.parametrize(("count", "step", "epsilon"), [(5, F(1, 2), F(1, 3)), (400, F(1, 20), F(1)), (401, F(1, 20), F(0))])
def test_the_coins_are_a_composition_of_randomized_responses(count: int, step: Fraction, epsilon: Fraction) -> None:
    responses = account(Repeat(KaryRandomizedResponse.for_epsilon(step, k=2), count)).delta(epsilon)
    share = ((1 + math.exp(-step)) / 2) ** count
    with working_precision(160):
        assert float(laplace_contour.coins(count, step, epsilon)) == pytest.approx(share * responses.high, rel=1e-10)
        assert laplace_contour.coins(count, step, count * step) == 0


@pytest.mark.parametrize("count", [10**6, 10**9, 10**12, 10**26])
def test_delta_tends_to_that_of_a_normal_law_like_one_over_the_root_of_the_coordinates(count: int) -> None:
    mu, epsilon = 0.1, 0.4
    step = F(mu / math.sqrt(count))
    limit = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    delta = LaplaceCoordinates(count, step, "").delta(epsilon)
    assert delta.high <= delta.low * (1 + 1e-9)
    assert abs(delta.high / limit - 1) < 10 / math.sqrt(count) + 1e-9


@pytest.mark.parametrize(("count", "step"), [(40_000, F(1, 200)), (10**9, F(1, 200_000))])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.01])
def test_epsilon_of_delta_is_where_delta_is_reached(count: int, step: Fraction, delta: float) -> None:
    profile = LaplaceCoordinates(count, step, "")
    found = profile.epsilon(delta)
    assert profile.delta(found.high).high <= delta <= profile.delta(found.low).low
    assert found.high <= found.low * (1 + 1e-5)


def test_where_the_sum_ends_and_the_integral_begins_delta_is_continuous() -> None:
    last = laplace_vector._MANY
    step, epsilon = F(1, 400), 0.2
    sum_of, integral_of = (LaplaceCoordinates(count, step, "").delta(epsilon) for count in (last, last + 1))
    assert sum_of.low < integral_of.low < sum_of.high * 1.02


@pytest.mark.parametrize("most", [F(1, 3), F(1)])
def test_fewer_coordinates_of_twice_the_step_are_never_more_private(most: Fraction) -> None:
    many, few = LaplaceCoordinates(20_000, most / 100, ""), LaplaceCoordinates(10_000, most / 50, "")
    mixed = LaplaceGroups(((10_000, most / 100), (5_000, most / 50)), "")
    for epsilon in (0.0, 1.0, 3.0):
        assert many.delta(epsilon).high < mixed.delta(epsilon).low
        assert mixed.delta(epsilon).high < few.delta(epsilon).low


def test_delta_is_0_from_the_largest_loss_on_and_below_every_float_before() -> None:
    profile = LaplaceCoordinates(10_000, F(1), "")
    assert profile.delta(10_000).high == 0
    assert profile.delta(9_999).high <= 5e-324
    assert profile.epsilon(0).high == 10_000
    assert LaplaceGroups(((3, F(1)), (5, F(2))), "").epsilon(0).low == 13
