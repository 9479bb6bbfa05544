"""Gaussian noise on counts, rounded and discrete: against mpmath, reference numbers and all counts multiplied out."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import ModuleType

import flint
import mpmath
import numpy as np
import pytest
from scipy import stats

from ldpaudit import Repeat, account, audit
from ldpaudit.accountants import discrete_gaussian, gaussian, rounded_gaussian, skellam
from ldpaudit.accountants.aggregation.added_noise import AddedNoise, noise_profile
from ldpaudit.accountants.discrete_gaussian import Discrete, _eta
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.skellam import Skellam
from tests.samples import matches, meet, table

F = Fraction


def two_tails(m: Gaussian, epsilon: Fraction) -> mpmath.mpf:
    with mpmath.workdps(60):
        distance = mpmath.sqrt(m.squared) * m.sigma.denominator / m.sigma.numerator
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.ncdf(distance / 2 - e / distance) - mpmath.exp(e) * mpmath.ncdf(-distance / 2 - e / distance)


@pytest.mark.parametrize("m", [Gaussian(F("5.1904"), (1, -1)), Gaussian(F(1, 3), (2,)), Gaussian(F(1000), (1, 0, 3))], ids=str)
@pytest.mark.parametrize("epsilon", [F(0), F(1, 1000), F(1), F(7)])
def test_delta_is_the_difference_of_two_tails(m: Gaussian, epsilon: Fraction) -> None:
    found, truth = account(m).delta(epsilon), two_tails(m, epsilon)
    assert found.rigour is Rigour.EXACT
    assert found.low * (1 - 1e-15) <= truth <= found.high * (1 + 1e-15) + 1e-323


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


def test_the_sampler_has_the_normal_law() -> None:
    assert stats.kstest(Gaussian(F(3)).noise(40_000, np.random.default_rng(8)) / 3, "norm").pvalue > 1e-6


def test_rounded_noise_that_spreads_over_more_than_is_listed_is_refused() -> None:
    with pytest.raises(Unsupported, match="spreads over"):
        account(RoundedGaussian(F(10**5)))


def test_two_releases_are_enclosed_around_one_of_half_the_variance() -> None:
    twice, once = account(Repeat(Gaussian(F(5)), 2)).epsilon(1e-5), account(Gaussian(F(5), (1, 1))).epsilon(1e-5)
    assert twice.low <= once.low <= once.high <= twice.high <= twice.low * 1.01


CLOSE = 1e-9


def test_two_honest_parties_add_nearly_one_discrete_gaussian_of_twice_the_variance() -> None:
    found = account(DiscreteGaussian(F("8.5402") * F(2**0.5), (1, -1))).epsilon(F(1, 10**9))
    assert found.high == pytest.approx(0.6306511996323940, rel=1e-10)


def test_a_rounded_claim_exceeds_its_delta_by_little() -> None:
    found = account(DiscreteGaussian(F("23.3903"), (1, -1))).delta(F("0.317"))
    assert F("1.001622200466023784137355239310e-9") in found
    assert found.relative_width < 1e-14


def weights(change: tuple[int, ...], sigma_squared: Fraction, reach: int) -> dict[int, float]:
    """The law of T, but for a factor, over all points of a box."""
    found: dict[int, float] = defaultdict(float)
    for x in product(range(-reach, reach + 1), repeat=len(change)):
        found[sum(a * b for a, b in zip(change, x, strict=True))] += math.exp(-sum(a * a for a in x) / (2 * sigma_squared))
    return found


@pytest.mark.parametrize(("change", "sigma_squared"), [((1, -1), F(1, 2)), ((1, 2), F(2)), ((1, 1, -1), F(1)), ((3, 1), F(3))])
def test_the_law_of_the_sum_is_flat_up_to_eta(change: tuple[int, ...], sigma_squared: Fraction) -> None:
    norm = sum(each**2 for each in change)
    law = weights(change, sigma_squared, 12)
    thetas = [law[d] * math.exp(d * d / (2 * float(sigma_squared) * norm)) for d in range(norm)]
    mean = sum(thetas) / norm
    bound = _eta(norm, len(change), sigma_squared)
    assert max(abs(each / mean - 1) for each in thetas) <= bound


@pytest.mark.parametrize(
    ("sigma", "change"), [(F(10), (1, 1, -1)), (F(6), (1, -1)), (F(20), (3, -1)), (F(9), (2, 2)), (F(1, 3), (2,))]
)
def test_one_number_costs_what_all_counts_multiplied_out_cost(sigma: Fraction, change: tuple[int, ...]) -> None:
    one, all_counts = account(DiscreteGaussian(sigma, change)), noise_profile(Masses.discrete_gaussian(sigma**2), change, "counts")
    assert isinstance(one, Discrete)
    for nats in (0, 0.1, 1, 3):
        assert meet(one.delta(nats), all_counts.delta(nats))
    for delta in (0.1, 1e-5, 1e-12):
        a, b = one.epsilon(delta), all_counts.epsilon(delta)
        assert meet(a, b)
        assert a.relative_width < CLOSE
        assert b.relative_width < 10 * CLOSE


def test_the_law_depends_on_the_change_and_not_on_its_norm_alone() -> None:
    sigma = F(1)
    several, alone = (account(DiscreteGaussian(sigma, change)).epsilon(1e-3) for change in ((2, 2, 1), (3,)))
    assert several.high * 1.005 < alone.low
    assert isinstance(account(DiscreteGaussian(sigma, (2, 2, 1))), AddedNoise)


@pytest.mark.parametrize("sigma", [10**3, 10**6, 10**12])
def test_noise_that_spreads_costs_what_gaussian_noise_does(sigma: int) -> None:
    fine, real = account(DiscreteGaussian(F(sigma), (sigma // 2,))), account(Gaussian(F(2)))
    for delta in (1e-3, 1e-9, F(1, 10**500)):
        found, truth = fine.epsilon(delta), real.epsilon(delta)
        assert found.relative_width < CLOSE
        assert found.low == pytest.approx(truth.low, rel=1 / sigma)


def test_no_epsilon_is_enough_for_delta_0_and_every_delta_above_has_one() -> None:
    found = account(DiscreteGaussian(F(5)))
    assert math.isinf(found.epsilon(0).low)
    assert 0 < found.epsilon(F(1, 10**4000)).low <= found.epsilon(F(1, 10**4000)).high < 1e3
    assert found.delta(1e5).high < 1e-300


@pytest.mark.parametrize("sigma", [F(1, 3), F(2), F(47, 3), F(300)])
@pytest.mark.parametrize("doubt", [1e-9, 2.0])
def test_the_sampler_has_the_law_in_floats_and_in_balls(sigma: Fraction, doubt: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpaudit.mechanisms.discrete_gaussian._DOUBT", doubt)  # by more than 1 every coin is decided in balls
    size = 40_000 if doubt < 1 else 4_000
    cell = max(1, int(sigma) // 4)
    seen = Counter((DiscreteGaussian(sigma).noise(size, np.random.default_rng(4)) // cell).tolist())
    law = Counter[int]()
    for z, p in table(Masses.discrete_gaussian(sigma**2)).items():
        law[z // cell] += p  # type: ignore[assignment]
    assert matches(seen, law)


def test_the_sampler_draws_what_spreads_over_billions() -> None:
    drawn = DiscreteGaussian(F(10**12)).noise(20_000, np.random.default_rng(6)) / 1e12
    assert stats.kstest(drawn, "norm").pvalue > 1e-6


def test_an_audit_comes_near_and_refutes_half_of_the_variance() -> None:
    m = DiscreteGaussian(F(5), (3, -1))
    exact = account(m).epsilon(0.05)
    assert 0.85 * exact.low <= audit(m, delta=0.05, trials=200_000, seed=1).epsilon_lower <= exact.high
    code = DiscreteGaussian(F(5) * F(2**-0.5), (3, -1))
    assert audit(m, epsilon=exact.high, delta=0.05, implementation=code, trials=400_000, seed=1).epsilon_lower > exact.high


def test_the_bound_of_eta_is_a_number_whatever_the_change() -> None:
    with working_precision(64):
        assert _eta(10**6, 10**3, F(1, 10**9)) == 1.0
        assert 0 < _eta(2, 2, F(12)) < 1e-24
        assert flint.arb(_eta(2, 2, F(10**9))) >= 0
