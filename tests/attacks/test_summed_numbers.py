"""Sums of numbers with noise, and compositions of sums: what chooses the event, its level and power, and how much is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ldpaudit as ldp
from benchmarks.summed_attacks import FLIPS
from ldpaudit import Aggregate, Compose, Repeat, Shuffle, Unsupported, account
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import level_test
from ldpaudit.attacks.games import shuffled, sources, summed
from ldpaudit.attacks.games.two_inputs import Aim
from ldpaudit.evidence import Mode
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.gaussian_report import GaussianReport
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.mechanisms.laplace import Laplace
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Plan
from ldpaudit.profile import Witness
from tests.attacks.test_shuffled import DRAWS, OFF
from tests.attacks.test_summed import NOISES, NOISY, Code, exactly

F = Fraction

LAWS: list[tuple[Plan, float]] = [
    (Aggregate(UnaryEncoding.flips(F(1, 150), 8), 1000), 1.5),
    (Aggregate(Repeat(UnaryEncoding.flips(F(1, 150), 8), 2), 1000), 2.0),
    (Aggregate(Geometric(3, F(1, 2)), 2), 0.9),
    (Aggregate(Geometric(3, F(1, 2)), 10**6), 0.001),
    (Aggregate(Geometric(3, F(1, 2)), 100, [DiscreteLaplace(F(9, 10))]), 0.1),
    (Aggregate(Geometric(40, F(99, 100)), 2, [DiscreteGaussian(F(9))]), 0.3),
    (Aggregate(Repeat(Geometric(3, F(1, 2)), 5), 100), 0.2),
    *((Aggregate(Laplace(F(2), F(-1, 3), F(1)), users), e) for users, e in ((2, 0.3), (16, 0.1), (17, 0.1), (10**6, 1e-4))),
    (Aggregate(GaussianReport(F(2), F(-1, 3), F(1)), 100), 0.05),
    (Aggregate(TruncatedGeometric(3, F(1, 2)), 3), 0.5),
    (Aggregate(TruncatedGeometric(3, F(1, 2)), 10**6), 0.0015),
]
OF_GROUPS, OF_POINTS = 2e-3, 1e-4
"""A law of scores is listed in 1,024 groups, so that its delta is this much less; of real numbers at 64 points within a deviation,
each with the density in its middle, which is this much off."""


@pytest.mark.parametrize(("plan", "epsilon"), LAWS, ids=str)
def test_the_law_of_scores_that_chooses_the_event_is_that_of_the_views_and_attains_the_certified_delta(
    plan: Aggregate, epsilon: float
) -> None:
    found, games = 0.0, summed.games(plan, None, None, 0.01, None)
    exchanged = summed.games(plan, None, None, 0.01, Witness(plan, games[0].pair[::-1], games[0].event))
    for game in (*games, *exchanged):
        assert game.law is not None
        laws = game.law.first, game.law.second
        for side, law in enumerate(laws):
            far = (1 - 2 * side) * game.law.scores > epsilon
            found = max(found, float(law[far].sum() - math.exp(epsilon) * laws[1 - side][far].sum()))
            views = game.draw(side, DRAWS, np.random.default_rng(side))
            for score in game.law.scores[np.searchsorted(np.cumsum(law), [0.1, 0.5, 0.9])]:
                assert abs(np.mean(views >= score) - law[game.law.scores >= score].sum()) < OFF
    exact = account(plan).delta(epsilon)
    assert (1 - OF_GROUPS) * exact.low < found < exact.high * (1 + OF_POINTS)


@pytest.mark.parametrize("m", [Geometric(2, F(1, 2)), Laplace(F(1)), TruncatedGeometric(2, F(1, 2))], ids=str)
def test_a_tight_claim_about_a_sum_of_numbers_is_refuted_no_more_often_than_stated(m: Mechanism) -> None:
    plan, delta, alpha, views, runs = Aggregate(m, 3), 0.01, 0.1, 1_000, 300
    exact = account(plan).epsilon(delta)
    assert exact.high < exact.low * (1 + 1e-6), "the claim is tight"
    played = [(game, game.law.choose(Aim(delta, alpha, views))) for game in summed.games(plan, None, None, delta, None) if game.law]
    game, rule = next((game, choice.rule) for game, choice in played if choice.promise == max(each.promise for _, each in played))
    test = level_test(Mode.FIXED, 2, delta, rule.directions, alpha, ())
    counted = [game.measure([rule], views, np.random.default_rng(seed))[0] for seed in range(runs)]
    refuted = sum(test.refutes(Counts(right, wrong, views), exact.high) for right, wrong in counted)
    assert runs * alpha / 4 < refuted <= stats.binom.isf(1e-3, runs, alpha)


def real(scale: float) -> Code:
    return lambda x, size, rng: rng.laplace(x, scale, size)


LITTLE: list[tuple[Mechanism, int, Any, Any]] = [
    (Geometric(2, F(4, 5)), 10, Geometric(2, F(4, 5)), Geometric(2, F(3, 5))),
    # whose sums lie beyond all that are declared
    (TruncatedGeometric(9, F(1, 2)), 2_000, TruncatedGeometric(9, F(1, 2)), TruncatedGeometric(9, F(1, 5))),
    (Laplace(F(2)), 10, real(2.0), real(1.0)),
    (TruncatedGeometric(4, F(4, 5)), 10, TruncatedGeometric(4, F(4, 5)), lambda x, size, rng: np.full(size, x)),
]


@pytest.mark.parametrize(("trials", "share"), [(50_000, 0.5), pytest.param(200_000, 0.6, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("m", "users", "code", "wrong"), LITTLE, ids=str)
def test_code_that_adds_too_little_noise_to_numbers_is_refuted_and_what_is_described_is_not(
    m: Mechanism, users: int, code: Any, wrong: Any, trials: int, share: float
) -> None:
    plan = Aggregate(m, users)
    exact = account(plan).epsilon(1e-2)
    options: dict[str, Any] = {"epsilon": 1.2 * exact.low, "delta": 1e-2, "trials": trials}
    assert ldp.audit(plan, implementation=wrong, **options).epsilon_lower > 1.2 * exact.low
    found = ldp.audit(plan, implementation=code, mode=Mode.FIXED, **options).epsilon_lower
    assert share * exact.low < found <= exact.high


def test_normal_noise_on_bits_shows_a_little_more_than_the_same_noise_rounded() -> None:
    """What is rounded is computed from what is not; at a deviation of 8 the two differ by less than a hundredth."""
    bits = UnaryEncoding.flips(F(1, 150), 8)
    exact = account(Aggregate(bits, 10**4, [RoundedGaussian(F(8))])).epsilon(1e-2)
    found = ldp.audit(Aggregate(bits, 10**4, [Gaussian(F(8))]), delta=1e-2, trials=10**6, mode=Mode.FIXED)
    assert 0.85 * exact.low < found.epsilon_lower < 1.01 * exact.high


def test_noise_that_spreads_over_millions_of_points_is_not_played() -> None:
    for m, noise, why in (
        (NOISY, DiscreteLaplace(1 - F(1, 10**8)), "spreads over"),
        (NOISY, Gaussian(F(1, 10**6)), "spreads over"),
        (Geometric(2, 1 - F(1, 10**8)), None, "spreads over"),
        (Geometric(1 << 30, F(1, 2)), None, "spreads over"),
        (TruncatedGeometric(1 << 11, F(1, 2)), None, "more than 1025 values"),
    ):
        plan = Aggregate(m, 9, [] if noise is None else [noise])
        with pytest.raises(Unsupported, match=why):
            ldp.audit(plan, epsilon=1.0)


SUM = Aggregate(FLIPS, 10**3)
NUMBERS = Aggregate(Geometric(8, F(9, 10)), 20)


@pytest.mark.parametrize(
    "plan",
    [
        Compose([SUM, Aggregate(FLIPS, 10**3, NOISES[0])]),
        pytest.param(Compose([SUM, NUMBERS, NUMBERS]), marks=pytest.mark.slow),
        Compose([NUMBERS, UnaryEncoding.flips(F(1, 4), 3)]),
        Compose([Aggregate(NOISY, 4), Shuffle(KaryRandomizedResponse(3, F(1, 2)), 4)]),
        Repeat(Repeat(SUM, 2), 2),
        pytest.param(Repeat(Compose([SUM, NUMBERS]), 2), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_audits_of_compositions_of_sums_come_close_to_what_is_certified_and_never_above(plan: Plan) -> None:
    exact = account(plan).epsilon(1e-2)
    options: dict[str, Any] = {"epsilon": exact.high, "delta": 1e-2, "mode": Mode.FIXED, "trials": 150_000, "confidence": 0.999}
    assert 0.7 * exact.low < ldp.audit(plan, **options).epsilon_lower <= exact.high


def test_parts_of_a_composition_are_told_apart_together_and_repetitions_are_compositions() -> None:
    asked: dict[str, Any] = {"delta": 1e-2, "trials": 50_000, "mode": Mode.FIXED}
    twice, both = ldp.audit(Repeat(NUMBERS, 2), **asked), ldp.audit(Compose([NUMBERS, NUMBERS]), **asked)
    assert twice.epsilon_lower == pytest.approx(both.epsilon_lower, rel=0.1)
    assert ldp.audit(NUMBERS, **asked).epsilon_lower < 0.8 * both.epsilon_lower
    assert both.pair == twice.pair
    pair = ldp.audit(Compose([NUMBERS, SUM]), **asked).pair
    others = "1 user holds 0, 999 users hold 7", "1,000 users hold 7"
    assert pair == (f"20 users hold 0; {others[0]}", f"19 users hold 0, 1 user holds 8; {others[1]}")

    def louder(x: Any, size: int, rng: np.random.Generator) -> Any:
        return Geometric(8, F(4, 5)).sample(x, size, rng)

    exact = account(Compose([NUMBERS, NUMBERS])).epsilon(1e-2)
    found = ldp.audit(Compose([NUMBERS, NUMBERS]), implementation=louder, epsilon=exact.high, delta=1e-2)
    assert found.epsilon_lower > exact.high
    assert sources.views_within(Compose([NUMBERS, SUM]), None, 10**6) == 10**6
    assert sources.views_within(Compose([Aggregate(NOISY, 10**4)] * 2), exactly, 10**6) == shuffled.REPORTS // 10**4 // 2
    with pytest.raises(Unsupported, match="4096 sums or shuffles"):
        ldp.audit(Repeat(Compose([SUM, NUMBERS]), 2048))
    with pytest.raises(Unsupported, match="even 16 views"):
        ldp.audit(Compose([Aggregate(NOISY, 10**6)] * 2), implementation=exactly, epsilon=1.0)
