"""Gaussian noise on counts, rounded and discrete, and sums of shares of noise: against mpmath, rationals and all counts."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from types import ModuleType

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy import stats

from ldpaudit import Compose, Repeat, Rigour, account, audit
from ldpaudit.accountants import discrete_gaussian, gaussian, rounded_gaussian, skellam
from ldpaudit.accountants.aggregation.added_noise import AddedNoise, noise_profile
from ldpaudit.accountants.discrete_gaussian import Discrete, _eta, _eta_of_shares
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import BinomialNoise, DiscreteLaplace, Gaussian, GaussianReport, PolyaNoise, RoundedGaussian, Skellam
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianShares
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from tests.oracles.polya import polya
from tests.oracles.shuffle import law_of
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


def test_rounding_gains_a_few_percent_of_rho_and_of_mu_and_no_more() -> None:
    rounded, real = account(RoundedGaussian(F(5), (1, -1))), account(Gaussian(F(5), (1, -1)))
    for found, known in ((rounded.rho(), real.rho()), (rounded.gdp(), real.gdp()), (rounded.renyi(3), real.renyi(3))):
        assert 0.98 * known.low < found.low < found.high == known.high


@pytest.mark.parametrize(("sigma", "k"), [(F(1, 100), 1), (F(1, 10**6), 10)])
def test_noise_that_is_hardly_ever_anything_but_0_costs_much_and_is_not_exact_without_an_end_above(sigma: Fraction, k: int) -> None:
    found = account(RoundedGaussian(sigma, (k,))).epsilon(1e-6)
    assert found.low > 80
    assert (found.high, found.rigour) == (math.inf, Rigour.INTERVAL)


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


def test_a_report_costs_what_noise_on_a_count_does_that_changes_by_as_many_deviations() -> None:
    report, count = account(GaussianReport.for_gdp(F(2, 3), -1, 4)), account(Gaussian(F(3, 2)))
    assert report.epsilon(1e-6).low == count.epsilon(1e-6).low < report.epsilon(1e-6).high
    assert report.gdp().low == count.gdp().low
    assert report.epsilon(0).low == math.inf


@pytest.mark.parametrize("parts", [[(F(3), 4)], [(F(1), 1), (F(5, 2), 3)]])
def test_normal_noises_compose_to_one_normal_noise(parts: list[tuple[Fraction, int]]) -> None:
    found = account(Compose([Repeat(GaussianReport(sigma), times) for sigma, times in parts]))
    mu = math.sqrt(sum(times / sigma**2 for sigma, times in parts))
    for epsilon in (0.1, 1.0, 3.0):
        truth = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        assert found.delta(epsilon).low == pytest.approx(truth, rel=1e-9)
    assert found.epsilon(1e-9).rigour is Rigour.EXACT


def test_numbers_under_noise_as_large_as_floats_hold_are_audited() -> None:
    assert audit(GaussianReport(F(10**200)), delta=0.01, trials=2000, seed=1).epsilon_lower == 0


def test_the_samplers_have_the_normal_law_also_where_they_spread_over_billions() -> None:
    rng = np.random.default_rng(8)
    assert stats.kstest(GaussianReport(F(3), F(-1)).sample(-0.5, 40_000, rng), "norm", (-0.5, 3)).pvalue > 1e-6
    for m, scale in ((Gaussian(F(3)), 3), (DiscreteGaussian(F(10**12)), 1e12)):
        assert stats.kstest(m.noise(20_000, rng) / scale, "norm").pvalue > 1e-6


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
    return law_of(
        (sum(a * b for a, b in zip(change, x, strict=True)), math.exp(-sum(a * a for a in x) / (2 * sigma_squared)))
        for x in product(range(-reach, reach + 1), repeat=len(change))
    )


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


def test_the_bound_of_eta_is_a_number_whatever_the_change() -> None:
    with working_precision(64):
        assert _eta(10**6, 10**3, F(1, 10**9)) == 1.0
        assert 0 < _eta(2, 2, F(12)) < 1e-24
        assert flint.arb(_eta(2, 2, F(10**9))) >= 0


HALF = F(1, 2)


@pytest.mark.parametrize(
    ("alpha", "shape", "k"), [(F(1, 3), F(1, 4), 1), (HALF, F(9, 10), 2), (F(3, 5), F(1, 50), 3), (F(2, 5), F(7, 2), 2)]
)
def test_polya_noise_costs_what_its_masses_in_rationals_say(alpha: Fraction, shape: Fraction, k: int) -> None:
    half = polya(alpha, shape, 70)
    law = {z: half[abs(z)] for z in range(-70, 71)}
    whole = sum(law.values())
    profile = account(PolyaNoise(alpha, shape, (k,)))
    for nats in (0.0, 0.3, 1.0, 2.5):
        x = F(math.exp(nats))
        truth = sum(max(F(0), p - x * law.get(z - k, F(0))) for z, p in law.items() if z > -50) / whole
        found = profile.delta(nats)
        assert found.low - 1e-12 <= float(truth) <= found.high + 1e-12
        assert found.high - found.low < 1e-9
    if shape < 1:
        steps = [half[z] / half[z + 1] for z in range(60)]
        assert all(near >= far > 1 / alpha for near, far in pairwise(steps)), "the loss falls to log(1/alpha)"
        assert float(mpmath.log(half[0] / half[k])) == pytest.approx(profile.epsilon(0).high, rel=1e-14)
    else:
        assert profile.epsilon(0).high == pytest.approx(-k * math.log(alpha), rel=1e-14)


@given(
    alpha=st.fractions(F(1, 20), F(19, 20), max_denominator=20), nats=st.floats(0, 3), delta=st.floats(1e-9, 0.5),
    change=st.lists(st.integers(-2, 2), min_size=1, max_size=2).filter(any).map(tuple),
)  # fmt: skip
@example(alpha=F(1, 2), nats=0.1, delta=1e-6, change=(1, -1))
def test_all_shares_together_are_discrete_laplace_noise(
    alpha: Fraction, nats: float, delta: float, change: tuple[int, ...]
) -> None:
    whole = DiscreteLaplace(alpha, change)
    profile, exact = account(whole.of_shares(7, 7)), account(whole)
    pairs = (profile.delta(nats), exact.delta(nats)), (profile.epsilon(delta), exact.epsilon(delta))
    for ours, truth in (*pairs, (profile.epsilon(0), exact.epsilon(0))):
        assert meet(ours, truth)
        assert ours.high - ours.low <= 10 * CLOSE * max(ours.high, 1e-6)


@pytest.mark.parametrize("change", [(1,), (5000,), (2, -1)])
@pytest.mark.parametrize("noise", [DiscreteLaplace(F(9, 10)), Skellam(F(40)), BinomialNoise(120), DiscreteGaussian(F(6))])
def test_fewer_honest_shares_cost_more(noise: CountNoise, change: tuple[int, ...]) -> None:
    parts = (noise.of_shares(honest, 60) for honest in (20, 59, 60))
    few, most, all_ = (account(replace(m, change=change)).epsilon(1e-3) for m in parts)  # type: ignore[type-var]
    if change == (5000,):
        assert few.low >= most.low >= all_.low > 8
    else:
        assert few.low > most.high > most.low > all_.high > 0


def test_a_long_change_costs_what_short_ones_add_up_to() -> None:
    m = PolyaNoise(F(1, 10**3), F(1, 10), (6000,))
    found = account(m).epsilon(0)
    assert account(replace(m, change=(4096,))).epsilon(0).low < found.low < 6000 * math.log(1000.0) + 10
    assert found.relative_width < 1e-3
    assert found.low < account(replace(m, change=(6001,))).epsilon(0).low


def shares(variance: mpmath.mpf, h: int, reach: int) -> np.ndarray:
    """P[X = z] but for a factor, from -h reach to h reach, term by term."""
    one = np.array([mpmath.exp(-z * z / (2 * variance)) for z in range(-reach, reach + 1)])
    return reduce(np.convolve, [one] * h)


@pytest.mark.parametrize(("variance", "h"), [(F(1, 5), 3), (F(1), 4), (F(1, 50), 6), (F(7, 4), 2)])
def test_the_law_of_a_sum_of_shares_is_that_of_its_convolution(variance: Fraction, h: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference A19: eta of 4 shares of variance 1."""
    with mpmath.workdps(60):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        law = shares(v, h, 26)
        whole, middle = mpmath.fsum(law), len(law) // 2
        for flat in (1e-10, 0.1):  # convolved, and from one discrete Gaussian law
            monkeypatch.setattr(discrete_gaussian, "_NEARLY_FLAT", flat)
            found = discrete_gaussian.masses(DiscreteGaussianShares(variance, h))
            assert found.outside < 1e-36
            for z, p in enumerate(found.values.tolist(), found.first):
                truth = law[middle + z] / whole
                assert p * (1 - found.error) <= truth <= p * (1 + 2 * found.error) + found.outside
        thetas = [law[middle + z] * mpmath.exp(z * z / (2 * h * v)) for z in range(h)]
        mean = mpmath.fsum(thetas) / h
        assert max(abs(each / mean - 1) for each in thetas) <= _eta_of_shares(variance, h)
        if variance == 1:
            assert float(mpmath.log(max(thetas) / min(thetas))) == pytest.approx(5.95179385599308345735e-6, rel=1e-12)


@pytest.mark.parametrize("h", [2, 50, 10**4, 10**6])
@pytest.mark.parametrize("variance", [F(3, 2), F(2), F(4)])
def test_the_bound_of_eta_is_near_its_first_terms(variance: Fraction, h: int) -> None:
    first = 2 * h * math.exp(-2 * math.pi**2 * float(variance) * (1 - 1 / h)) / (2 if h == 2 else 1)
    assert 0.9 * first <= _eta_of_shares(variance, h) <= 3 * h * first if h < 10**3 else 1.5 * first


def test_convolved_or_nearly_flat_a_sum_costs_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    m = DiscreteGaussianShares(F(3), 50, (1, -1))
    near = account(m)
    monkeypatch.setattr(discrete_gaussian, "_NEARLY_FLAT", -1.0)
    for delta in (1e-3, 1e-9):
        ours, truth = account(m).epsilon(delta), near.epsilon(delta)
        assert meet(ours, truth)
        assert max(ours.relative_width, truth.relative_width) < 10 * CLOSE


def test_narrow_noise_cannot_be_shared_among_many() -> None:
    whole = DiscreteGaussian(F(10))
    shared, alone = account(whole.of_shares(10**5, 10**5)).epsilon(1e-6), account(whole).epsilon(1e-6)
    assert shared.low > 70 > 1 > alone.high
    wide = DiscreteGaussian(F(1000))
    assert account(wide.of_shares(10**5, 10**5)).epsilon(1e-6).high == pytest.approx(account(wide).epsilon(1e-6).high, rel=1e-7)


def test_the_sum_of_all_clients_shares_has_the_law_of_the_whole() -> None:
    m, size = PolyaNoise(F(4, 5)), 20_000
    drawn = m.of_shares(1, 20).noise(20 * size, np.random.default_rng(2)).reshape(20, size).sum(axis=0)
    assert matches(Counter(drawn.tolist()), table(Masses.discrete_laplace(F(4, 5))))


@pytest.mark.parametrize(
    "m",
    [GaussianReport(Fraction(1, 10**160)), GaussianReport(Fraction(1), high=Fraction(10**200)), Gaussian(Fraction(1, 10**400))],
    ids=str,
)
def test_of_noise_that_hides_nothing_no_finite_bound_is_known(m: GaussianReport | Gaussian) -> None:
    assert account(m).epsilon(Fraction(1, 10**6)).high == math.inf
    assert account(m).delta(1).low > 0.99
