"""Laws of noise in floats: every probability is right to the error that is stated, and so is what is left out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from ldpaudit.accountants.numerics.float_masses import Masses
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
