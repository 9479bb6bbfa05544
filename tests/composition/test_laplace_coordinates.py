"""Many coordinates with Laplace noise: the closed form, the contour integral and a Poisson number, held against each other."""

import math
import time
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from ldpaudit import Repeat, account
from ldpaudit.accountants.composition import laplace_contour, laplace_vector
from ldpaudit.accountants.composition.laplace_contour import Groups
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates, LaplaceGroups
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import FreshProducts, GlpsHeavyHitter, JLHeavyHitter, KaryRandomizedResponse
from tests.helpers import at_most, some
from tests.samples import meet

F = Fraction
PERIODS, PER_PERIOD = 1000, 400
FLOATS = 2e-7  # of the trapezoid sums, whose tail is extrapolated; 1000 periods are left off with about 1e-7


def bromwich(kinds: list[tuple[int, float]], epsilon: float) -> float:
    """Delta of numbers of coordinates with their steps, from the moment generating function of the loss.

    It is the integral of M(z) e**(-z epsilon) / (z (z + 1)) along a vertical line through the saddle point, over 2 pi i.
    """

    def log_integrand(z: object) -> NDArray[Any]:
        w = np.asarray(z) + 0.5
        logs = [n * (np.log(np.cosh(w * s) + np.sinh(w * s) / (2 * w)) - s / 2) for n, s in kinds]
        return np.asarray(sum(logs) - np.asarray(z) * epsilon - np.log(np.asarray(z) * (np.asarray(z) + 1)))

    line = np.linspace(0.05, 400, 20_000)
    through = line[np.argmin(log_integrand(line))]
    width = 2 * np.pi / min(s for _, s in kinds) / PER_PERIOD
    terms = np.exp(log_integrand(through + 1j * width * np.arange(PERIODS * PER_PERIOD))).real
    terms[0] /= 2
    half, whole = (terms[: n * PER_PERIOD].sum() * width / np.pi for n in (PERIODS // 2, PERIODS))
    return float(2 * whole - half)  # the rest of the sum falls as one over its length


@pytest.mark.parametrize(
    ("count", "doubled", "step", "epsilon"),
    [(1, 1, F(1, 2), F(1, 3)), (6, 5, F(1, 4), F(1)), (84, 18, F(1, 60), F(1, 2)), (42, 30, F(1, 30), F(1)),
     (84, 18, F(1, 60), F(3, 2)), (0, 63, F(1, 65), F(1))],
)  # fmt: skip
def test_delta_of_two_kinds_of_coordinates_is_the_integral_of_their_generating_function(
    count: int, doubled: int, step: Fraction, epsilon: Fraction
) -> None:
    found = LaplaceCoordinates(count, step, "", doubled=doubled).delta(epsilon)
    kinds = [(count, float(step)), (doubled, 2 * float(step))]
    assert bromwich(kinds, float(epsilon)) == pytest.approx(found.low, rel=FLOATS)
    assert found.high <= found.low * (1 + 1e-14)


@pytest.mark.parametrize("left_out", [0.3, 1e-2, 1e-6])
def test_the_terms_left_out_are_bounded(left_out: float, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LaplaceCoordinates(20, F(1, 5), "", doubled=4).delta(1)
    monkeypatch.setattr(laplace_vector, "_NEGLIGIBLE", left_out)
    monkeypatch.setattr(laplace_vector, "_kept", laplace_vector._kept.__wrapped__)
    cut = LaplaceCoordinates(20, F(1, 5), "", doubled=4).delta(1)
    assert cut.low < whole.low <= whole.high <= cut.high


@given(
    count=st.integers(0, 9), doubled=st.integers(1, 6), step=st.fractions(F(1, 40), 3, max_denominator=40),
    share=st.fractions(0, 1, max_denominator=50),
)  # fmt: skip
def test_two_coordinates_cost_no_more_than_one_that_is_shifted_twice_as_far(
    count: int, doubled: int, step: Fraction, share: Fraction
) -> None:
    apart = LaplaceCoordinates(count + 2, step, "", doubled=doubled - 1)
    joined = LaplaceCoordinates(count, step, "", doubled=doubled)
    assert apart.pure == joined.pure
    epsilon = share * apart.pure
    assert apart.delta(epsilon).low <= joined.delta(epsilon).high


@pytest.mark.parametrize("delta", [0, 1e-300, 1e-6, 0.3])
@pytest.mark.parametrize(("count", "step"), [(1, F(3, 2)), (2, F(1, 7)), (30, F(1, 20))])
def test_coordinates_that_are_all_doubled_are_coordinates_of_twice_the_step(count: int, step: Fraction, delta: float) -> None:
    doubled, plain = LaplaceCoordinates(0, step, "", doubled=count), LaplaceCoordinates(count, 2 * step, "")
    for ours, theirs in ((doubled.epsilon(delta), plain.epsilon(delta)), (doubled.delta(step), plain.delta(step))):
        assert meet(ours, theirs)
        assert ours.high <= ours.low * (1 + 1e-9)


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


@pytest.mark.parametrize(
    ("profile", "width"),
    [(LaplaceCoordinates(40_000, F(1, 200), ""), 1e-5), (LaplaceCoordinates(10**9, F(1, 200_000), ""), 1e-5),
     (LaplaceCoordinates(42, F(1, 65), "", doubled=40), 1e-12)],
)  # fmt: skip
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.01])
def test_epsilon_of_delta_is_where_delta_is_reached(profile: LaplaceCoordinates, width: float, delta: float) -> None:
    found = profile.epsilon(delta)
    assert profile.delta(found.high).high <= delta <= profile.delta(found.low).low
    assert found.high <= found.low * (1 + width)
    assert profile.epsilon(0).high == pytest.approx(float(profile.pure), rel=1e-15)


def test_where_the_estimate_is_no_help_epsilon_is_known_to_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = LaplaceCoordinates(30, F(1, 20), "").epsilon(1e-3)
    monkeypatch.setattr(LaplaceCoordinates, "estimate", lambda *_: flint.arb(0.9))
    found = LaplaceCoordinates(30, F(1, 20), "without an estimate").epsilon(1e-3)
    assert found.low <= truth.low <= truth.high <= found.high <= found.low / 0.9


def test_a_delta_that_is_nearer_to_1_than_floats_are_has_an_epsilon_too() -> None:
    far = LaplaceCoordinates(40, F(60), "")
    found = far.epsilon(1 - F(1, 10**20))
    assert found.low <= far.epsilon(1 - F(1, 10**15)).high < found.high <= far.pure


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


PATIENCE = 8.0
"""Seconds of a processor that a query may take here: each takes a second or three, and took more than ten, or hours."""


@pytest.mark.parametrize(
    ("count", "doubled", "step", "below"),
    [(1, 0, F(3), 2), (2, 0, F(3), 5), (20, 0, F(10), 19), (40, 0, F(60), 119), (5, 7, F(9), 17), (20, 0, F(40), 90),
     (3, 3, F(99), 890)],
)  # fmt: skip
def test_close_to_the_largest_loss_delta_is_the_closed_form(count: int, doubled: int, step: Fraction, below: int) -> None:
    profile = LaplaceCoordinates(count, step, "the sum", doubled=doubled)
    epsilon = profile.pure - below
    with working_precision(256):
        truth = laplace_vector._delta(profile, epsilon)
        for route in (laplace_contour.delta_of_far, laplace_contour.delta, laplace_contour.estimate):
            found = some(route(profile.groups, epsilon))
            assert found.overlaps(truth)
            assert found.rad() < truth * 2.0**-40


def test_where_losses_are_cut_off_before_epsilon_nothing_is_claimed() -> None:
    with working_precision(192):
        assert laplace_contour.delta_of_far(((20, F(3)),), F(20)) is None
        assert laplace_contour.delta_of_far(((1 << 20, F(10**9)),), F(10**15)) is None


@pytest.mark.parametrize("epsilon", [F(0), F(1, 2), F(5)])
def test_the_floor_is_below_the_closed_form(epsilon: Fraction) -> None:
    profile = LaplaceCoordinates(12, F(1), "the sum")
    with working_precision(192):
        assert laplace_contour.floor(profile.groups, epsilon) < laplace_vector._delta(profile, epsilon)


@pytest.mark.parametrize("epsilon", [F(1990), F(1900), F(1760)])
def test_an_enclosure_without_nodes_contains_the_closed_form(epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = LaplaceCoordinates(40, F(50), "the sum")
    with working_precision(192):
        truth = laplace_vector._delta(profile, epsilon)
        monkeypatch.setattr(laplace_contour, "_MOST_FAR", 0)
        monkeypatch.setattr(laplace_contour, "_MOST_NODES", 0)
        assert laplace_contour.delta(profile.groups, epsilon).contains(truth)


def test_tiny_noise_takes_no_longer_than_large_noise() -> None:
    with at_most(PATIENCE, time.process_time):
        for scale in (F(1, 10**6), F(1, 10**12), F(1, 100)):
            products = account(FreshProducts(100, 2, scale, 100))
            found = products.epsilon(1e-6)
            assert 0 < found.low < found.high < 4e2 / scale
            assert products.delta(found.high).high <= 1e-6
        rows = account(JLHeavyHitter(100, 20_000, F(1, 10**6), 100))
        assert 0 < rows.epsilon(1e-6).low <= rows.epsilon(1e-6).high
        assert rows.delta(1.0).low > 1 - 2.0**-30


@pytest.mark.slow
def test_the_least_positive_delta_is_found_in_seconds() -> None:
    with at_most(PATIENCE, time.process_time):
        profile = account(GlpsHeavyHitter(2**62, 9, 100, 2**20, F(10**4)))
        found = profile.epsilon(5e-324)
        assert profile.delta(found.high).high <= 5e-324
        assert 0.42 < found.low < found.high < 0.6


def test_a_poisson_number_exceeds_coins_as_often_as_listed() -> None:
    with working_precision(128):
        mean, coins = flint.arb(3), 4
        masses = [mean**k * (-mean).exp() / math.factorial(k) for k in range(coins + 1)]
        tails = [1 - sum(masses[: heads + 1], flint.arb(0)) for heads in range(coins + 1)]
        listed = sum((math.comb(coins, heads) * tail / 2**coins for heads, tail in enumerate(tails)), flint.arb(0))
        assert laplace_contour.poisson_exceeds_coins(mean, coins).overlaps(listed)
