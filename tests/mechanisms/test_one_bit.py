"""1BitMean on the whole interval and over many reports; dBitFlip with one bit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ldpaudit import account
from ldpaudit.accountants.composition import product as accounting
from ldpaudit.accountants.pld.finite import channel_profile
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean

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
    lifetime = account(m.lifetime())
    assert lifetime.epsilon(0).high == pytest.approx(1.672, rel=1e-12)
    costs = [account(replace(m, reports=r)).epsilon(0).high for r in (1, 2, 5, 50, 5000)]
    assert costs == sorted(costs)
    assert costs[0] < 0.8
    assert costs[-1] == pytest.approx(1.672, rel=1e-12)


def test_reports_beyond_the_exact_ones_are_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = account(MEAN)
    monkeypatch.setattr(accounting, "_REPORTS", 2)
    enclosed = account(MEAN)
    for epsilon in (0.0, 0.5, 1.0):
        e, truth = enclosed.delta(epsilon), exact.delta(epsilon)
        assert e.rigour is Rigour.INTERVAL
        assert e.low < truth.low <= truth.high < e.high


@pytest.mark.parametrize("x", [-0.1, 1.5, float("nan"), None, "1", True])
def test_an_input_is_a_number_from_0_to_1(x: object) -> None:
    with pytest.raises(ValueError, match=r"needs an input in \[0, 1\]"):
        MEAN.sample(x, 1, np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one number in"):
        MEAN.run([0.5, 2.0], np.random.default_rng(0))


def test_dbitflip_with_one_bit_costs_half_of_what_it_claims() -> None:
    for d, cost in ((1, 0.5), (2, 1.0), (8, 1.0)):
        assert account(DBitFlip.for_epsilon(1, k=8, d=d)).epsilon(0).high == pytest.approx(cost, rel=1e-12)


def test_it_refuses_parameters_outside_their_domain() -> None:
    with pytest.raises(ValueError, match="0 <= gamma < 1/2"):
        replace(MEAN, gamma=Fraction(1, 2))
    with pytest.raises(ValueError, match="0 < low < 2/3"):
        replace(MEAN, low=Fraction(2, 3))
    with pytest.raises(ValueError, match="1 <= d <= 4"):
        DBitFlip(4, 5, Fraction(3, 4))
