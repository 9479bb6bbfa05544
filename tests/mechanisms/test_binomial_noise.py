"""Binomial and Skellam noise on counts: reference numbers, both directions, and enumeration in rationals."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from ldpaudit import Repeat, account
from ldpaudit.accountants.aggregation.added_noise import AddedNoise, noise_profile
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.pld.finite import channel_profile
from ldpaudit.enclosure import Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.binomial_noise import BinomialNoise
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.skellam import Skellam

F = Fraction
MILLIONTH = F(1, 10**6)
CHANGES = st.lists(st.integers(-2, 2), min_size=2, max_size=3).filter(any).map(tuple)


@pytest.mark.parametrize(
    ("m", "delta", "truth"),
    [
        (BinomialNoise(1000, change=(1, -1)), MILLIONTH, ".3528810784659417595309974595398"),
        (BinomialNoise(1000), MILLIONTH, ".2441425008202983459967541468045"),
        # The other direction needs .4946519397919145: the profile is the larger one.
        (BinomialNoise(100, F(1, 4)), F(1, 1000), ".6206410356763428046982153331954"),
        (BinomialNoise(100, F(3, 4), (-1,)), F(1, 1000), ".6206410356763428046982153331954"),
        (Skellam(F(100), (1, -1)), MILLIONTH, ".5693890247017407332476319324196"),
        (Skellam(F(100)), MILLIONTH, ".3894584007009331445349144061652"),
    ],
)
def test_epsilon_is_that_of_the_reference(m: CountNoise, delta: Fraction, truth: str) -> None:
    found = account(m).epsilon(delta)
    assert found.rigour is Rigour.EXACT
    assert F(truth) in found or (found.low, found.high) == pytest.approx((float(F(truth)),) * 2, rel=1e-15)
    assert found.relative_width < 1e-9


def test_of_one_count_each_tail_is_summed_in_rationals() -> None:
    n, g, goal = 100, F(1, 4), F(1, 1000)
    p = [math.comb(n, k) * g**k * (1 - g) ** (n - k) for k in range(n + 1)]
    tails = [(sum(p[max(t - 1, 0) :], F(0)), sum(p[t:], F(0))) for t in range(n + 2)]
    up = max((a - goal) / b for a, b in tails if b)
    down = max((1 - b - goal) / (1 - a) for a, b in tails if a < 1)
    assert float(math.log(up)) == pytest.approx(0.4946519397919145, rel=1e-14)
    assert account(BinomialNoise(n, g)).epsilon(goal).high == pytest.approx(math.log(max(up, down)), rel=1e-14)


@given(
    coins=st.integers(1, 4), gamma=st.sampled_from((F(1, 2), F(1, 5), F(2, 3))), change=CHANGES,
    nats=st.floats(0, 6), delta=st.fractions(F(1, 10**6), F(9, 10)),
)  # fmt: skip
@example(coins=3, gamma=F(1, 5), change=(2, -1, 1), nats=1.0, delta=F(1, 2))
def test_several_counts_agree_with_all_rows_in_rationals(
    coins: int, gamma: Fraction, change: tuple[int, ...], nats: float, delta: Fraction
) -> None:
    m = BinomialNoise(coins, gamma, change)
    oracle = channel_profile(m)
    found = noise_profile(Masses.binomial(coins, gamma), change, "in floats")
    for ours, truth in ((found.delta(nats), oracle.delta(nats)), (found.epsilon(delta), oracle.epsilon(delta))):
        assert ours.low <= truth.high
        assert truth.low <= ours.high
        assert ours.low == ours.high or ours.high - ours.low <= 1e-9 * max(ours.high, 1e-3)


def test_what_one_input_never_shows_costs_its_probability_however_large_epsilon_is() -> None:
    found = account(BinomialNoise(10, change=(1, -1)))
    mass = 1 - (1 - F(1, 1024)) ** 2
    assert found.delta(600).low == pytest.approx(float(mass), rel=1e-12)
    assert found.epsilon(mass / 2).low == math.inf
    assert found.epsilon(mass * F(11, 10)).high < math.inf


@pytest.mark.parametrize("parties", [2, 3])
def test_releases_of_even_noise_are_enclosed_closely_around_all_their_counts(parties: int) -> None:
    several, once = account(Repeat(Skellam(F(30)), parties)), account(Skellam(F(30), (1,) * parties))
    for delta in (1e-2, 1e-6):
        ours, truth = several.epsilon(delta), once.epsilon(delta)
        assert ours.low <= truth.low <= truth.high <= ours.high <= ours.low * 1.003


def test_products_that_are_too_small_for_floats_count_as_left_out() -> None:
    for gamma, least in ((F(1, 10**4), 1e-290), (F(1, 3), 0.0)):
        found = account(BinomialNoise(60, gamma, (1, 1)))
        assert isinstance(found, AddedNoise)
        assert found.above[0].first.outside == least


def test_skellam_noise_of_a_large_variance_is_nearly_gaussian() -> None:
    found = account(Skellam(F(10**6))).epsilon(1e-6)
    assert found.relative_width < 1e-6
    assert found.low == pytest.approx(0.0027182, rel=1e-4)
    with pytest.raises(Unsupported, match="Skellam noise of variance 1e"):
        account(Skellam(F(10**9)))


def test_the_samplers_have_their_laws() -> None:
    rng, size = np.random.default_rng(9), 200_000
    for m, law in ((Skellam(F(3)), Masses.skellam(F(3))), (BinomialNoise(20, F(1, 3)), Masses.binomial(20, F(1, 3)))):
        seen = Counter(m.noise(size, rng).tolist())
        cells = [(seen[law.first + i], p * size) for i, p in enumerate(law.values.tolist()) if p * size >= 10]
        assert stats.chi2.sf(sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1) > 1e-9


def test_an_estimate_takes_the_mean_of_the_coins_off() -> None:
    m = BinomialNoise(100, F(1, 4), (1, -1))
    assert m.estimate([[30, 20], [25, 25]]).tolist() == [5, -5]


@pytest.mark.parametrize("coins", [0, 2**49 + 1])
def test_coins_have_a_range(coins: int) -> None:
    with pytest.raises(ValueError, match="coins"):
        BinomialNoise(coins)


def test_a_change_beyond_all_noise_is_seen() -> None:
    found = account(Skellam(F(3), (-(2**50), 1))).delta(5)
    assert 1 - 1e-12 < found.low <= found.high == 1
