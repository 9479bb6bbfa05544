"""Pairs of laws, view by view, as the definitions say: slow, obvious, the oracle."""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

Views: TypeAlias = Iterable[tuple[Any, Any]]  # of each view, its probabilities on two inputs


def heads(coins: int, p: Fraction) -> list[Fraction]:
    """The law of how many coins show heads."""
    return [math.comb(coins, k) * p**k * (1 - p) ** (coins - k) for k in range(coins + 1)]


def noise(z: int, alpha: Fraction) -> Fraction:
    """Probability of z by geometric noise of either sign."""
    return (1 - alpha) / (1 + alpha) * alpha ** abs(z)


def joint(*parts: Views) -> list[tuple[Any, Any]]:
    """Of independent parts, every combination of their views."""
    one = Fraction(1)
    return [(math.prod((p for p, _ in each), start=one), math.prod((q for _, q in each), start=one)) for each in product(*parts)]


def excess(views: Views, ratio: Fraction | int) -> Fraction:
    """The sum of (P - ratio Q)_+: delta, for a ratio of e**epsilon."""
    return sum((max(p - ratio * q, Fraction(0)) for p, q in views), Fraction(0))
