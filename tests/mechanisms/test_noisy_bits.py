"""RAPPOR, 1BitMean and dBitFlip: published formulas, reports without end, signatures, and bits kept over a lifetime."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest

from ldpaudit import Rigour, account, audit
from ldpaudit.accountants.composition import product as accounting
from ldpaudit.accountants.pld.finite import channel_profile
from ldpaudit.accountants.rappor import largest_differences
from ldpaudit.mechanisms import DBitFlip, LongitudinalUnary, OneBitMean, PermanentRappor, PerturbedDBitFlip, Rappor, rappor

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
DEPLOYED = [*(Rappor(bits, 2, HALF, p=QUARTER, q=1 - QUARTER) for bits in (8, 32, 128)), Rappor(16, 2, HALF, p=HALF, q=1 - QUARTER)]


@pytest.mark.parametrize("m", DEPLOYED, ids=str)
def test_the_published_formulas_are_attained_in_the_deployments(m: Rappor) -> None:
    f, p, q, h = m.f, m.p, m.q, m.hashes
    one, zero = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    report, lifetime = account(m).epsilon(0), account(m.lifetime()).epsilon(0)
    assert report.high == pytest.approx(h * np.log(float(one * (1 - zero) / (zero * (1 - one)))), rel=1e-12)
    assert lifetime.high == pytest.approx(2 * h * np.log(float((1 - f / 2) / (f / 2))), rel=1e-12)
    assert report.rigour is lifetime.rigour is Rigour.EXACT


def test_more_reports_cost_more_and_never_more_than_the_lifetime() -> None:
    m = DEPLOYED[1]
    lifetime = account(m.lifetime())
    costs = [account(replace(m, reports=r)) for r in (1, 2, 5, 14, 15, 40, 400)]
    for epsilon in (0.5, 2.0, 4.0):
        deltas = [c.delta(epsilon) for c in costs]
        for fewer, more in pairwise(deltas):
            assert fewer.low <= more.high
        assert deltas[-1].high == pytest.approx(lifetime.delta(epsilon).high, rel=0.04)
        assert deltas[-1].low <= lifetime.delta(epsilon).high
    assert costs[-1].epsilon(0).high == pytest.approx(lifetime.epsilon(0).high, rel=1e-12)


def test_without_permanent_noise_a_lifetime_shows_the_filter() -> None:
    m = replace(DEPLOYED[0], f=Fraction(0))
    assert account(m).epsilon(0).high == pytest.approx(4 * np.log(3))
    assert account(m.lifetime()).epsilon(0).low == np.inf
    assert account(m.lifetime()).delta(100).low == 1
    assert audit(m.lifetime(), trials=100_000).epsilon_lower > 9


@pytest.mark.parametrize(("bits", "hashes", "domain"), [(4, 2, 6), (3, 2, 9), (8, 3, 40), (2, 2, 2), (2, 1, 2), (5, 4, 60)])
def test_differences_are_those_of_signatures_and_none_is_larger(bits: int, hashes: int, domain: int) -> None:
    m = PermanentRappor(bits, hashes, QUARTER, domain)
    signatures = {x: set(np.flatnonzero(m.signature(x)).tolist()) for x in m.inputs}
    for (a, b), (x, other) in m.differences.items():
        assert x != other
        assert (len(signatures[x] - signatures[other]), len(signatures[other] - signatures[x])) == (a, b)
    for x, other in permutations(m.inputs, 2):
        a, b = len(signatures[x] - signatures[other]), len(signatures[other] - signatures[x])
        assert any(c >= a and d >= b for c, d in m.differences)
        assert any(c >= a and d >= b for c, d in largest_differences(bits, hashes))


def test_a_domain_that_is_not_searched_is_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    m = PermanentRappor(3, 2, QUARTER, domain=500)
    exact = account(m)
    monkeypatch.setattr(rappor, "SEARCHED", 2)
    monkeypatch.setattr("ldpaudit.accountants.rappor.SEARCHED", 2)
    enclosed = account(m)
    assert set(m.differences) != largest_differences(3, 2)
    assert enclosed.epsilon(0).rigour is Rigour.INTERVAL
    assert enclosed.epsilon(0).low < exact.epsilon(0).low <= exact.epsilon(0).high <= enclosed.epsilon(0).high


MEAN = OneBitMean(Fraction(1, 5), Fraction(2, 3), gamma=Fraction(1, 8), reports=3)


def test_no_two_numbers_are_told_apart_better_than_0_and_1() -> None:
    ours, oracle = account(MEAN), channel_profile(MEAN, [Fraction(i, 7) for i in range(8)])
    for epsilon in (0.0, 0.3, 0.9, 1.2):
        assert ours.delta(epsilon) == replace(ours.delta(epsilon), low=oracle.delta(epsilon).low)
        assert ours.delta(epsilon).high == oracle.delta(epsilon).high


@pytest.mark.parametrize("m", [MEAN, OneBitMean.for_epsilon(1.0)], ids=str)
def test_the_mean_of_many_different_numbers_is_unbiased(m: OneBitMean) -> None:
    rng = np.random.default_rng(1)
    data = rng.random(20_000) ** 3
    estimates = np.array([m.run(data, rng)[0] for _ in range(50)])
    spread = estimates.std(ddof=1) / np.sqrt(50)
    assert abs(estimates.mean() - m.truth(data)[0]) <= 6 * spread
    assert spread < 0.01 * len(data)


def test_a_number_between_0_and_1_has_the_mixture_of_their_laws() -> None:
    x = 0.3
    for y in range(MEAN.reports + 1):
        zero, one = (MEAN.law(end).probability(y) for end in (0, 1))
        assert MEAN.law(x).probability(y) == (1 - Fraction(x)) * zero + Fraction(x) * one


def test_reports_approach_the_lifetime_which_flips_do_not_change() -> None:
    m = OneBitMean.for_epsilon(Fraction(1672, 1000), gamma=Fraction(1, 4))
    assert account(m.lifetime()).epsilon(0).high == pytest.approx(1.672, rel=1e-12)
    costs = [account(replace(m, reports=r)).epsilon(0).high for r in (1, 2, 5, 50, 5000)]
    assert costs == sorted(costs)
    assert costs[0] < 0.8
    assert costs[-1] == pytest.approx(1.672, rel=1e-12)


@pytest.mark.parametrize(("m", "listed", "epsilons"), [
    (MEAN, 2, (0.0, 0.5, 1.0)), (Rappor(8, 1, HALF, Fraction(2, 5), Fraction(3, 5), reports=12), 4, (0.0, 0.7, 1.5)),
])  # fmt: skip
def test_reports_beyond_the_exact_ones_are_enclosed(
    m: Rappor | OneBitMean, listed: int, epsilons: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = account(m)
    monkeypatch.setattr(accounting, "_REPORTS", listed)
    enclosed = account(m)
    assert exact.delta(1).rigour is Rigour.EXACT
    for epsilon in epsilons:
        e, truth = enclosed.delta(epsilon), exact.delta(epsilon)
        assert e.rigour is Rigour.INTERVAL
        assert e.low < truth.low <= truth.high < e.high


def test_dbitflip_with_one_bit_costs_half_of_what_it_claims() -> None:
    for d, cost in ((1, 0.5), (2, 1.0), (8, 1.0)):
        assert account(DBitFlip.for_epsilon(1, k=8, d=d)).epsilon(0).high == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("share", [Fraction(1, 5), HALF, Fraction(9, 10)])
@pytest.mark.parametrize("nats", [1, 4])
def test_the_steps_of_longitudinal_unary_encoding_are_the_published_ones(nats: int, share: Fraction) -> None:
    first, both = np.exp(float(nats * share)), np.exp(nats)
    symmetric, optimized = (make(nats, 3, share) for make in (LongitudinalUnary.symmetric, LongitudinalUnary.optimized))
    assert float(optimized.p2) == pytest.approx((1 - first * both) / (first - both - first * both + 1), rel=1e-12)
    # Of L-SUE by its definition: what is kept and told right, or wrong both times, is sqrt(e^epsilon_1) times as likely as not.
    p1, p2 = float(symmetric.p1), float(symmetric.p2)
    right = p1 * p2 + (1 - p1) * (1 - p2)
    assert [p1 / (1 - p1), right / (1 - right)] == pytest.approx([np.sqrt(both), np.sqrt(first)], rel=1e-12)
    for m in (symmetric, optimized):
        assert [account(each).epsilon(0).high for each in (m, m.lifetime())] == pytest.approx([nats * share, nats], rel=1e-12)


def test_reports_of_longitudinal_unary_encoding_without_end_show_what_is_memoized() -> None:
    m = LongitudinalUnary(4, HALF, Fraction(1, 5), Fraction(9, 10), Fraction(1, 10))
    most, lifetime = account(replace(m, reports=100_000)), account(m.lifetime())
    assert most.epsilon(0).high == pytest.approx(lifetime.epsilon(0).high, rel=1e-9)
    assert most.delta(1).high == lifetime.delta(1).high == pytest.approx(0.5 * 0.8 - math.e * 0.5 * 0.2)


@pytest.mark.parametrize(("d", "reports"), [(1, 1), (1, 5), (3, 1), (2, 4)])
def test_perturbed_reports_of_kept_bits_cost_what_the_counts_of_one_bit_tell(d: int, reports: int) -> None:
    p, gamma = Fraction(3, 4), Fraction(1, 5)
    m, ratio = PerturbedDBitFlip(4, d, p, gamma, reports), ((1 - gamma) / gamma) ** reports
    expected = min(d, 2) * math.log((p * ratio + 1 - p) / (p + (1 - p) * ratio))
    assert account(m).epsilon(0).high == pytest.approx(expected, rel=1e-12)
    assert account(m).epsilon(0).high < account(m.lifetime()).epsilon(0).high
    assert reports > 1 or account(m).delta(0.3).high == account(m.first()).delta(0.3).high
    many = account(replace(m, reports=10_000))
    assert many.epsilon(0).high == account(m.lifetime()).epsilon(0).high
    assert many.delta(0.5).low == pytest.approx(many.delta(0.5).high, rel=1e-4)
