r"""How often a value is found by votes of fresh samples: TrieHH's worst-case discovery rate, and what inverts it.

A value of L units that W of n users hold, and that shares no prefix with another, is found in L rounds with batches of m and
a threshold of theta with probability

.. math:: \Bigl( \sum_{i \ge \theta} \binom Wi \binom{n-W}{m-i} \Big/ \binom nm \Bigr)^L

Shared prefixes only raise it. Source: Zhu, Kairouz, McMahan, Sun, Li 2019, Propositions 1 and 2.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import count

import flint

from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_upper
from ldpaudit.accountants.numerics.precision import narrow_enough
from ldpaudit.accountants.sampling.theorems import triehh_delta
from ldpaudit.core.number import brief, exact
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number

_LEAST = 4
"""The smallest theta for which TrieHH's Theorem 1 has a delta."""


def discovery_rate(users: int, holders: int, batch: int, threshold: int, levels: int) -> Enclosure:
    """The probability that the value is found, where no other shares a prefix of it."""

    def value() -> flint.arb:
        return hypergeometric_upper(users, holders, batch, threshold) ** levels

    return narrow_enough(value, f"{levels} round(s) of {batch} votes, threshold {threshold}")


def least_holders(users: int, batch: int, threshold: int, levels: int, rate: Number) -> int | None:
    """The fewest holders with a certified discovery rate of at least `rate`; None where all users are too few."""
    if not 0 < (wanted := exact(rate, "rate")) <= 1:
        raise ValueError(f"least_holders needs 0 < rate <= 1, got rate={brief(rate)}")

    def found(holders: int) -> bool:
        return discovery_rate(users, holders, batch, threshold, levels).low >= wanted

    least = bisect_left(range(users + 1), True, key=found)
    return least if least <= users else None


def least_threshold(delta: Number) -> int:
    """The least theta, from 4 up, at which Theorem 1's delta is at most a given one. ``delta``: above 0."""
    if (most := exact(delta, "delta")) <= 0:
        raise ValueError(f"least_threshold needs delta > 0, got delta={brief(delta)}")
    return next(theta for theta in count(_LEAST) if triehh_delta(theta) <= most)
