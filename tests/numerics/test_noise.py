"""Laws of noise, tails of sums of noises, and tails of sums of two kinds of integers with the holders that they do not reject."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import special
from scipy.stats import norm

from ldpaudit.accountants.numerics import normal
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.numerics.laplace_sum import Noises, upper_tail
from ldpaudit.accountants.numerics.two_kinds import ERROR, TwoKinds, holders
from ldpaudit.core.working_precision import working_precision
from ldpaudit.errors import Unsupported

F = Fraction
Law = Callable[[int, mpmath.mpf], mpmath.mpf]


def laplace(z: int, alpha: mpmath.mpf) -> mpmath.mpf:
    return (1 - alpha) / (1 + alpha) * alpha ** abs(z)


def discrete_gaussian(z: int, variance: mpmath.mpf) -> mpmath.mpf:
    return mpmath.e ** (-z * z / (2 * variance)) / mpmath.jtheta(3, 0, mpmath.e ** (-1 / (2 * variance)))


def rounded_gaussian(z: int, variance: mpmath.mpf) -> mpmath.mpf:
    unit = mpmath.sqrt(2 * variance)
    return (mpmath.erfc((abs(z) - 0.5) / unit) - mpmath.erfc((abs(z) + 0.5) / unit)) / 2


def skellam(z: int, mu: mpmath.mpf) -> mpmath.mpf:
    return mpmath.e ** (-mu) * (mu / 2) ** abs(z) / mpmath.factorial(abs(z)) * mpmath.hyp0f1(abs(z) + 1, mu * mu / 4)


def polya(shape: Fraction) -> tuple[Callable[[Fraction], Masses], Law]:
    def law(z: int, alpha: mpmath.mpf) -> mpmath.mpf:
        r, k = mpmath.mpf(shape.numerator) / shape.denominator, abs(z)
        # Euler's transformation (DLMF 15.8.1): of a whole shape it is a polynomial.
        series = (1 - alpha**2) ** (1 - 2 * r) * mpmath.hyp2f1(1 - r, k + 1 - r, k + 1, alpha**2)
        return (1 - alpha) ** (2 * r) * alpha**k * mpmath.rf(r, k) / mpmath.factorial(k) * series

    return lambda alpha: Masses.polya(alpha, shape), law


LAWS: tuple[tuple[Callable[[Fraction], Masses], Law, Fraction], ...] = (
    (Masses.discrete_laplace, laplace, F(1, 3)), (Masses.discrete_laplace, laplace, F(19, 20)),
    (Masses.discrete_gaussian, discrete_gaussian, F(1, 5)), (Masses.discrete_gaussian, discrete_gaussian, F(73, 2)),
    (Masses.discrete_gaussian, discrete_gaussian, F(10**5)),
    (Masses.rounded_gaussian, rounded_gaussian, F(1, 5)), (Masses.rounded_gaussian, rounded_gaussian, F(900)),
    (Masses.skellam, skellam, F(1, 50)), (Masses.skellam, skellam, F(2)), (Masses.skellam, skellam, F(2500)),
    (*polya(F(1)), F(1, 2)), (*polya(F(3, 2)), F(4, 5)), (*polya(F(30)), F(9, 10)),
)  # fmt: skip


CONVEX = ((*polya(F(1, 2)), F(1, 2)), (*polya(F(9, 10)), F(1, 3)), (*polya(F(1, 1000)), F(19, 20)))
"""On either side of 0."""


@pytest.mark.parametrize(("make", "law", "parameter"), LAWS + CONVEX)
def test_masses_are_right_to_their_error_and_hold_nearly_all(
    make: Callable[[Fraction], Masses], law: Law, parameter: Fraction
) -> None:
    found = make(parameter)
    assert found.first == -(len(found.values) // 2)
    assert found.error < 1e-12
    with mpmath.workdps(80):
        exact = mpmath.mpf(parameter.numerator) / parameter.denominator
        places = range(0, len(found.values), max(1, len(found.values) // 100))
        for place in (*places, len(found.values) // 2, len(found.values) - 1):
            truth = law(found.first + place, exact)
            assert abs(mpmath.mpf(float(found.values[place])) - truth) <= found.error * truth
        first, second = (law(z - found.first, exact) for z in (1, 2))
        assert 2 * first / (1 - second / first) <= found.outside < 1e-37  # terms fall as fast as a geometric series, or nearly


@pytest.mark.parametrize(("make", "law", "parameter"), LAWS)
def test_masses_are_log_concave(make: Callable[[Fraction], Masses], law: Law, parameter: Fraction) -> None:
    logs = np.log(make(parameter).values)
    steps = list(pairwise(np.diff(logs).tolist()))
    assert all(later <= earlier + 1e-9 for earlier, later in steps)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [(Masses.discrete_laplace, 1 - F(1, 10**8)), (Masses.discrete_gaussian, F(10**14)), (Masses.rounded_gaussian, F(10**9)),
     (Masses.skellam, F(10**9))],
)  # fmt: skip
def test_laws_that_spread_too_far_are_refused_with_how_far(make: Callable[[Fraction], Masses], parameter: Fraction) -> None:
    with pytest.raises(Unsupported, match=r"spreads over [\d.e+]+ integers, and at most \d+ are listed"):
        make(parameter)


def test_what_is_trimmed_or_mirrored_away_counts_as_left_out() -> None:
    listed = Masses(-2, np.full(4, 0.2), 0.0, 0.2).even  # of the even law on -2 to 2
    assert (listed.first, listed.values.tolist()) == (-1, [0.2] * 3)
    assert 1 - sum(listed.values) <= listed.outside * (1 + 1e-12)
    ends = np.array([9e-41, 0.5, 1e-41, 0.5, 6e-41, 3e-41])
    trimmed = Masses(5, ends, 0.0, 1e-41).trimmed
    assert (trimmed.first, len(trimmed.values)) == (6, 3)
    assert 9e-41 + 9e-41 + 1e-41 <= trimmed.outside < 3e-40


@pytest.mark.parametrize("n", [1, 2, 3, 13])
def test_a_sum_of_many_is_convolved_one_by_one(n: int) -> None:
    one = Masses.binomial(3, F(1, 3))
    found, truth = one.times(n), Masses.binomial(3 * n, F(1, 3))
    assert found.first == truth.first == 0
    assert np.allclose(found.values, truth.values, rtol=1e-13, atol=0)
    assert found.error < 1e-13


def contains(found: flint.arb, truth: mpmath.mpf, width: float) -> bool:
    """Whether the ball holds a number of 60 digits, and is narrow."""
    near = flint.arb(mpmath.nstr(truth, 60), abs(float(truth)) * 1e-55)
    return bool(found.overlaps(near)) and found.rad() <= abs(found.mid()) * width


def term(x: int, variance: Fraction) -> mpmath.mpf:
    return mpmath.e ** (-mpmath.mpf(x) ** 2 * variance.denominator / (2 * variance.numerator))


@pytest.mark.parametrize("variance", [F(1, 20), F(1, 7), F(4, 25), F(1, 6), F(2, 3), F(5), F(900)])
def test_a_sum_over_all_integers_is_that_of_its_terms(variance: Fraction) -> None:
    with mpmath.workdps(70), working_precision(160):
        truth = mpmath.fsum(term(x, variance) for x in range(-600, 601))
        assert contains(normal.theta(variance), truth, 1e-40)


@pytest.mark.parametrize(("variance", "start"), [(F(1, 9), 1), (F(7, 3), 4), (F(400), 1), (F(400), 130), (F(40_000), 700)])
@pytest.mark.parametrize(("terms", "bits"), [(1 << 12, 128), (0, 20)])
def test_a_tail_is_the_sum_of_its_terms_term_by_term_and_by_euler_and_maclaurin(
    variance: Fraction, start: int, terms: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not terms and variance < 100:
        pytest.skip("the formula is for laws that spread")
    monkeypatch.setattr(normal, "_TERMS", terms)
    with mpmath.workdps(70), working_precision(160):
        truth = mpmath.fsum(term(x, variance) for x in range(start, start + 4000)) / term(start, variance)
        assert contains(normal.upper_factor(start, variance), truth, 2.0**-bits * 32)


@pytest.mark.parametrize(("square", "epsilon"), [(F(2), F(1)), (F(1, 10**6), F(1, 100)), (F(9), F(40)), (F(1, 4), F(0))])
def test_two_normal_laws_diverge_by_the_difference_of_two_tails(square: Fraction, epsilon: Fraction) -> None:
    with mpmath.workdps(120):
        m, e = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator), mpmath.mpf(epsilon.numerator) / epsilon.denominator
        truth = mpmath.ncdf(m / 2 - e / m) - mpmath.e**e * mpmath.ncdf(-m / 2 - e / m)
        assert contains(normal.divergence(square, epsilon), truth, 1e-25)


@pytest.mark.parametrize("delta", [F(3, 10), F(1, 10**6), F(1, 10**300), F(1, 10**4000)])
@pytest.mark.parametrize("square", [F(1, 10**4), F(1), F(100)])
def test_an_estimate_of_epsilon_is_near(square: Fraction, delta: Fraction) -> None:
    found = normal.about_epsilon(square, delta)
    if normal.divergence(square, F(0)) > ball(delta):
        assert normal.divergence(square, F(found * (1 + 1e-6))) < ball(delta) < normal.divergence(square, F(found * (1 - 1e-6)))


def tail(noises: Noises, reach: Fraction) -> flint.arb:
    with working_precision(160):
        return upper_tail(noises, reach)


def ball_of(value: float) -> flint.arb:
    return flint.arb(value) * (1 + flint.arb(0, 1e-13))


@pytest.mark.parametrize("reach", [F(1, 10), F(1), F(6), F(12)])
def test_one_two_and_unlike_noises_are_the_closed_forms(reach: Fraction) -> None:
    y = float(reach)
    cases = {
        ((1, F(1)),): math.exp(-y) / 2,
        ((2, F(1)),): math.exp(-y) * (2 + y) / 4,
        ((1, F(1)), (1, F(1, 2))): (4 * math.exp(-y) - math.exp(-2 * y)) / 6,
    }
    for noises, truth in cases.items():
        found = tail(noises, reach)
        assert found.overlaps(ball_of(truth))
        assert found.rad() < truth * 2e-2


def beyond(terms: int, y: float) -> float:
    """P[G - G' > y], G ~ Gamma(m): G' of another rate is a negative binomial number of steps ahead."""
    chances = [math.comb(terms - 1 + j, j) * 2.0 ** -(terms + j) for j in range(terms)]
    return float(sum(p * special.gammaincc(terms - j, y) for j, p in enumerate(chances)))


@pytest.mark.parametrize("terms", [3, 10, 40])
@pytest.mark.parametrize("reach", [F(1, 4), F(5), F(60)])
def test_a_sum_of_equal_noises_is_a_mixture_of_gammas(terms: int, reach: Fraction) -> None:
    found, truth = tail(((terms, F(1)),), reach), beyond(terms, float(reach))
    assert found.overlaps(ball_of(truth))
    assert found.rad() < truth * 1e-3


def test_only_the_ratio_of_reach_and_scales_counts_and_the_law_is_symmetric() -> None:
    noises = ((5, F(1)), (7, F(1, 3)))
    scaled = tuple((count, 10 * scale) for count, scale in noises)
    assert tail(noises, F(4)).overlaps(tail(scaled, F(40)))
    assert (tail(noises, F(4)) + tail(noises, F(-4))).overlaps(flint.arb(1))
    assert tail(noises, F(0)) == flint.arb(1) / 2


def test_very_many_noises_are_nearly_normal() -> None:
    found = tail(((10**12, F(1, 10**6)),), F(5))
    assert abs(float(found) / norm.sf(5 / math.sqrt(2)) - 1) < 1e-9
    assert found.rad() < found.mid() * 1e-12


NOISE = Masses.discrete_laplace(Fraction(1, 2))


def coins(users: int, p: float, q: float, noise: Masses | None = None) -> TwoKinds:
    return TwoKinds(users, {0: 1 - p, 1: p}, {0: 1 - q, 1: q}, *([] if noise is None else [noise]))


def listed(law: TwoKinds, held: int) -> tuple[int, NDArray[np.float64]]:
    """The least integer and all masses of the sum, by convolution."""
    found, first = law.noise.values, law.noise.first
    for each, times in ((law.holder, held), (law.other, law.users - held)):
        least = min(each)
        one = np.array([each.get(y, 0.0) for y in range(least, max(each) + 1)])
        for _ in range(times):
            found, first = np.convolve(found, one), first + least
    return first, found


THREE = {-1: 0.2, 0: 0.5, 1: 0.3}


@pytest.mark.parametrize(
    "law",
    [coins(1, 0.5, 0.2), coins(30, 1.0, 0.0), coins(30, 0.7, 0.01), TwoKinds(25, THREE, {0: 0.5, 2: 0.1, 1: 0.4}),
     coins(20, 0.6, 0.3, NOISE), coins(400, 0.5, 0.25)],
)  # fmt: skip
def test_tails_are_those_of_the_law_term_by_term(law: TwoKinds) -> None:
    for held in {0, law.users // 3, law.users}:
        first, masses = listed(law, held)
        tails = np.cumsum(masses[::-1])[::-1]
        assert law.at_least(held, first + np.arange(len(masses))) == pytest.approx(tails, abs=1e-12)
        assert law.at_least(held, [first - 50, first + len(masses) + 50]) == pytest.approx([1, 0], abs=1e-12)


@pytest.mark.parametrize("users", [10**5, 10**9])
def test_tails_of_many_coins_are_right_to_the_error_that_is_stated(users: int) -> None:
    p = 1 / 3
    seen = np.floor(users * p + np.sqrt(users * p * (1 - p)) * np.linspace(-6, 6, 25))
    # With one law for all, the sum is a binomial number; older scipy has its tails to 1e-8 only.
    truth = [float(binomial_upper(users, Fraction(p), int(count)).mid()) for count in seen]
    assert coins(users, p, p - 1e-16).at_least(users // 3, seen) == pytest.approx(truth, abs=ERROR)


@given(users=st.integers(1, 40), p=st.floats(0.3, 1), ratio=st.floats(0, 0.9), alpha=st.floats(0.001, 0.5), noisy=st.booleans())
def test_an_interval_holds_every_number_of_holders_as_often_as_it_says(
    users: int, p: float, ratio: float, alpha: float, noisy: bool
) -> None:
    law = coins(users, p, p * ratio, NOISE if noisy else None)
    for held in {0, users // 2, users}:
        first, masses = listed(law, held)
        low, high = holders(law, first + np.arange(len(masses)), alpha)
        assert masses[(held < low) | (high < held)].sum() <= alpha
        assert np.all(np.diff(low) >= 0)
        assert np.all(np.diff(high) >= 0)
        assert np.all((low >= 0) & (high <= users))


def test_intervals_from_many_reports_are_hardly_wider_than_they_have_to_be() -> None:
    users, alpha = 20_000, 0.05
    for p, q, held in ((0.5, 0.27, 700), (0.03, 0.0039, 12_000), (0.75, 0.5, 0)):
        law = coins(users, p, q)
        mean = held * p + (users - held) * q
        seen = np.arange(max(0, int(mean) - 600), int(mean) + 600)
        masses = -np.diff(law.at_least(held, np.append(seen, seen[-1] + 1)))
        low, high = holders(law, seen, alpha)
        missed = masses[(held < low) | (high < held)].sum()
        assert (0.9 if held else 0.45) * alpha <= missed <= alpha  # at 0, no interval lies too low
        assert law.estimate(np.array([masses @ seen]))[0] == pytest.approx(held, abs=1e-3)
