"""Parameters: exact, checked, and rounded toward privacy where they are transcendental."""

from __future__ import annotations

from fractions import Fraction

import flint

from ldpaudit.mechanisms._sampling import SIGNIFICANT_BITS
from ldpaudit.profile import Number
from ldpaudit.working_precision import working_precision

_GUARD_BITS = 64


def exact(value: Number) -> Fraction:
    """The rational that a number is.

    Raises
    ------
    TypeError
        Where it is not a number.
    ValueError
        Where it is not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise TypeError(f"a parameter needs an int, a float or a Fraction, got {value!r}")
    try:
        return Fraction(value)
    except (OverflowError, ValueError):
        raise ValueError(f"a parameter needs a finite number, got {value!r}") from None


def probability(owner: object, name: str, low: Fraction | int = 0, high: Fraction | int = 1) -> Fraction:
    """Make the field an exact probability strictly between `low` and `high`, and return it."""
    value = exact(getattr(owner, name))
    object.__setattr__(owner, name, value)
    if not low < value < high:
        raise ValueError(f"{type(owner).__name__} needs {low} < {name} < {high}, got {name}={value}")
    return value


def integer(owner: object, name: str, least: int, most: int | None = None) -> int:
    """Check that the field is an integer from `least` to `most`, and return it."""
    value = getattr(owner, name)
    bounds = f"{name} >= {least}" if most is None else f"{least} <= {name} <= {most}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{type(owner).__name__} needs an integer {bounds}, got {name}={value!r}")
    if value < least or (most is not None and value > most):
        raise ValueError(f"{type(owner).__name__} needs {bounds}, got {name}={value}")
    return value


def positive(name: str, value: Number) -> Fraction:
    """The value as an exact positive number."""
    if (number := exact(value)) <= 0:
        raise ValueError(f"{name} > 0 is needed, got {name}={value}")
    return number


def odds(epsilon: Number, weight: Fraction | int = 1, scale: Fraction = Fraction(1)) -> Fraction:
    """``e**(scale * epsilon) / (e**(scale * epsilon) + weight)``, rounded down to a dyadic rational.

    Rounded down because the larger this probability of the truth, the less private the answer.

    Parameters
    ----------
    epsilon : number
        In nats, above 0.
    weight : Fraction or int
        Total weight of the lies.
    scale : Fraction
        Share of epsilon that this answer may spend.

    Returns
    -------
    Fraction
        In (0, 1).
    """
    target = positive("epsilon", epsilon) * scale
    bits = SIGNIFICANT_BITS + _GUARD_BITS + int(target * 3 / 2)  # the complement, e**-target, keeps its own 128 bits
    with working_precision(bits + _GUARD_BITS):
        lie = flint.fmpq(Fraction(weight).numerator, Fraction(weight).denominator) * (-ball(target)).exp()
        p = 1 / (1 + lie)
        mantissa, exponent = p.lower().man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def ball(value: Fraction) -> flint.arb:
    """The ball around a rational, at the current precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))
