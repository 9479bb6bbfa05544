"""The exact number that a number is, whoever wrote it: Python's own, a fraction, or a scalar of numpy."""

import math
from datetime import date, time
from fractions import Fraction
from numbers import Integral, Rational, Real

MOST_BITS = 1 << 17
"""Bits of a numerator or denominator: those of a probability whose logarithm is 10,000 nats are 14,500. Beyond, sums take time."""
_LONGEST = 60  # characters of a value that an error shows


def exact(value: object, what: str = "a parameter") -> Fraction:
    """The rational that a number is.

    ``value``: an int, a float, a Fraction, or a scalar of numpy; a float is the dyadic rational that it is; ``what``:
    what it is, for the error. Raises TypeError where it is not a number; ValueError where it is not finite, or longer
    than 2**17 bits.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} needs an int, a float or a Fraction, got {brief(value)}")
    try:
        pair = (value.numerator, value.denominator) if isinstance(value, Rational) else value.as_integer_ratio()  # type: ignore[attr-defined]
    except (OverflowError, ValueError):
        raise ValueError(f"{what} needs a finite number, got {value!r}") from None
    found = Fraction(int(pair[0]), int(pair[1]))
    if (bits := max(found.numerator.bit_length(), found.denominator.bit_length())) > MOST_BITS:
        raise ValueError(f"{what} needs a number of at most {MOST_BITS} bits, got one of {bits}")
    return found


def whole(value: object) -> int | None:
    """The int that an integer is, scalars of numpy included; None for everything else, and for True and False."""
    if isinstance(value, bool):
        return None
    return int(value) if isinstance(value, Integral) else None


def show(value: object) -> str:
    """A parameter, short: long fractions as 6 digits."""
    if not isinstance(value, int | Fraction) or isinstance(value, bool):
        return str(value)
    if value.denominator > 10**9 or abs(value.numerator) >= 10**60 * value.denominator:
        return six_digits(Fraction(value))
    return str(value)


def brief(value: object) -> str:
    """A value for an error message, however long it is."""
    text = show(value) if isinstance(value, int | Fraction) else str(value) if isinstance(value, date | time) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def spelled(value: Fraction) -> str:
    """All digits of a number, or 6 of one that is longer than the 4,300 digits that Python writes."""
    try:
        return str(value)
    except ValueError:
        return six_digits(value)


def nearest(value: Fraction) -> float:
    """The float next to a number; infinite beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def six_digits(value: Fraction) -> str:
    """As a float is shown, also where floats end."""
    if value == 0 or 1e-300 < abs(nearest(value)) < math.inf:
        return f"{nearest(value):.6g}"
    log = math.log10(abs(value.numerator)) - math.log10(value.denominator)
    return f"{'-' if value < 0 else ''}{10 ** (log - math.floor(log)):.6g}e{math.floor(log):+d}"
