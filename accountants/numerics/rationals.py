"""Exact rationals in two forms: Python's, which nouns hold, and flint's, which is faster where numerators are long."""

from __future__ import annotations

from fractions import Fraction

import flint


def rational(value: Fraction | int) -> flint.fmpq:
    """The same number, as flint's."""
    return flint.fmpq(value.numerator, value.denominator)


def fraction(value: flint.fmpq) -> Fraction:
    """The same number, as Python's."""
    return Fraction(int(value.p), int(value.q))
