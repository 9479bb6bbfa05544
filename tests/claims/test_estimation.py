"""Estimates from reports: their intervals hold the truth as often as they say, by laws term by term and by simulation."""

import math
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import stats

from ldpaudit import Mechanism, Unsupported
from ldpaudit.mechanisms import Channel, Gaussian, GaussianReport, LocalHashing, Loloha, SampledAnswer, SignOracle, UnaryEncoding
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary
from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean, PerturbedDBitFlip
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.studies.certified_tails import deviations
from ldpaudit.studies.estimation import Estimates
from ldpaudit.studies.intervals import _by_tails, _two_numbers, intervals
from ldpaudit.studies.postprocessing import WAYS, norm_sub
from tests.helpers import raises, some
from tests.oracles.shuffle import law_of
from tests.zoo import ONE_EACH

ALPHA = 0.05
HALF = Fraction(1, 2)
COINS = [
    KaryRandomizedResponse(3, HALF), UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)), LocalHashing(2, Fraction(3, 4), 3, 3),
    SubsetSelection(4, 2, Fraction(3, 4)), HadamardResponse(3, Fraction(3, 4)), PermanentRappor(4, 1, HALF, 3),
]  # fmt: skip
"""Mechanisms of which a report adds one of two numbers, in few views."""


def contributions(m: Mechanism, x: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each view adds to the estimates, and its probability."""
    views = [*m.law(x).items()]
    return np.array([m.estimate(np.array([y])) for y, _ in views]), np.array([float(p) for _, p in views])


@pytest.mark.parametrize("m", COINS, ids=lambda m: type(m).__name__)
def test_what_a_report_adds_tells_the_chances_of_holders_and_of_others(m: Mechanism) -> None:
    found = some(_two_numbers(m, m.estimate(m.sample(1, 9, np.random.default_rng(0))), 9, [], None))
    p, q, _ = found
    for x in m.inputs:
        adds, chances = contributions(m, x)
        seen = chances @ (adds > 0.5)
        truth = m.truth([x])
        assert seen == pytest.approx(truth * p + (1 - truth) * q, abs=1e-12)


FEW = [*COINS[:4], DBitFlip(3, 2, Fraction(3, 4)), LongitudinalUnary(3, HALF, Fraction(1, 3), Fraction(2, 3), Fraction(1, 5), 2)]


@pytest.mark.parametrize("m", FEW, ids=str)
def test_intervals_of_four_users_hold_the_truth_in_all_that_may_be_seen(m: Mechanism) -> None:
    # No formula of ours: every set of four reports, with its probability.
    data = [0, 1, 1, 2]
    laws = [contributions(m, x) for x in data]
    estimates, chances = np.zeros((1, len(m.inputs))), np.ones(1)
    for adds, masses in laws:
        estimates = (estimates[:, None] + adds[None]).reshape(-1, len(m.inputs))
        chances = np.multiply.outer(chances, masses).ravel()
    _, first, place = np.unique(np.round(estimates, 6), axis=0, return_index=True, return_inverse=True)
    found = intervals(m, estimates[first], len(data), 0.2)
    outside = (m.truth(data) < found.low) | (m.truth(data) > found.high)
    missed = np.bincount(place.ravel(), weights=chances) @ outside
    assert np.all(missed <= 0.2)
    assert missed.max() > 0.001


@pytest.mark.parametrize(
    "m",
    [DBitFlip(3, 2, Fraction(3, 4)), SampledAnswer(3, HALF), Rappor(3, 1, HALF, Fraction(1, 4), HALF, 2, 3),
     LongitudinalUnary(3, HALF, Fraction(1, 5), Fraction(3, 4), Fraction(1, 3), 2),
     Loloha(2, Fraction(3, 4), Fraction(2, 3), 3, 3, 2), Loloha(3, Fraction(1, 2), Fraction(2, 3), 3, 5, 1),
     PerturbedDBitFlip(3, 2, Fraction(3, 4), Fraction(1, 5), 2)], ids=str,
)  # fmt: skip
def test_what_a_report_adds_is_what_the_mechanism_says(m: Mechanism) -> None:
    for x, (holds, said) in product(m.inputs, zip((1, 0), m.added(), strict=True)):
        adds, chances = contributions(m, x)
        for v in np.flatnonzero(m.truth([x]) == holds):
            law = law_of(zip(np.round(adds[:, v], 9).tolist(), chances.tolist(), strict=True))
            assert law == pytest.approx({round(float(y), 9): float(p) for y, p in said.items()})


USERS = 4_000
RUNS = 250
VALUES = np.minimum(np.random.default_rng(1).zipf(1.6, USERS) - 1, 7)
YES = VALUES % 2
LOW, HIGH = 0.92, 0.975
"""Shares of intervals that hold the truth: of 250 runs a twentieth is 12.5, with a deviation of 3.5, and values hardly depend on
each other."""


@pytest.mark.parametrize(
    ("m", "data", "most"),
    [
        *((m, VALUES, HIGH) for m in (
            KaryRandomizedResponse.for_epsilon(1, 8), UnaryEncoding.optimized(1, 8), LocalHashing.optimal(1, 8),
            SubsetSelection.optimal(1, 8), HadamardResponse.for_epsilon(1, 8), LaplaceHistogram.for_epsilon(1, 8),
            SignOracle.for_epsilon(1, USERS, 8),
        )),
        (GaussianReport(Fraction(2)), YES, HIGH), (Laplace(Fraction(2)), YES, HIGH), (Geometric(1, HALF), YES, HIGH),
        # Laws that hold for all data, or tails, and not the law of these data.
        (CountMeanSketch.for_epsilon(1, 8, 4, 8), VALUES, 0.99), (HadamardCountMeanSketch.for_epsilon(1, 8, 4, 8), VALUES, 0.99),
        (OneBitMean.for_epsilon(1), YES, 0.995), (TruncatedGeometric(2, HALF), YES, 1),
        (OneBitMean(Fraction(1, 4), HALF), YES, 0.995),
        (Channel("3/4,1/4;1/3,2/3"), YES, 1),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Mechanism) else "",
)  # fmt: skip
def test_a_twentieth_of_the_intervals_misses(m: Mechanism, data: NDArray[np.int64], most: float) -> None:
    rng = np.random.default_rng(7)
    counts = {int(x): int(n) for x, n in zip(*np.unique(data, return_counts=True), strict=True)}
    try:
        estimates = np.array([m.run_on_counts(counts, rng) for _ in range(RUNS)])
    except Unsupported:
        estimates = np.array([m.run(data, rng) for _ in range(RUNS)])
    found = intervals(m, estimates, USERS, ALPHA)
    held = (found.low <= m.truth(data)) & (m.truth(data) <= found.high)
    assert LOW <= held.mean() <= most


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m", [DBitFlip.for_epsilon(1, 8, 4), DBitFlip.for_epsilon(6, 8, 1), PerturbedDBitFlip.for_epsilon(2, 8, 4, 1 / 8, 3)], ids=str
)
def test_a_twentieth_of_the_intervals_of_drawn_bits_misses(m: DBitFlip | PerturbedDBitFlip) -> None:
    rng, truth = np.random.default_rng(7), np.bincount(VALUES, minlength=8)
    tallies = [m.tally(np.concatenate([m.sample(x, n, rng) for x, n in enumerate(truth)])) for _ in range(RUNS)]
    estimates = np.array([m.estimate_from_tally(tally) for tally in tallies])
    found = intervals(m, estimates, USERS, ALPHA, (), np.stack(tallies, axis=1))
    assert LOW <= np.mean((found.low <= truth) & (truth <= found.high)) <= HIGH
    made = Estimates.of_reports(m, [m.sample(3, 500, rng)]).intervals(0.9)
    assert made.how == found.how == "by the exact law of sums of integers"
    tails = _by_tails(m, estimates, USERS, ALPHA)
    assert np.mean(found.high - found.low) < np.mean(tails.high - tails.low)


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(49, 50)), Gaussian(Fraction(60))], ids=str)
def test_the_noise_of_aggregators_enters_the_intervals(noise: DiscreteLaplace | Gaussian) -> None:
    m, rng = UnaryEncoding.optimized(1, 8), np.random.default_rng(3)
    counts = np.bincount(VALUES, minlength=8)
    size = (RUNS, 8)
    total = rng.binomial(counts, float(m.p), size) + rng.binomial(USERS - counts, float(m.q), size)
    noisy = total + noise.noise(total.size, rng).reshape(size)
    held = {}
    for known in ((noise,), ()):
        found = intervals(m, m.estimate_from_sum(noisy, USERS), USERS, ALPHA, known, noisy) if known else intervals(
            m, m.estimate_from_sum(np.rint(noisy), USERS), USERS, ALPHA
        )
        held[len(known)] = float(np.mean((found.low <= counts) & (counts <= found.high)))
    assert LOW <= held[1] <= HIGH
    assert held[0] < 0.9  # without it they would be too short


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m",
    [CountMeanSketch.for_epsilon(1, 8, 4, 8), HadamardCountMeanSketch.for_epsilon(1, 8, 2, 8), LongitudinalUnary.optimized(2, 8)],
    ids=lambda m: type(m).__name__,
)
def test_the_noise_of_aggregators_enters_the_intervals_of_other_sums(m: Any) -> None:
    m = replace(m, reports=3) if isinstance(m, LongitudinalUnary) else m
    rng, noise, totals = np.random.default_rng(4), DiscreteLaplace(Fraction(49, 50)), []
    for _ in range(RUNS):
        views = np.concatenate([m.sample(x, int(n), rng) for x, n in enumerate(np.bincount(VALUES, minlength=8))]).astype(np.int64)
        total = np.zeros((4, 8), dtype=np.int64)
        match m:
            case CountMeanSketch():
                np.add.at(total, views[:, 0], views[:, 1:])
            case HadamardCountMeanSketch():
                total = total[:2]
                np.add.at(total, (views[:, 0], views[:, 1]), views[:, 2])
            case _:
                total = views.sum(axis=0)
        totals.append(np.ravel(total) + noise.noise(total.size, rng))
    estimates = np.array([m.estimate_from_sum(total.astype(np.float64), USERS) for total in totals])
    found = intervals(m, estimates, USERS, ALPHA, (noise,), np.array(totals))
    assert LOW <= np.mean((found.low <= m.truth(VALUES)) & (m.truth(VALUES) <= found.high)) <= 0.99
    assert np.mean(found.high - found.low) < 2.4 * 2 * (estimates - m.truth(VALUES)).std()  # 1.96 is the normal law's


def test_intervals_of_noise_are_those_of_its_law() -> None:
    for m, half in (
        (GaussianReport(Fraction(3)), 3 * stats.norm.isf(0.01)), (Laplace(Fraction(3)), 3 * math.log(50)), (Geometric(1, HALF), 5),
    ):  # fmt: skip
        # One user: P[|z| > b ln 50] = 1/50; of the geometric law P[|z| > 5] = 2/96, and P[|z| > 6] = 1/96.
        found = intervals(m, np.array([0.25]), 1, 0.02 if m != Geometric(1, HALF) else 0.021)
        assert (found.low[0], found.high[0]) == pytest.approx((0.25 - half, 0.25 + half), rel=1e-9)


def test_simultaneous_intervals_hold_all_counts_in_most_runs() -> None:
    m, rng, runs = UnaryEncoding.optimized(1, 8), np.random.default_rng(5), 200
    counts: dict[int | None, int] = dict(enumerate(np.bincount(VALUES, minlength=8).tolist()))
    held = []
    for _ in range(runs):
        found = Estimates(m, USERS, (*range(8),), m.run_on_counts(counts, rng)).intervals(0.9, simultaneous=True)
        held.append(np.all((found.low <= [*counts.values()]) & ([*counts.values()] <= found.high)))
    assert 0.85 <= np.mean(held) <= 0.96


def test_tails_are_as_far_as_their_bounds_say() -> None:
    m, users, alpha = DBitFlip(8, 2, Fraction(3, 4)), 10**6, 0.05
    # A count of 0: a report adds (p - 1), or p with probability 1 - p, of 4 / (2p - 1), in a quarter of the cases.
    adds, chances = np.array([0, -2, 6]), np.array([3 / 4, 3 / 16, 1 / 16])
    variance = chances @ adds**2
    normal, half = stats.norm.isf(alpha / 2) * math.sqrt(users * variance), _by_tails(m, np.zeros(1), users, alpha).high[0]
    assert normal < half < 1.005 * normal
    few, nats = 40, math.log(2 / alpha)
    bernstein = nats * 6 / 3 + math.sqrt((nats * 6 / 3) ** 2 + 2 * nats * few * variance)
    assert _by_tails(m, np.full(1, -500.0), few, alpha).high[0] == 0
    assert _by_tails(m, np.zeros(1), few, alpha).high[0] == pytest.approx(min(few, bernstein), rel=0.1)


def power(law: Any, times: int) -> Any:
    """Of a sum of this many."""
    half = law[:1] ** 0 if times < 2 else power(law, times // 2)
    return law if times == 1 else np.convolve(np.convolve(half, half), law if times % 2 else [1.0])


@pytest.mark.parametrize("times", [1, 2, 8, 40])
def test_a_sum_is_beyond_its_reach_no_more_often_than_said_and_hardly_less_where_it_is_long(times: int) -> None:
    rng, near, closest = np.random.default_rng(times), 0, math.inf
    for law in [*rng.dirichlet(np.full(4, 0.5), 20), *rng.dirichlet(np.ones(7), 10), np.array([0.98, 0, 0, 0.02]), np.full(2, 0.5)]:
        parts = [(law, 40 * times), (np.array([1 - (p := rng.uniform(0, 0.5)), 0, p]), 30 * times)]
        whole, variance, fourth = np.ones(1), 0.0, 0.0
        for each, number in parts:
            whole = np.convolve(whole, power(each, number))
            apart = np.arange(len(each)) - each @ np.arange(len(each))
            variance, fourth = variance + number * each @ apart**2, fourth + number * each @ apart**4
        off = np.abs(np.arange(len(whole)) - whole @ np.arange(len(whole)))
        for alpha in (0.5, 0.2, 0.05, 0.01):
            far = deviations(float(fourth / variance**2), alpha)
            assert not whole[off > far * math.sqrt(variance)].sum() > alpha
            near += far < math.inf
            closest = min(closest, far / stats.norm.isf(alpha / 2))
    assert near > (0 if times == 1 else 20)
    assert 1 < closest < (2 if times < 8 else 1.05)


def test_a_binomial_law_stands_for_other_coins_only_beyond_one_from_its_mean() -> None:
    m = OneBitMean(Fraction(1, 4), Fraction(3, 4))
    found = intervals(m, m.estimate_from_sum(np.array([3.0]), 5), 5, 0.99)
    assert (found.low[0], found.high[0]) == pytest.approx(m.estimate_from_sum(np.array([[2.0], [4.0]]), 5)[:, 0])


COUNTS = st.lists(st.floats(-50, 100), min_size=1, max_size=12).map(np.array)


NOISY = [*(name for name in WAYS if name != "none")]


def deviation_of_ten(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.full(counts.shape, 100.0)


@given(COUNTS, st.integers(1, 200), st.data())
def test_post_processed_counts_are_counts_and_projections_are_no_farther_from_any_truth(
    counts: NDArray[np.float64], users: int, data: st.DataObject
) -> None:
    parts = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=len(counts), max_size=len(counts))))
    truth = parts / parts.sum() * users
    for name in NOISY:
        found = WAYS[name](counts, users, deviation_of_ten)
        assert np.all(found >= 0)
        assert np.all(np.diff(found[np.argsort(counts, kind="stable")]) >= -1e-9)  # the order stays
        if name in ("norm-sub", "simplex", "empirical-bayes"):
            assert found.sum() == pytest.approx(users)
        if name != "empirical-bayes":
            assert WAYS[name](found, users, deviation_of_ten) == pytest.approx(found, abs=1e-9)
        if name in ("nonnegative", "norm-sub", "simplex"):
            assert np.linalg.norm(found - truth) <= np.linalg.norm(counts - truth) + 1e-9


@given(COUNTS, st.integers(1, 200))
def test_norm_sub_is_what_the_paper_s_loop_arrives_at(counts: NDArray[np.float64], users: int) -> None:
    kept = np.ones(len(counts), dtype=np.bool_)
    while True:
        found = np.where(kept, counts + (users - counts[kept].sum()) / kept.sum(), 0)
        if np.all(found[kept] >= 0):
            break
        kept &= found >= 0
    assert norm_sub(counts, users, deviation_of_ten) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(
    "m", [KaryRandomizedResponse.for_epsilon(2, 128), UnaryEncoding.optimized(1, 128), HadamardResponse.for_epsilon(1, 128)],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
@pytest.mark.parametrize("power", [0.0, 1.0, 1.5])
def test_empirical_bayes_has_the_smallest_mean_squared_error(m: Mechanism, power: float) -> None:
    rng, shares = np.random.default_rng(2), np.arange(1, 129) ** -power
    truth = rng.multinomial(20_000, shares / shares.sum())
    errors = np.zeros(len(WAYS))
    for _ in range(5):
        made = Estimates(m, 20_000, (*range(128),), m.run_on_counts(dict(enumerate(truth.tolist())), rng))
        errors += [np.sum((made.processed(name) - truth) ** 2) for name in WAYS]
    best = dict(zip(WAYS, errors.tolist(), strict=True))
    assert best.pop("empirical-bayes") < 0.9 * min(best.values())


def test_what_has_no_noise_is_left_as_it_is_and_what_is_far_above_it_too() -> None:
    counts = np.array([900.0, 80, 15, 5])
    assert WAYS["empirical-bayes"](counts, 1000, np.zeros_like) == pytest.approx(counts)
    many = np.array([5e5, 3e5, *(20.0 * rank for rank in range(-50, 51))])
    assert WAYS["empirical-bayes"](many, 800_000, deviation_of_ten)[:2] == pytest.approx(many[:2], abs=1000)


@pytest.mark.parametrize("m", [*COINS[:2], DBitFlip(3, 2, Fraction(3, 4)), LaplaceHistogram(3, Fraction(2))], ids=str)
def test_variances_are_those_of_one_report(m: Mechanism) -> None:
    made = Estimates(m, 1, (0, 1, 2), np.ravel(m.estimate(m.sample(1, 1, np.random.default_rng(0)))))
    for count, x in ((1.0, 0), (0.0, 1)):
        if isinstance(m, LaplaceHistogram):
            assert made.variance(np.array([count]))[0] == 8
            continue
        adds, chances = contributions(m, x)
        assert made.variance(np.array([count]))[0] == pytest.approx(chances @ (adds[:, 0] - count) ** 2)


@pytest.mark.parametrize("m", [m for m in ONE_EACH if m.model == "local"], ids=lambda m: type(m).__name__)
def test_every_mechanism_is_estimated_with_intervals_around_it_or_says_why_not(m: Mechanism) -> None:
    reports = np.asarray(m.sample(m.inputs[0], 30, np.random.default_rng(0)))
    why, made, found = "no intervals: ", None, None
    try:
        made = Estimates.of_reports(m, [reports[:20], reports[20:]])
        found = made.intervals(0.9)
    except Unsupported as error:
        why = str(error)
    assert "no intervals: " in why or "`run` is the whole system" in why
    if made is None or found is None:
        return
    assert made.counts == pytest.approx(np.ravel(m.estimate(reports)))
    inside = np.clip(made.counts, 0, 30) if found.low.min() >= 0 and found.high.max() <= 30 else made.counts
    assert np.all((found.low <= inside) & (inside <= found.high))
    alone = m if type(m).truth is Mechanism.truth else None
    with nullcontext() if alone else pytest.raises(Unsupported, match="sum to the number of users"):
        assert made.processed("norm-sub").sum() == pytest.approx(30)


def test_what_says_nothing_has_no_estimate_and_what_is_biased_no_interval() -> None:
    nothing = KaryRandomizedResponse(4, Fraction(1, 4))
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(Unsupported, match="nothing can be estimated"):
        Estimates.of_reports(nothing, [np.array([1, 2])])
    raises(ValueError, "at least one report", Estimates.of_reports, nothing, [])
    found = Estimates.of_reports(OneBitMean.for_epsilon(1), [np.array([0, 1, 1])])
    raises(Unsupported, "sum to the number of users", found.processed, "norm-sub")


def test_a_rare_report_that_adds_a_third_number_is_not_overlooked() -> None:
    """One in 100,000; a few hundred sampled reports would be of two kinds."""
    rare = Channel([[Fraction(n, 100_000) for n in row] for row in ((60000, 39999, 1), (39999, 60000, 1))])
    data = np.array([0] * 60 + [1] * 40)
    assert "exact" not in intervals(rare, rare.estimate(data), len(data), 0.05).how
