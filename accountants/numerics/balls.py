"""Balls: real numbers enclosed at the working precision."""

from fractions import Fraction
from typing import TypeAlias

import flint

from ldpaudit.core.working_precision import working_bits

Probability: TypeAlias = Fraction | int | flint.arb
"""An exact rational, or a ball where the probability is transcendental."""


def ball(value: Fraction | int) -> flint.arb:
    """The ball around a rational, at the current precision."""
    if type(value) is not Fraction:  # to make one of another takes as long as the ball
        value = Fraction(value)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def floor(value: flint.arb) -> int:
    """The largest integer at or below every point of a finite ball."""
    return _integer(value.lower().floor())


def ceil(value: flint.arb) -> int:
    """The smallest integer at or above every point of a finite ball."""
    return _integer(value.upper().ceil())


def _integer(value: flint.arb) -> int:
    found = value.unique_fmpz()
    if found is None:
        raise ArithmeticError(f"rounding a ball needs an end that is an integer, got {value} at {working_bits()} bits")
    return int(found)


def between(low: flint.arb | int, high: flint.arb) -> flint.arb:
    """The smallest ball that contains every point of two balls and all points between them."""
    return flint.arb(low).union(high)


def as_ball(p: Probability) -> flint.arb:
    """The probability as a ball, at the current precision."""
    return ball(p) if isinstance(p, int | Fraction) else p
