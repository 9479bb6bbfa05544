"""The one exit from exact and ball arithmetic to floats: always outward."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from ldpaudit.core.working_precision import working_precision
from ldpaudit.display import markup
from ldpaudit.display.digits import show_down as show_down, show_up as show_up
from ldpaudit.errors import Contradiction

if TYPE_CHECKING:
    from flint import arb

_MANTISSA, _MIN_EXPONENT, _MAX_EXPONENT = 53, -1074, 1024
_END_BITS = 64
"""Bits to which a ball's end is rounded outward first. Any that are at least a float's lead to the same float."""


class Rigour(IntEnum):
    """How much an enclosure promises."""

    FLOAT = 0
    """Computed in floats without an error bound: it never decides a claim."""
    INTERVAL = 1
    """The truth lies inside: each end is certified by itself."""
    EXACT = 2
    """A formula for the truth itself; the width is only that of the arithmetic."""


def _dyadic_float(mantissa: int, exponent: int, up: bool) -> float:
    """The float next to ``mantissa * 2**exponent`` on the stated side, subnormals and infinities included."""
    if mantissa == 0:
        return 0.0
    if mantissa < 0:
        return -_dyadic_float(-mantissa, exponent, not up)
    top = mantissa.bit_length() + exponent  # 2**(top-1) <= value < 2**top
    if top > _MAX_EXPONENT:
        return math.inf if up else math.nextafter(math.inf, 0)
    # Far below the smallest subnormal the shift itself could be astronomically large.
    if top < _MIN_EXPONENT:
        return math.nextafter(0, 1) if up else 0.0
    shift = max(mantissa.bit_length() - _MANTISSA, _MIN_EXPONENT - exponent)
    if shift <= 0:
        return math.ldexp(mantissa, exponent)
    quotient, remainder = divmod(mantissa, 1 << shift)
    quotient += up and remainder > 0
    if quotient.bit_length() + exponent + shift > _MAX_EXPONENT:
        return math.inf
    return math.ldexp(quotient, exponent + shift)


def dyadic(end: arb) -> Fraction:
    """The lower or the upper end of a ball, exactly."""
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def round_down(value: arb | Fraction | float) -> float:
    """Largest float at or below every point of a ball, a rational or a float; it may be infinite."""
    return _directed(value, up=False)


def round_up(value: arb | Fraction | float) -> float:
    """Smallest float at or above every point of `value`; see `round_down`."""
    return _directed(value, up=True)


def _directed(value: arb | Fraction | float, up: bool) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, int | Fraction):
        exact = Fraction(value)
        # 64 bits below the leading one decide every rounding except ties, which the sticky bit decides.
        shift = max(0, 128 - exact.numerator.bit_length() + exact.denominator.bit_length())
        quotient, remainder = divmod(exact.numerator << shift, exact.denominator)
        return _dyadic_float(2 * quotient + (remainder > 0), -shift - 1, up)
    if value.is_nan():
        return math.inf if up else -math.inf
    with working_precision(_END_BITS):
        end = value.upper() if up else value.lower()
    if not end.is_finite():
        return math.inf if end > 0 else -math.inf
    mantissa, exponent = end.man_exp()
    return _dyadic_float(int(mantissa), int(exponent), up)


_ROUNDING = 1e-6
"""By how much two ends may cross, relative to the upper one: both are searched for, to a millionth at best."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The true value lies in ``[low, high]``.

    Parameters
    ----------
    low, high : float
        Ends, in the unit of what is enclosed (nats for an epsilon, a probability for a delta).
    rigour : Rigour
        What the enclosure promises.
    source : str
        The theorem or computation behind it.

    Examples
    --------
    >>> from fractions import Fraction
    >>> third = Enclosure.of(Fraction(1, 3), source="a third")
    >>> Fraction(1, 3) in third, third.high - third.low < 1e-16
    (True, True)
    """

    low: float
    high: float
    rigour: Rigour
    source: str

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"Enclosure needs low <= high, got low={self.low!r} and high={self.high!r}")

    @classmethod
    def of(
        cls,
        low: arb | Fraction | float,
        high: arb | Fraction | float | None = None,
        *,
        rigour: Rigour = Rigour.EXACT,
        source: str,
    ) -> Enclosure:
        """Round outward; with one value, that value's own ends."""
        return cls(round_down(low), round_up(low if high is None else high), rigour, source)

    @classmethod
    def met(cls, low: float, high: float, rigour: Rigour, source: str) -> Enclosure:
        """From ends that different computations found: a lower end above the upper one by no more than rounding is that.

        Raises Contradiction where it is higher: an internal error, and no number.
        """
        if rigour > Rigour.FLOAT and low > high * (1 + _ROUNDING):
            found = f"by {source!r}, a value is at least {low!r} and at most {high!r}"
            raise Contradiction(f"internal error, please report it: {found}; one of the two is false")
        return cls(min(low, high), high, rigour, source)

    def __contains__(self, truth: Fraction | float) -> bool:
        return self.low <= truth <= self.high

    @property
    def relative_width(self) -> float:
        """``high / low - 1``: how good the enclosure is; 0 for an exact zero, infinity where ``low`` is 0."""
        if self.high == self.low:
            return 0.0
        return self.high / self.low - 1 if self.low > 0 else math.inf

    def at_most(self, value: Fraction | float) -> bool | None:
        """Whether the truth is at most `value`; None where the enclosure does not tell, or is not certified."""
        if self.rigour is Rigour.FLOAT or self.low <= value < self.high:
            return None
        return self.high <= value

    def clamp(self, low: float, high: float) -> Enclosure:
        """The same enclosure, cut to where the value is known to lie."""
        return Enclosure(min(max(self.low, low), high), max(min(self.high, high), low), self.rigour, self.source)

    def __str__(self) -> str:
        return f"[{show_down(self.low)}, {show_up(self.high)}] ({self.rigour.name}: {self.source})"

    def _repr_html_(self) -> str:
        """For notebooks."""
        ends = "infinite" if math.isinf(self.low) else f"between {show_down(self.low)} and {show_up(self.high)}"
        return markup.card(ends, [("rigour", self.rigour.name), ("source", self.source)])
