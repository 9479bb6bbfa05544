"""Exact rationals in two forms: Python's, which nouns hold, and flint's, which is faster where numerators are long."""

import math
import sys
from fractions import Fraction

import flint

_ROOT_BITS = 128  # bits of a root that is not rational, at least


def rational(value: Fraction | int) -> flint.fmpq:
    """The same number, as flint's."""
    return flint.fmpq(value.numerator, value.denominator)


def log(value: Fraction | float) -> float:
    """Float estimate of a positive number's logarithm, also where the number is below or above every float."""
    if sys.float_info.min <= value <= sys.float_info.max:
        return math.log(value)
    exact = Fraction(value)
    return math.log(exact.numerator) - math.log(exact.denominator)


def root_above(value: Fraction) -> Fraction:
    """The square root of a number of at least 0 where it is rational, else a little above it."""
    scale = _ROOT_BITS + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    product = value.numerator * value.denominator << 2 * scale
    root = math.isqrt(product)
    return Fraction(root + (root * root < product), value.denominator << scale)


def fraction(value: flint.fmpq) -> Fraction:
    """The same number, as Python's."""
    return Fraction(int(value.p), int(value.q))
