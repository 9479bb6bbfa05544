"""Sums over the integers of a normal density, and two normal laws, against mpmath."""

from __future__ import annotations

from fractions import Fraction

import flint
import mpmath
import pytest

from ldpaudit.accountants.numerics import normal
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.core.working_precision import working_precision

F = Fraction


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
