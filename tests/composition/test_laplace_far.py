"""Coordinates with Laplace noise that are shifted very far: a Poisson number against coins, and the closed form."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import flint
import pytest

from ldpaudit import account
from ldpaudit.accountants.composition import laplace_contour, laplace_far, laplace_vector
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, JLHeavyHitter

F = Fraction
PATIENCE = 8.0
"""Seconds of a processor that a query may take here: each takes a second or three, and took more than ten, or hours."""


@pytest.mark.parametrize(
    ("count", "doubled", "step", "below"),
    [
        (1, 0, F(3), 2),
        (2, 0, F(3), 5),
        (20, 0, F(10), 19),
        (40, 0, F(60), 119),
        (5, 7, F(9), 17),
        (20, 0, F(40), 90),
        (3, 3, F(99), 890),
    ],
)
def test_close_to_the_largest_loss_delta_is_the_closed_form(count: int, doubled: int, step: Fraction, below: int) -> None:
    profile = LaplaceCoordinates(count, step, "the sum", doubled=doubled)
    epsilon = profile.pure - below
    with working_precision(256):
        found = laplace_far.delta(profile.groups, epsilon)
        truth = laplace_vector._delta(profile, epsilon)
        assert found is not None
        assert found.overlaps(truth)
        assert found.rad() < truth * 2.0**-40


def test_where_losses_are_cut_off_before_epsilon_nothing_is_claimed() -> None:
    with working_precision(192):
        assert laplace_far.delta(((20, F(3)),), F(20)) is None
        assert laplace_far.delta(((1 << 20, F(10**9)),), F(10**15)) is None


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
        monkeypatch.setattr(laplace_far, "_MOST", 0)
        monkeypatch.setattr(laplace_contour, "_MOST_NODES", 0)
        found = laplace_contour.delta(profile.groups, epsilon)
        assert found.contains(truth)


def test_tiny_noise_takes_no_longer_than_large_noise() -> None:
    start = time.process_time()
    for scale in (F(1, 10**6), F(1, 10**12), F(1, 100)):
        products = account(FreshProducts(100, 2, scale, 100))
        found = products.epsilon(1e-6)
        assert 0 < found.low < found.high < 4e2 / scale
        assert products.delta(found.high).high <= 1e-6
    rows = account(JLHeavyHitter(100, 20_000, F(1, 10**6), 100))
    assert 0 < rows.epsilon(1e-6).low <= rows.epsilon(1e-6).high
    assert rows.delta(1.0).low > 1 - 2.0**-30
    assert time.process_time() - start < PATIENCE


def test_the_least_positive_delta_is_found_in_seconds() -> None:
    start = time.process_time()
    profile = account(GlpsHeavyHitter(2**62, 9, 100, 2**20, F(10**4)))
    found = profile.epsilon(5e-324)
    assert profile.delta(found.high).high <= 5e-324
    assert 0.42 < found.low < found.high < 0.6
    assert time.process_time() - start < PATIENCE


def test_a_poisson_number_exceeds_coins_as_often_as_listed() -> None:
    with working_precision(128):
        mean, coins = flint.arb(3), 4
        masses = [mean**k * (-mean).exp() / math.factorial(k) for k in range(coins + 1)]
        tails = [1 - sum(masses[: heads + 1], flint.arb(0)) for heads in range(coins + 1)]
        listed = sum((math.comb(coins, heads) * tail / 2**coins for heads, tail in enumerate(tails)), flint.arb(0))
        assert laplace_far.poisson_exceeds_coins(mean, coins).overlaps(listed)
