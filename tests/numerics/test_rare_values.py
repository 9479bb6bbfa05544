"""Sums of which nearly all values are one: they agree with enumeration, with the contour, and reach any tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.positive_part import Contour, _enumerated
from ldpaudit.accountants.numerics.rare_values import PointMass, rarely
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Shuffle

F = Fraction
TOLERANCES = (1e-2, 1e-8, 1e-14)


def law(usual: float, *rare: tuple[float, F]) -> list[PointMass]:
    """A usual value, and rare ones with their probabilities."""
    left = 1 - sum((p for _, p in rare), F(0))
    return [(flint.arb(value), ball(p)) for value, p in [*rare, (usual, left)]]


def is_near(found: flint.arb, tolerance: float) -> bool:
    return bool(found.rad() <= tolerance * found.mid())


@given(
    st.floats(-3, 3),
    st.lists(st.tuples(st.floats(-50, 50), st.fractions(F(1, 10**9), F(1, 7))), min_size=1, max_size=3),
    st.integers(3, 20),
    st.sampled_from(TOLERANCES),
)
def test_every_sum_is_enclosed_as_closely_as_asked(
    usual: float, rare: Sequence[tuple[float, F]], n: int, tolerance: float
) -> None:
    with flint.ctx.workprec(220):
        atoms = law(usual, *rare)
        exact, found = _enumerated(atoms, n), rarely(atoms, n, tolerance)
        if found is not None:
            assert found.overlaps(exact)
            assert not exact > 0 or is_near(found, tolerance)
        else:
            assert n * sum(p for _, p in rare) >= F(n, 2) or not exact > 0


@pytest.mark.parametrize("expected", [F(1, 10**6), F(1), F(30)])
def test_the_sum_by_rare_values_and_the_contour_agree_for_a_thousand_million_copies(expected: F) -> None:
    with flint.ctx.workprec(256):
        n = 10**9
        atoms = law(-5e-11, (1.0, expected / n / 3), (-2.5, expected / n * 2 / 3))
        found = rarely(atoms, n, 1e-10)
        assert found is not None
        assert is_near(found, 1e-10)
        assert found.overlaps(Contour.of(atoms, n).value(1e-6))


def test_rare_values_below_every_float_leave_the_usual_sum_and_one_of_them() -> None:
    with flint.ctx.workprec(400):
        tiny = flint.arb(2) ** -4000
        found = rarely([(flint.arb(-1), 1 - tiny), (flint.arb(10), tiny)], 5, 1e-9)
        assert found is not None
        assert found.overlaps(5 * tiny * 6)
        assert rarely([(flint.arb(1), 1 - tiny), (flint.arb(-1), tiny)], 20, 1e-9) is not None, "a usual value may be positive"


def test_where_rare_values_are_many_there_are_too_many_sums() -> None:
    with flint.ctx.workprec(200):
        assert rarely(law(0.0, (1.0, F(1, 10))), 10**4, 1e-6) is None
        assert rarely(law(0.0, (1.0, F(1, 10**4)), (-1.0, F(1, 10**4)), (-2.0, F(2, 10**4))), 10**5, 1e-6) is None


def test_a_shuffled_answer_that_is_hardly_ever_noise_is_known_within_a_millionth() -> None:
    """Of a million users about one draws noise: a contour would leave 3 % between the ends."""
    m = KaryRandomizedResponse.for_epsilon(F(20), 3)
    found = account(Shuffle(m, 10**6)).epsilon(F(9, 10))
    assert found.low <= found.high <= found.low * (1 + 1e-6)
