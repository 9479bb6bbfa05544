"""Laplace coordinates of two kinds together: the closed form against an integral that knows nothing of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ldpaudit.accountants.composition import laplace_vector
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates

F = Fraction
PERIODS, PER_PERIOD = 1000, 400
FLOATS = 2e-7
"""Of the trapezoid sums, whose tail is extrapolated; 1000 periods are left off with about 1e-7."""


def bromwich(kinds: list[tuple[int, float]], epsilon: float) -> float:
    """Delta of numbers of coordinates with their steps, from the moment generating function of the loss.

    It is the integral of M(z) e**(-z epsilon) / (z (z + 1)) along a vertical line through the saddle point, over 2 pi i.
    """

    def log_integrand(z: object) -> NDArray[Any]:
        w = np.asarray(z) + 0.5
        logs = [n * (np.log(np.cosh(w * s) + np.sinh(w * s) / (2 * w)) - s / 2) for n, s in kinds]
        return np.asarray(sum(logs) - np.asarray(z) * epsilon - np.log(np.asarray(z) * (np.asarray(z) + 1)))

    line = np.linspace(0.05, 400, 20_000)
    through = line[np.argmin(log_integrand(line))]
    width = 2 * np.pi / min(s for _, s in kinds) / PER_PERIOD
    terms = np.exp(log_integrand(through + 1j * width * np.arange(PERIODS * PER_PERIOD))).real
    terms[0] /= 2
    half, whole = (terms[: n * PER_PERIOD].sum() * width / np.pi for n in (PERIODS // 2, PERIODS))
    return float(2 * whole - half)  # the rest of the sum falls as one over its length


@pytest.mark.parametrize(
    ("count", "doubled", "step", "epsilon"),
    [(1, 1, F(1, 2), F(1, 3)), (6, 5, F(1, 4), F(1)), (84, 18, F(1, 60), F(1, 2)), (42, 30, F(1, 30), F(1)),
     (84, 18, F(1, 60), F(3, 2)), (0, 63, F(1, 65), F(1))],
)  # fmt: skip
def test_delta_of_two_kinds_of_coordinates_is_the_integral_of_their_generating_function(
    count: int, doubled: int, step: Fraction, epsilon: Fraction
) -> None:
    found = LaplaceCoordinates(count, step, "", doubled=doubled).delta(epsilon)
    kinds = [(count, float(step)), (doubled, 2 * float(step))]
    assert bromwich(kinds, float(epsilon)) == pytest.approx(found.low, rel=FLOATS)
    assert found.high <= found.low * (1 + 1e-14)


@pytest.mark.parametrize("left_out", [0.3, 1e-2, 1e-6])
def test_the_terms_left_out_are_bounded(left_out: float, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LaplaceCoordinates(20, F(1, 5), "", doubled=4).delta(1)
    monkeypatch.setattr(laplace_vector, "_NEGLIGIBLE", left_out)
    monkeypatch.setattr(laplace_vector, "_kept", laplace_vector._kept.__wrapped__)
    cut = LaplaceCoordinates(20, F(1, 5), "", doubled=4).delta(1)
    assert cut.low < whole.low <= whole.high <= cut.high


@given(
    count=st.integers(0, 9), doubled=st.integers(1, 6), step=st.fractions(F(1, 40), 3, max_denominator=40),
    share=st.fractions(0, 1, max_denominator=50),
)  # fmt: skip
def test_two_coordinates_cost_no_more_than_one_that_is_shifted_twice_as_far(
    count: int, doubled: int, step: Fraction, share: Fraction
) -> None:
    apart = LaplaceCoordinates(count + 2, step, "", doubled=doubled - 1)
    joined = LaplaceCoordinates(count, step, "", doubled=doubled)
    assert apart.pure == joined.pure
    epsilon = share * apart.pure
    assert apart.delta(epsilon).low <= joined.delta(epsilon).high


@pytest.mark.parametrize("delta", [0, 1e-300, 1e-6, 0.3])
@pytest.mark.parametrize(("count", "step"), [(1, F(3, 2)), (2, F(1, 7)), (30, F(1, 20))])
def test_coordinates_that_are_all_doubled_are_coordinates_of_twice_the_step(
    count: int, step: Fraction, delta: float
) -> None:
    doubled, plain = LaplaceCoordinates(0, step, "", doubled=count), LaplaceCoordinates(count, 2 * step, "")
    for ours, theirs in (
        (doubled.epsilon(delta), plain.epsilon(delta)), (doubled.delta(step), plain.delta(step)),
    ):  # fmt: skip
        assert ours.low <= theirs.high
        assert theirs.low <= ours.high
        assert ours.high <= ours.low * (1 + 1e-9)


def test_epsilon_of_delta_is_where_delta_of_both_kinds_is_reached() -> None:
    profile = LaplaceCoordinates(42, F(1, 65), "", doubled=40)
    epsilon = profile.epsilon(1e-6)
    assert profile.delta(epsilon.high).high <= 1e-6 <= profile.delta(epsilon.low).low
    assert epsilon.high <= epsilon.low * (1 + 1e-12)
    assert profile.epsilon(0).high == pytest.approx(122 / 65, rel=1e-15)
