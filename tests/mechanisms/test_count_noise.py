"""Noise on counts: what all laws share, and discrete Laplace, binomial and Skellam noise against rational arithmetic."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ldpaudit import Aggregate, Neighbours, Repeat, Rigour, Run, Shuffle, Subsample, Unsupported, account
from ldpaudit.accountants import discrete_gaussian
from ldpaudit.accountants.aggregation.added_noise import INFINITE, AddedNoise, noise_profile
from ldpaudit.accountants.discrete_laplace import profile
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.pld.finite import channel_profile
from ldpaudit.mechanisms import BinomialNoise, DiscreteLaplace, Gaussian, PolyaNoise, RoundedGaussian, Skellam
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianShares
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.registry import ParameterError, build
from tests.helpers import raises, run, slow, typed
from tests.oracles.pairs import excess, joint, noise
from tests.samples import matches, meet, table

F = Fraction
HALF = F(1, 2)
CHANGES = st.lists(st.integers(-3, 3), min_size=1, max_size=3).filter(any).map(tuple)
CLOSE = 1e-9
"""Relative, to which what is not EXACT by a formula is certified."""
WIDEST = 1e-7  # of several changes multiplied out: 6e-8 is the widest of 4,000 random ones, (-2, -2, -1) at alpha = 4/5


def cells(k: int, alpha: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Probabilities of a count's views without and with a change by k; all views at or beyond an end are one."""
    views = range(min(k, 0), max(k, 0) + 1)
    inside = [(noise(y, alpha), noise(y - k, alpha)) for y in views]
    rest = alpha / (1 - alpha)  # of a geometric series, over its last term
    return [*inside, *((p * rest, q * rest) for p, q in (inside[0], inside[-1]))]


def enumerated(change: tuple[int, ...], alpha: Fraction, ratio: Fraction) -> Fraction:
    """delta at log(ratio), over all rows of cells."""
    return excess(joint(*(cells(k, alpha) for k in change)), ratio)


@pytest.mark.parametrize(("change", "ratio", "truth"), [
    ((1, -1), F(3, 2), F(5, 18)), ((1,), F(3, 2), F(1, 6)), ((2,), F(3, 2), F(5, 12)), ((3,), F(5, 2), F(11, 24)),
])  # fmt: skip
def test_the_pattern_of_a_change_matters_and_not_its_sum_alone(change: tuple[int, ...], ratio: Fraction, truth: Fraction) -> None:
    found = account(DiscreteLaplace(HALF, change)).delta(math.log(ratio))
    assert float(truth) == pytest.approx(found.high, rel=1e-15)
    assert enumerated(change, HALF, ratio) == truth


@given(change=CHANGES, alpha=st.fractions(F(1, 20), F(19, 20), max_denominator=20), ratio=st.fractions(1, 20, max_denominator=9))
@example(change=(3, -1), alpha=F(9, 10), ratio=F(1))
def test_delta_is_that_of_all_rows_of_views(change: tuple[int, ...], alpha: Fraction, ratio: Fraction) -> None:
    found = account(DiscreteLaplace(alpha, change)).delta(math.log(ratio))
    assert found.rigour is Rigour.EXACT
    assert found.low * (1 - 1e-13) - 1e-15 <= enumerated(change, alpha, ratio) <= found.high * (1 + 1e-13) + 1e-15


@given(change=CHANGES, alpha=st.sampled_from((F(1, 5), F(1, 2), F(4, 5))), nats=st.floats(0, 3), delta=st.floats(1e-9, 0.5))
@example(change=(1, -1, 2), alpha=F(1, 2), nats=0.5, delta=1e-6)
def test_laws_in_floats_multiplied_out_enclose_the_exact_profile(
    change: tuple[int, ...], alpha: Fraction, nats: float, delta: float
) -> None:
    exact = account(DiscreteLaplace(alpha, change))
    found = noise_profile(Masses.discrete_laplace(alpha), change, "in floats", INFINITE)
    for ours, truth in ((found.delta(nats), exact.delta(nats)), (found.epsilon(delta), exact.epsilon(delta))):
        assert meet(ours, truth)
        assert ours.high - ours.low <= WIDEST * max(ours.high, 1e-6)


@pytest.mark.parametrize(("change", "width"), [((1, 1, -2, 3), 1e-8), slow((1, 1, -1, 1, -2, 1), 1e-3)])
def test_many_counts_are_taken_together_without_leaving_the_enclosure(change: tuple[int, ...], width: float) -> None:
    alpha = F(3, 4)
    exact, found = account(DiscreteLaplace(alpha, change)), noise_profile(Masses.discrete_laplace(alpha), change, "in floats")
    pairs = [(found.delta(nats), exact.delta(nats)) for nats in (0, 0.1, 0.5)]
    for ours, truth in (*pairs, (found.epsilon(1e-3), exact.epsilon(1e-3)), (found.epsilon(1e-9), exact.epsilon(1e-9))):
        assert ours.low <= truth.low <= truth.high <= ours.high <= ours.low * (1 + width)


@pytest.mark.parametrize("change", [(100,), (101,), (60, -50)])
def test_epsilon_is_what_was_asked_for_whatever_the_change(change: tuple[int, ...]) -> None:
    found = account(DiscreteLaplace.for_epsilon(1, change))
    assert 1 - 1e-12 <= found.epsilon(0).low <= found.epsilon(0).high <= 1
    assert found.delta(1).high == 0
    assert 0 < found.epsilon(1e-6).high < 1


def test_a_long_change_costs_what_its_listed_losses_say() -> None:
    alpha = F(19, 20)
    listed, long = account(DiscreteLaplace(alpha, (60, 40))), account(DiscreteLaplace(alpha, (60, 41)))
    floats = noise_profile(Masses.discrete_laplace(alpha), (60, 40), "in floats", listed.epsilon(0))
    assert floats.delta(2).low <= listed.delta(2).high
    assert listed.delta(2).low <= floats.delta(2).high < long.delta(2).high < listed.delta(2).low * 1.02
    assert long.delta(2).relative_width < CLOSE


SPREADS: list[tuple[CountNoise, str]] = [
    (DiscreteLaplace(1 - F(1, 10**8), (100, 1)), r"9e.09 integers, and at most 4194304 are listed"),
    *((m, "") for m in (RoundedGaussian(F(10**5)), PolyaNoise(1 - F(1, 10**4), HALF), PolyaNoise(F(9, 10), F(10**6)))),
]  # fmt: skip


@pytest.mark.parametrize(("m", "how_far"), SPREADS, ids=str)
def test_noise_that_spreads_over_more_than_is_listed_is_refused(m: CountNoise, how_far: str) -> None:
    raises(Unsupported, f"spreads over .*{how_far}", account, m)


def test_noise_that_spreads_over_millions_is_accounted_on_one_count() -> None:
    assert profile(DiscreteLaplace(1 - F(1, 10**8), (101,))).epsilon(0).high == pytest.approx(101e-8)


@pytest.mark.parametrize("alpha", [F(1, 3), F(9, 10)])
def test_the_noises_of_all_counts_are_independent_and_have_the_law(alpha: Fraction) -> None:
    size, m = 40_000, DiscreteLaplace(alpha, (2, -1))
    views = m.sample(m.change, size, np.random.default_rng(5)) - np.array(m.change)
    law = {(a, b): noise(a, alpha) * noise(b, alpha) for a, b in product(range(-40, 41), repeat=2)}
    assert matches(Counter(map(tuple, views.tolist())), law)


def test_a_run_adds_noise_once_to_the_sums_of_all_rows() -> None:
    m, rng = DiscreteLaplace(F(1, 10), (1, 0, -1)), np.random.default_rng(3)
    data = [(1, 5, 0)] * 1000 + [(0, 0, 2)] * 10
    assert m.truth(data).tolist() == [1000, 5000, 20]
    errors = [np.abs(m.run(data, rng) - m.truth(data)).max() for _ in range(100)]
    assert max(errors) < 20


def test_plans_of_one_user_s_reports_refuse_what_is_released() -> None:
    m = DiscreteLaplace(HALF)
    for plan in (Shuffle(m, 10), Aggregate(m, 10), Subsample(m, 10, 1)):
        raises(Unsupported, "central", account, plan)
    assert account(Run(m), Neighbours.named("group-of-2")).epsilon(0).high == pytest.approx(2 * math.log(2), rel=1e-12)


@pytest.mark.parametrize("change", [(1.5,), 1, "1", (True,)])
def test_a_change_is_made_of_integers(change: Any) -> None:
    raises(TypeError, r"DiscreteLaplace needs .*change", DiscreteLaplace, HALF, change)


@pytest.mark.parametrize("change", ["[1, -1]", "1,-1", [1, -1], ["1", "-2/2"], (1, -1)])
def test_files_and_commands_list_integers(change: object) -> None:
    assert build("discrete_laplace", "", {"alpha": "1/2", "change": change}) == DiscreteLaplace(HALF, (1, -1))


@pytest.mark.parametrize("change", ["1,", "[1, 1/2]", 3, {"a": 1}, [[1]]])
def test_a_list_that_is_none_is_an_error_of_its_key(change: object) -> None:
    caught = raises(ParameterError, None, build, "discrete_laplace", "", {"alpha": "1/2", "change": change})
    assert caught.keys == ("change",)


def test_the_command_takes_a_change_as_a_parameter_or_as_an_option() -> None:
    ways = (["change=[1,-1]"], ["--change", "1,-1"])
    said = [run("account", "discrete_laplace", "alpha=1/2", *way, "--delta", "1/10").stdout for way in ways]
    assert said[0] == said[1]
    assert "change=(1, -1)" in said[0]


MILLIONTH = F(1, 10**6)
FEW_CHANGES = st.lists(st.integers(-2, 2), min_size=2, max_size=3).filter(any).map(tuple)


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
        (PolyaNoise(HALF, HALF), F(0), "1.351002919284320932980881968305"),
        (PolyaNoise(HALF, F(9, 10)), F(0), ".7860485489518566376389707741909"),
        (PolyaNoise(HALF, HALF), F(1, 20), "1.253190688881876898229146021918"),
        (DiscreteGaussianShares(F(1), 2), MILLIONTH, "3.237535868741779623274897109458"),
        (DiscreteGaussianShares(F(1), 4), MILLIONTH, "2.275795589633443038021380394983"),
        # Computed in balls of 300 bits by another program, from the law of T; cut after 31 digits.
        *((DiscreteGaussian(F(sigma), change), delta, truth) for sigma, change, delta, truth in (
            ("23.3903", (1, -1), F(1, 10**9), ".3170178450789115231899483325584"),
            ("23.3903", (1,), F(1, 10**9), ".2211410704408590989476535325233"),
            ("8.5402", (1, -1), F(1, 10**9), ".9055739327253430167555275480609"),
            ("5.1904", (1, -1), F(1, 10**9), "1.526960013943334547433677242589"),
            ("10", (1, 1, -1), MILLIONTH, ".7145411629041340130340343566429"),
            ("10", (4,), MILLIONTH, "1.764986185231166621289548416029"),
            ("1/20", (1,), F(1, 10**87), "598.7177146851892296432981102117"),
        )),
        (Gaussian(F("5.1904"), (1, -1)), F(1, 10**9), "1.527975355122264008304181271932"),
    ],
)  # fmt: skip
def test_epsilon_is_that_of_the_reference(m: CountNoise, delta: Fraction, truth: str) -> None:
    found = account(m).epsilon(delta)
    assert found.rigour is Rigour.EXACT
    near = (found.low, found.high) == pytest.approx((float(F(truth)),) * 2, rel=1e-15)
    assert F(truth) in found or (near and isinstance(m, BinomialNoise | Skellam))
    assert found.relative_width < CLOSE


def test_of_one_count_each_tail_is_summed_in_rationals() -> None:
    n, g, goal = 100, F(1, 4), F(1, 1000)
    p = [math.comb(n, k) * g**k * (1 - g) ** (n - k) for k in range(n + 1)]
    tails = [(sum(p[max(t - 1, 0) :], F(0)), sum(p[t:], F(0))) for t in range(n + 2)]
    up = max((a - goal) / b for a, b in tails if b)
    down = max((1 - b - goal) / (1 - a) for a, b in tails if a < 1)
    assert float(math.log(up)) == pytest.approx(0.4946519397919145, rel=1e-14)
    assert account(BinomialNoise(n, g)).epsilon(goal).high == pytest.approx(math.log(max(up, down)), rel=1e-14)
    floats = noise_profile(Masses.binomial(10 * n, g), (1,), "in floats")
    assert floats.delta(floats.epsilon(goal).high).high <= goal, "in both orders"


@given(
    coins=st.integers(1, 4), gamma=st.sampled_from((F(1, 2), F(1, 5), F(2, 3))), change=FEW_CHANGES,
    nats=st.floats(0, 6), delta=st.fractions(F(1, 10**6), F(9, 10)),
)  # fmt: skip
@example(coins=3, gamma=F(1, 5), change=(2, -1, 1), nats=1.0, delta=F(1, 2))
def test_several_counts_agree_with_all_rows_in_rationals(
    coins: int, gamma: Fraction, change: tuple[int, ...], nats: float, delta: Fraction
) -> None:
    oracle = channel_profile(BinomialNoise(coins, gamma, change))
    found = noise_profile(Masses.binomial(coins, gamma), change, "in floats")
    for ours, truth in ((found.delta(nats), oracle.delta(nats)), (found.epsilon(delta), oracle.epsilon(delta))):
        assert meet(ours, truth)
        assert ours.low == ours.high or ours.high - ours.low <= 1e-9 * max(ours.high, 1e-3)


def test_what_one_input_never_shows_costs_its_probability_however_large_epsilon_is() -> None:
    found = account(BinomialNoise(10, change=(1, -1)))
    mass = 1 - (1 - F(1, 1024)) ** 2
    assert found.delta(600).low == pytest.approx(float(mass), rel=1e-12)
    assert found.epsilon(mass / 2).low == math.inf
    assert found.epsilon(mass * F(11, 10)).high < math.inf


@pytest.mark.parametrize(("m", "parties", "width"), [
    (Gaussian(F(5)), 2, 0.01), (Skellam(F(30)), 2, 0.003), slow(Skellam(F(30)), 3, 0.003),
], ids=str)  # fmt: skip
def test_releases_of_even_noise_are_enclosed_closely_around_all_their_counts(m: Any, parties: int, width: float) -> None:
    several, once = account(Repeat(m, parties)), account(replace(m, change=(1,) * parties))
    for delta in (1e-2, 1e-6):
        ours, truth = several.epsilon(delta), once.epsilon(delta)
        assert ours.low <= truth.low <= truth.high <= ours.high <= ours.low * (1 + width)


def test_products_that_are_too_small_for_floats_count_as_left_out() -> None:
    for gamma, least in ((F(1, 10**4), 1e-290), (F(1, 3), 0.0)):
        assert typed(AddedNoise, account(BinomialNoise(60, gamma, (1, 1)))).above[0].first.outside == least


def test_skellam_noise_of_a_large_variance_is_nearly_gaussian() -> None:
    found = account(Skellam(F(10**6))).epsilon(1e-6)
    assert found.relative_width < 1e-6
    assert found.low == pytest.approx(0.0027182, rel=1e-4)


@pytest.mark.slow
def test_a_thousand_runs_with_losses_of_tens_are_known_from_both_sides() -> None:
    """The lattice of all losses was once so coarse that it told nothing from below."""
    found = account(Repeat(RoundedGaussian(HALF, (1, -1)), 1000)).epsilon(1e-6)
    assert 0.998 * found.high < found.low < found.high < account(Repeat(Gaussian(HALF, (1, -1)), 1000)).epsilon(1e-6).low


SHARES = DiscreteGaussianShares(F(1, 3), 5)


@pytest.mark.parametrize(("m", "law"), [
    (Skellam(F(3)), Masses.skellam(F(3))), (BinomialNoise(20, F(1, 3)), Masses.binomial(20, F(1, 3))),
    (RoundedGaussian(F(3, 2)), Masses.rounded_gaussian(F(9, 4))), (SHARES, discrete_gaussian.masses(SHARES)),
    (PolyaNoise(F(9, 10), F(1, 4)), Masses.polya(F(9, 10), F(1, 4))), (PolyaNoise(HALF, F(5, 2)), Masses.polya(HALF, F(5, 2))),
], ids=str)  # fmt: skip
def test_the_samplers_have_their_laws(m: CountNoise, law: Masses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpaudit.mechanisms.discrete_gaussian._AT_ONCE", 100_000)
    assert matches(Counter(m.noise(200_000, np.random.default_rng(9)).tolist()), table(law))


def test_a_change_beyond_all_noise_is_seen() -> None:
    found = account(Skellam(F(3), (-(2**50), 1))).delta(5)
    assert 1 - 1e-12 < found.low <= found.high == 1
