"""Exact rationals in two forms: Python's, which nouns hold, and flint's, which is faster where numerators are long."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import flint


def rational(value: Fraction | int) -> flint.fmpq:
    """The same number, as flint's."""
    return flint.fmpq(value.numerator, value.denominator)


def log(value: Fraction | float) -> float:
    """Float estimate of a positive number's logarithm, also where the number is below or above every float."""
    if sys.float_info.min <= value <= sys.float_info.max:
        return math.log(value)
    exact = Fraction(value)
    return math.log(exact.numerator) - math.log(exact.denominator)


def fraction(value: flint.fmpq) -> Fraction:
    """The same number, as Python's."""
    return Fraction(int(value.p), int(value.q))
