"""The one exit to floats is always outward."""

import math
from fractions import Fraction

import flint
import pytest
from hypothesis import given, strategies as st

from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up, show_down, show_up
from ldpaudit.errors import Contradiction
from tests.helpers import raises

EXPONENTS = st.integers(-1200, 1100)
MANTISSAS = st.integers(-(2**200), 2**200)
LARGEST = math.nextafter(math.inf, 0)


def exact(x: float) -> Fraction | float:
    return x if math.isinf(x) else Fraction(x)


def neighbours_of(value: Fraction, low: float, high: float) -> None:
    assert exact(low) <= value <= exact(high)
    assert high == low or math.nextafter(low, math.inf) == high, "no float lies strictly between"


@given(MANTISSAS, EXPONENTS)
def test_a_rational_lies_between_its_two_neighbouring_floats(mantissa: int, exponent: int) -> None:
    value = Fraction(mantissa) * Fraction(2) ** exponent / 3
    neighbours_of(value, round_down(value), round_up(value))


@given(MANTISSAS, EXPONENTS, st.integers(10, 300))
def test_an_exact_ball_lies_between_its_two_neighbouring_floats(mantissa: int, exponent: int, precision: int) -> None:
    with flint.ctx.workprec(max(precision, mantissa.bit_length() + 1)):
        ball = flint.arb(mantissa) * flint.arb(2) ** exponent
        assert ball.is_exact()
        neighbours_of(Fraction(mantissa) * Fraction(2) ** exponent, round_down(ball), round_up(ball))


@given(st.fractions(-1000, 1000), st.integers(10, 100))
def test_every_point_of_a_ball_is_enclosed(value: Fraction, precision: int) -> None:
    with flint.ctx.workprec(precision):
        assert value in Enclosure.of(flint.arb(flint.fmpq(value.numerator, value.denominator)), source="a ball")


@given(st.floats(allow_nan=False))
def test_a_float_is_itself(x: float) -> None:
    assert round_down(x) == x == round_up(x)
    if math.isfinite(x):
        assert round_down(Fraction(x)) == x == round_up(Fraction(x))


@pytest.mark.parametrize(("exponent", "low", "high"), [
    *((exponent, LARGEST, math.inf) for exponent in (10**12, 10**6, 1025)),
    *((exponent, 0.0, 5e-324) for exponent in (-(10**12), -(10**6), -1080)),
])  # fmt: skip
def test_beyond_the_largest_float_lies_infinity_and_below_the_smallest_zero(exponent: int, low: float, high: float) -> None:
    ball = flint.arb(2) ** exponent
    assert (round_down(ball), round_up(ball)) == (low, high)
    assert (round_down(-ball), round_up(-ball)) == (-high, -low)


def test_what_is_not_a_number_may_be_anything_and_ends_must_be_in_order() -> None:
    nan = flint.arb("nan")
    assert (round_down(nan), round_up(nan)) == (-math.inf, math.inf)
    assert round_up(flint.arb("inf")) == math.inf
    for low, high in ((1.0, 0.0), (math.nan, 1.0)):
        raises(ValueError, "low <= high", Enclosure, low, high, Rigour.EXACT, "nothing")


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 12))
def test_printed_bounds_are_rounded_outward(x: float, digits: int) -> None:
    assert Fraction(show_down(x, digits)) <= Fraction(x) <= Fraction(show_up(x, digits))


def test_a_relative_width_is_how_much_larger_the_upper_end_is_and_a_clamped_enclosure_is_within_its_range() -> None:
    for low, high, width in ((1.0, 2.0, 1.0), (2.0, 2.5, 0.25), (0.0, 1.0, math.inf), (-1.0, 1.0, math.inf), (0.0, 0.0, 0.0)):
        assert Enclosure(low, high, Rigour.EXACT, "").relative_width == width
    for low, high, cut in ((-2.0, -1.0, (0.0, 0.0)), (2.0, 3.0, (1.0, 1.0)), (-1.0, 2.0, (0.0, 1.0)), (0.25, 0.5, (0.25, 0.5)),
                           (-1.0, 0.5, (0.0, 0.5)), (0.5, 2.0, (0.5, 1.0))):  # fmt: skip
        found = Enclosure(low, high, Rigour.INTERVAL, "why").clamp(0.0, 1.0)
        assert (found.low, found.high, found.rigour, found.source) == (*cut, Rigour.INTERVAL, "why")


def test_ends_of_two_computations_that_contradict_each_other_are_an_internal_error_and_no_number() -> None:
    assert Enclosure.met(1.0, 2.0, Rigour.INTERVAL, "both") == Enclosure(1.0, 2.0, Rigour.INTERVAL, "both")
    assert Enclosure.met(2.0 + 1e-7, 2.0, Rigour.INTERVAL, "both") == Enclosure(2.0, 2.0, Rigour.INTERVAL, "both")
    assert Enclosure.met(math.inf, math.inf, Rigour.EXACT, "both").low == math.inf
    assert Enclosure.met(3.0, 2.0, Rigour.FLOAT, "floats").low == 2.0
    for low, high in ((2.0001, 2.0), (math.inf, 2.0), (1e-9, 0.0)):
        raises(Contradiction, r"internal error.*both", Enclosure.met, low, high, Rigour.INTERVAL, "both")
