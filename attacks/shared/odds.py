"""The loss that a ratio of two probabilities is, whatever its size."""

from __future__ import annotations

import math
from fractions import Fraction

_FLOATS = 2**1000
"""Below it a ratio is a float, which has more digits than the difference of two logarithms."""


def loss_of(ratio: Fraction) -> float:
    """Logarithm of a ratio above 0, in nats."""
    if 1 / ratio < _FLOATS and ratio < _FLOATS:
        return math.log(ratio)
    return math.log(ratio.numerator) - math.log(ratio.denominator)
