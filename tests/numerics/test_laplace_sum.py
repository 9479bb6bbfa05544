"""Tails of weighted sums of Laplace noises against closed forms, a sum over signs, and the normal limit."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import pytest
from scipy import special
from scipy.stats import norm

from ldpaudit.accountants.numerics.laplace_sum import Noises, upper_tail
from ldpaudit.core.working_precision import working_precision

F = Fraction


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
