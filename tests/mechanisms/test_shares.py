"""Sums of shares of noise: Polya noise, and sums of discrete Gaussians, against reference numbers, mpmath and rationals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldpaudit import account
from ldpaudit.accountants import discrete_gaussian
from ldpaudit.accountants.discrete_gaussian import _eta_of_shares
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.binomial_noise import BinomialNoise
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianShares
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.polya_noise import PolyaNoise
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.skellam import Skellam
from tests.oracles.polya import polya
from tests.samples import matches, meet, table

F = Fraction
HALF, MILLIONTH = F(1, 2), F(1, 10**6)
CLOSE = 1e-9
"""Relative, to which what is not EXACT by a formula is certified."""


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
@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(F(9, 10)), Skellam(F(40)), BinomialNoise(120), DiscreteGaussian(F(6))]
)
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


def shares(variance: mpmath.mpf, h: int, reach: int) -> list[mpmath.mpf]:
    """P[X = z] but for a factor, from -h reach to h reach, term by term."""
    one = [mpmath.exp(-z * z / (2 * variance)) for z in range(-reach, reach + 1)]

    def plus(a: list[mpmath.mpf], b: list[mpmath.mpf]) -> list[mpmath.mpf]:
        return [
            sum(a[i] * b[k - i] for i in range(max(0, k - len(b) + 1), min(k + 1, len(a))))
            for k in range(len(a) + len(b) - 1)
        ]

    return reduce(plus, [one] * h)


@pytest.mark.parametrize(("variance", "h"), [(F(1, 5), 3), (F(1), 4), (F(1, 50), 6), (F(7, 4), 2)])
def test_the_law_of_a_sum_of_shares_is_that_of_its_convolution(
    variance: Fraction, h: int, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert account(wide.of_shares(10**5, 10**5)).epsilon(1e-6).high == pytest.approx(
        account(wide).epsilon(1e-6).high, rel=1e-7
    )


def test_the_sum_of_all_clients_shares_has_the_law_of_the_whole() -> None:
    m, size = PolyaNoise(F(4, 5)), 20_000
    drawn = m.of_shares(1, 20).noise(20 * size, np.random.default_rng(2)).reshape(20, size).sum(axis=0)
    assert matches(Counter(drawn.tolist()), table(Masses.discrete_laplace(F(4, 5))))


def test_noise_that_spreads_over_more_than_is_listed_is_refused() -> None:
    for m in (PolyaNoise(1 - F(1, 10**4), HALF), PolyaNoise(F(9, 10), F(10**6))):
        with pytest.raises(Unsupported, match=r"Polya noise of alpha .* spreads over"):
            account(m)
