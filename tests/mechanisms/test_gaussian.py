"""Gaussian noise on counts against mpmath, and rounded Gaussian noise, which costs less."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import mpmath
import numpy as np
import pytest
from scipy import stats

from ldpaudit import Repeat, account
from ldpaudit.accountants import discrete_gaussian, gaussian, rounded_gaussian, skellam
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.enclosure import Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.skellam import Skellam

F = Fraction


def delta_of(m: Gaussian, epsilon: Fraction) -> mpmath.mpf:
    with mpmath.workdps(60):
        distance = mpmath.sqrt(m.squared) * m.sigma.denominator / m.sigma.numerator
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.ncdf(distance / 2 - e / distance) - mpmath.exp(e) * mpmath.ncdf(-distance / 2 - e / distance)


@pytest.mark.parametrize("m", [Gaussian(F("5.1904"), (1, -1)), Gaussian(F(1, 3), (2,)), Gaussian(F(1000), (1, 0, 3))], ids=str)
@pytest.mark.parametrize("epsilon", [F(0), F(1, 1000), F(1), F(7)])
def test_delta_is_the_difference_of_two_tails(m: Gaussian, epsilon: Fraction) -> None:
    found, truth = account(m).delta(epsilon), delta_of(m, epsilon)
    assert found.rigour is Rigour.EXACT
    assert found.low * (1 - 1e-15) <= truth <= found.high * (1 + 1e-15) + 1e-323


def test_epsilon_is_that_of_the_reference() -> None:
    found = account(Gaussian(F("5.1904"), (1, -1))).epsilon(F(1, 10**9))
    assert F("1.527975355122264008304181271932") in found
    assert found.relative_width < 1e-9


@pytest.mark.parametrize("sigma", [F(1, 3), F(1), F(10)])
@pytest.mark.parametrize("change", [(1,), (2, -1), (1, 1, 1)])
def test_to_round_the_noise_costs_no_more_and_hardly_less_where_it_spreads(sigma: Fraction, change: tuple[int, ...]) -> None:
    rounded, real = account(RoundedGaussian(sigma, change)), account(Gaussian(sigma, change))
    for nats in (0.01, 0.5, 2):
        assert rounded.delta(nats).low <= real.delta(nats).high
    for delta in (0.05, 1e-8):
        assert rounded.epsilon(delta).low <= real.epsilon(delta).high
        if sigma == 10:
            assert rounded.epsilon(delta).low >= real.epsilon(delta).low * 0.997


@pytest.mark.parametrize("sigma", [F(1, 2), F(5, 3)])
def test_rounded_noise_on_one_count_costs_what_its_best_tail_shows(sigma: Fraction) -> None:
    with mpmath.workdps(50):
        unit = mpmath.mpf(sigma.numerator) / sigma.denominator

        def upper(z: int) -> mpmath.mpf:
            return mpmath.ncdf(-(z - mpmath.mpf(1) / 2) / unit)

        for k, nats in ((1, F(1, 2)), (2, F(3))):
            truth = max(upper(t - k) - mpmath.exp(mpmath.mpf(nats.numerator) / nats.denominator) * upper(t) for t in range(-9, 30))
            found = account(RoundedGaussian(sigma, (k,))).delta(nats)
            assert found.low <= truth <= found.high <= found.low * (1 + 1e-9)


@pytest.mark.parametrize("stem", [gaussian, discrete_gaussian, rounded_gaussian, skellam])
@pytest.mark.parametrize(("epsilon", "delta", "change"), [(F(1), 1e-6, (1, -1)), (F(1, 10), 1e-9, (1,)), (F(5), 0.01, (2, 1))])
def test_the_least_noise_for_a_goal_keeps_it_and_less_does_not(
    stem: ModuleType, epsilon: Fraction, delta: float, change: tuple[int, ...]
) -> None:
    m = stem.for_privacy(epsilon, delta, change)
    field = "mu" if isinstance(m, Skellam) else "sigma"
    less = replace(m, **{field: getattr(m, field) * F(99_999, 100_000)})
    assert account(m).delta(epsilon).high <= delta < account(less).delta(epsilon).low
    with pytest.raises(ValueError, match="for_privacy needs epsilon > 0 and delta > 0"):
        stem.for_privacy(epsilon, 0)


def test_the_samplers_have_their_laws() -> None:
    rng, size = np.random.default_rng(8), 40_000
    assert stats.kstest(Gaussian(F(3)).noise(size, rng) / 3, "norm").pvalue > 1e-6
    law, seen = Masses.rounded_gaussian(F(9, 4)), Counter(RoundedGaussian(F(3, 2)).noise(size, rng).tolist())
    cells = [(seen[law.first + i], p * size) for i, p in enumerate(law.values.tolist()) if p * size >= 10]
    assert stats.chi2.sf(sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1) > 1e-9


@pytest.mark.parametrize("owner", [Gaussian, RoundedGaussian])
def test_sigma_is_above_0(owner: type[Gaussian]) -> None:
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="sigma > 0 is needed"):
            owner(F(wrong))


def test_rounded_noise_that_spreads_over_more_than_is_listed_is_refused() -> None:
    with pytest.raises(Unsupported, match="spreads over"):
        account(RoundedGaussian(F(10**5)))


def test_two_releases_are_enclosed_around_one_of_half_the_variance() -> None:
    twice, once = account(Repeat(Gaussian(F(5)), 2)).epsilon(1e-5), account(Gaussian(F(5), (1, 1))).epsilon(1e-5)
    assert twice.low <= once.low <= once.high <= twice.high <= twice.low * 1.01
