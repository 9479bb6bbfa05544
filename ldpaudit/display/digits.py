"""Numbers in decimals, rounded outward."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def show_up(value: float, digits: int = 6) -> str:
    """Decimal of this many significant digits, never below the value."""
    return _decimal(value, digits, ROUND_CEILING)


def show_down(value: float, digits: int = 6) -> str:
    """Decimal of this many significant digits, never above the value."""
    return _decimal(value, digits, ROUND_FLOOR)


def _decimal(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return str(value)
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    return f"{rounded.normalize():f}" if -5 < rounded.adjusted() < digits + 3 else f"{rounded.normalize():e}"
