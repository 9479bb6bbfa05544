"""Laplace noise: the closed forms against integration at 60 digits, and what is and is not an input."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from ldpaudit import Repeat, Unsupported, account
from ldpaudit.mechanisms import BucketHeavyHitter, GlpsHeavyHitter, Laplace, LaplaceHistogram
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE
from tests.samples import SEEDED_LEVEL

DIGITS = 60
FAR = 400
"""Integration ends this many scales out: what is beyond is below 1e-170."""
SCALES = [Fraction(1, 4), Fraction(2, 3), Fraction(3), Fraction(50)]
SHARES = [Fraction(0), Fraction(1, 10**6), Fraction(1, 3), Fraction(4, 5), 1 - Fraction(1, 10**6), Fraction(1)]
"""Epsilons that are tested, as shares of the pure one."""


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mpmath.workdps(DIGITS):
        yield


def mpf(value: Fraction | float) -> mpmath.mpf:
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def density(y: mpmath.mpf, centre: int, b: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp(-abs(y - centre) / b) / (2 * b)


def below(y: mpmath.mpf, centre: int, b: mpmath.mpf) -> mpmath.mpf:
    """P[centre + noise < y]."""
    tail = mpmath.exp(-abs(y - centre) / b) / 2
    return tail if y < centre else 1 - tail


def delta_of_one(epsilon: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
    """Integral of (p - e**epsilon q)+, which is positive left of where the loss falls to epsilon."""
    end = (1 - epsilon * b) / 2
    more = mpmath.exp(epsilon)
    return mpmath.quad(lambda y: density(y, 0, b) - more * density(y, 1, b), [-FAR * b, min(0, end), end])


def delta_of_two(epsilon: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
    """The same in two coordinates, the inner integral over the second by the law's distribution function."""

    def inner(y: mpmath.mpf) -> mpmath.mpf:
        needed = epsilon - (abs(y - 1) - abs(y)) / b  # of the second coordinate, which is shifted alike
        if needed >= 1 / b:
            return mpmath.mpf(0)
        end = mpmath.inf if needed <= -1 / b else (1 - needed * b) / 2
        return density(y, 0, b) * below(end, 0, b) - mpmath.exp(epsilon) * density(y, 1, b) * below(end, 1, b)

    last = 1 - epsilon * b / 2  # beyond, the second coordinate cannot make up for the first
    return mpmath.quad(inner, [-FAR * b, 0, last])


def assert_encloses(low: float, high: float, truth: mpmath.mpf) -> None:
    slack = mpmath.mpf(10) ** -50
    assert mpmath.mpf(low) - slack <= truth <= mpmath.mpf(high) + slack
    assert math.nextafter(low, math.inf) >= high


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("b", SCALES)
def test_delta_is_the_integral_for_one_coordinate(b: Fraction, share: Fraction) -> None:
    epsilon = float(share / b)
    truth = delta_of_one(mpf(epsilon), mpf(b)) if epsilon < 1 / b else mpmath.mpf(0)
    for profile in (account(Laplace(b)), account(LaplaceHistogram(2, b), ADD_REMOVE)):
        found = profile.delta(epsilon)
        assert_encloses(found.low, found.high, truth)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("b", SCALES)
def test_delta_is_the_integral_for_two_coordinates(b: Fraction, share: Fraction) -> None:
    epsilon = float(2 * share / b)
    found = account(LaplaceHistogram(2, b)).delta(epsilon)
    truth = delta_of_two(mpf(epsilon), mpf(b)) if epsilon < 2 / b else mpmath.mpf(0)
    assert_encloses(found.low, found.high, truth)


@pytest.mark.few(8)
@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.01, 0.2, 0.5])
@pytest.mark.parametrize("b", SCALES)
def test_epsilon_of_delta_is_where_the_integral_is_delta(b: Fraction, delta: float) -> None:
    for profile, integral in [(account(Laplace(b)), delta_of_one), (account(LaplaceHistogram(2, b)), delta_of_two)]:
        found = profile.epsilon(delta)
        if found.low == 0:
            assert integral(mpmath.mpf(0), mpf(b)) <= mpf(delta)
            continue
        ends = [integral(mpmath.mpf(e), mpf(b)) if e < profile.epsilon(0).high else 0 for e in (found.low, found.high)]
        assert ends[1] - mpmath.mpf(10) ** -50 <= mpf(delta) <= ends[0] + mpmath.mpf(10) ** -50
        assert math.nextafter(found.low, math.inf) >= found.high


def test_epsilon_is_narrow_where_delta_nearly_explains_it_all() -> None:
    pure = Fraction(1, 3)
    delta = account(Laplace(1 / pure)).delta(0).low  # just below 1 - e**(-pure/2)
    epsilon = account(Laplace(1 / pure)).epsilon(delta)
    assert 0 < epsilon.low <= epsilon.high == pytest.approx(epsilon.low, rel=1e-15)
    assert epsilon.high < 1e-15


PROJECTED = [kind(4, 3, Fraction(2), 1) for kind in (JLHeavyHitter, FreshProjections, FreshProducts)]
SYSTEMS = [BucketHeavyHitter(8, 2, 1, Fraction(3)), *PROJECTED]


@pytest.mark.parametrize("m", SYSTEMS, ids=str)
def test_counts_in_law_have_the_law_of_the_counts(m: Any) -> None:
    data, rng = [1] * 4 + [2] * 2, np.random.default_rng(4)
    drawn, in_law = (np.array([run(data, rng) for _ in range(3_000)]) for run in (m.run, m.run_in_law))
    for one, other in zip(drawn.T, in_law.T, strict=True):
        assert stats.ks_2samp(one, other).pvalue > SEEDED_LEVEL
    assert drawn.var(axis=0) == pytest.approx(2 * 6 * float(m.scale) ** 2, rel=0.2), "2 n b**2, whatever the system"


@pytest.mark.parametrize("m", [*SYSTEMS[:3], GlpsHeavyHitter(4, 1, 1, 2, Fraction(1))], ids=str)
def test_a_view_is_a_column_and_noise_of_the_scale_and_of_an_absent_user_noise_alone(m: Any) -> None:
    for x in (None, 3):
        noise = (m.sample(x, 30_000, np.random.default_rng(1)) - m.column(x)) / float(m.scale)
        assert all(stats.kstest(column, stats.laplace().cdf).pvalue > SEEDED_LEVEL for column in noise.T)
    assert not m.column(None).any()


def test_every_number_between_the_ends_is_an_input() -> None:
    m = Laplace(Fraction(1), Fraction(-1, 3), Fraction(2, 3))
    for inside in (0, Fraction(1, 3), -0.25, *m.inputs):
        m.require_input(inside)


def test_the_sampler_has_the_scale() -> None:
    rng = np.random.default_rng(5)
    m = Laplace(Fraction(5, 2), Fraction(1), Fraction(7))
    assert np.mean(np.abs(m.sample(3, 400_000, rng) - 3)) == pytest.approx(2.5, rel=0.01)
    rows = LaplaceHistogram(3, Fraction(5, 2)).sample(None, 400_000, rng)
    assert np.mean(np.abs(rows), axis=0) == pytest.approx(np.full(3, 2.5), rel=0.01)


def test_a_law_of_real_numbers_has_no_table() -> None:
    with pytest.raises(Unsupported, match="infinitely many"):
        Laplace(Fraction(1)).law(0)


@pytest.mark.parametrize(("scale", "epsilon"), [(Fraction(1), 0.5), (Fraction(1, 2), 1.0), (Fraction(1, 4), 3.0)])
def test_two_runs_are_enclosed_closely_around_the_histogram_s_two_coordinates(scale: Fraction, epsilon: float) -> None:
    truth = account(LaplaceHistogram(k=3, scale=scale)).delta(epsilon)
    found = account(Repeat(Laplace(scale), 2)).delta(epsilon)
    assert found.low <= truth.low <= truth.high <= found.high <= found.low * 1.001


def test_many_runs_are_enclosed_closely() -> None:
    found = account(Repeat(Laplace.for_epsilon(1), 100)).epsilon(1e-6)
    assert found.high <= found.low * (1 + 1e-4)
    assert found.high < 72  # against 100 by basic composition
