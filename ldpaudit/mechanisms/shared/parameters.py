"""Parameters: exact, checked, and rounded toward privacy where they are transcendental."""

from fractions import Fraction

import flint

from ldpaudit.core.number import brief, exact as exact, whole
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS
from ldpaudit.profile import Number

_GUARD_BITS = 64
LARGEST_INTEGER = 1 << 128  # users, values or runs: more than anything has, and still within the range of a float
LARGEST_EPSILON = 10_000
"""Nats, above which no mechanism is made: ``e**10000`` exceeds the ratio of any two positive floats, and the probability of a
lie would be a rational of as many digits as epsilon has units."""


def probability(owner: object, name: str, low: Fraction | int = 0, high: Fraction | int = 1) -> Fraction:
    """Make the field an exact probability strictly between `low` and `high`, and return it."""
    value = exact(getattr(owner, name))
    object.__setattr__(owner, name, value)
    if not low < value < high:
        bounds = f"{brief(low)} < {name} < {brief(high)}"
        raise ValueError(f"{type(owner).__name__} needs {bounds}, got {name}={brief(value)}")
    return value


def half_open(owner: object, name: str, least: Fraction | int, range_: str, below: Fraction | int = 1, **beside: int) -> None:
    """Make the field an exact number from the least on and below another; an error writes the range so, and what it depends on."""
    value = exact(getattr(owner, name))
    object.__setattr__(owner, name, value)
    if not least <= value < below:
        given = " and ".join(f"{each}={number}" for each, number in beside.items())
        raise ValueError(f"{type(owner).__name__} needs {range_}, got {name}={brief(value)}{given and f' with {given}'}")


def integer(owner: object, name: str, least: int, most: int | None = None) -> int:
    """Make the field an int from `least` to `most`, and return it."""
    value, largest = whole(getattr(owner, name)), LARGEST_INTEGER if most is None else most
    bounds = f"{name} >= {least}" if most is None and (value or 0) <= largest else f"{least} <= {name} <= {largest}"
    if value is None:
        raise TypeError(f"{type(owner).__name__} needs an integer {bounds}, got {name}={brief(getattr(owner, name))}")
    if not least <= value <= largest:
        raise ValueError(f"{type(owner).__name__} needs {bounds}, got {name}={brief(value)}")
    object.__setattr__(owner, name, value)
    return value


def integers(owner: object, **ends: int | tuple[int, int]) -> None:
    """Make fields ints: from the least value on that is given, or from the first one to the second."""
    for name, least in ends.items():
        integer(owner, name, *(least if isinstance(least, tuple) else (least,)))


def positive(name: str, value: Number) -> Fraction:
    """The value as an exact positive number."""
    if (number := exact(value, name)) <= 0:
        raise ValueError(f"{name} > 0 is needed, got {name}={brief(value)}")
    return number


def spendable(epsilon: Number) -> Fraction:
    """An epsilon for which a mechanism can be made, as an exact number: above 0 and at most `LARGEST_EPSILON`."""
    if (number := positive("epsilon", epsilon)) > LARGEST_EPSILON:
        raise ValueError(f"epsilon <= {LARGEST_EPSILON} is needed, got epsilon={brief(epsilon)}")
    return number


def promise(owner: str, epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """A promise for which a closed form holds, as exact numbers: ``0 < epsilon <= 1`` and ``0 < delta < 1``."""
    nats, small = exact(epsilon, "epsilon"), exact(delta, "delta")
    if not (0 < nats <= 1 and 0 < small < 1):
        raise ValueError(f"{owner} needs 0 < epsilon <= 1 and 0 < delta < 1, got {brief(epsilon)} and {brief(delta)}")
    return nats, small


def share_of(epsilon: Number, share: Number) -> Fraction:
    """The epsilon of a first report: a share of that of what is memoized, ``0 < share < 1``."""
    if not 0 < (part := exact(share, "share")) < 1:
        raise ValueError(f"0 < share < 1 is needed, got share={brief(part)}")
    return exact(epsilon, "epsilon") * part


def odds(epsilon: Number, weight: Fraction | int = 1, scale: Fraction = Fraction(1)) -> Fraction:
    """``e**(scale * epsilon) / (e**(scale * epsilon) + weight)``, rounded down to a dyadic rational.

    Rounded down because the larger this probability of the truth, the less private the answer. ``weight``: total weight of the
    lies; ``scale``: share of epsilon that this answer may spend.
    """
    target = spendable(epsilon) * scale
    # The complement, e**-target, keeps its own 128 bits, and what a small target adds to the odds keeps as many.
    leading_zeros = max(0, target.denominator.bit_length() - target.numerator.bit_length() - 32)
    bits = SIGNIFICANT_BITS + _GUARD_BITS + int(target * 3 / 2) + leading_zeros
    with working_precision(bits + _GUARD_BITS):
        lie = ball(exact(weight, "the weight of lies")) * (-ball(target)).exp()
        return dyadic((1 / (1 + lie)).lower())


def ball(value: Fraction) -> flint.arb:
    """The ball around a rational, at the current precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def log2(value: int) -> flint.arb:
    """Logarithm to base 2 of a positive integer, at the current precision."""
    return flint.arb(value).log() / flint.arb(2).log()


def rounded_up(value: flint.arb) -> Fraction:
    """A dyadic rational of `SIGNIFICANT_BITS` bits that is not below a positive ball."""
    end = dyadic(value.upper())
    unit = _unit(end)
    return -(-end // unit) * unit


def rounded_down(value: flint.arb) -> Fraction:
    """A dyadic rational of `SIGNIFICANT_BITS` bits that is not above a positive ball."""
    end = dyadic(value.lower())
    unit = _unit(end)
    return end // unit * unit


def _unit(end: Fraction) -> Fraction:
    return Fraction(2) ** (end.numerator.bit_length() - end.denominator.bit_length() - SIGNIFICANT_BITS)
