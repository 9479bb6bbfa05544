"""Laws of how many messages of each kind there are, in rationals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

View: TypeAlias = tuple[int, ...]
"""Number of messages of each kind."""
Shares: TypeAlias = tuple[Fraction, ...]
"""Probabilities of the kinds of a message."""


def convolved(law: dict[View, Fraction], shares: Shares) -> dict[View, Fraction]:
    """The law of counts with one more message."""
    found: dict[View, Fraction] = defaultdict(Fraction)
    for view, weight in law.items():
        for kind, share in enumerate(shares):
            if share:
                more = tuple(n + (i == kind) for i, n in enumerate(view))
                found[more] += weight * share
    return found


def multinomial(counts: View, total: int, shares: Shares) -> Fraction:
    """Probability of these counts of a number of independent messages; 0 where they do not add up to it."""
    if min(counts) < 0 or sum(counts) != total:
        return Fraction(0)
    ways = math.factorial(total) // math.prod(map(math.factorial, counts))
    return ways * math.prod((share**n for share, n in zip(shares, counts, strict=True)), start=Fraction(1))


def compositions(total: int, parts: int) -> Iterator[View]:
    """All counts that add up to a number of messages."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in compositions(total - first, parts - 1))
