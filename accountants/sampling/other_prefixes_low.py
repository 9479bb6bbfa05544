r"""Data sets in which a crowd gives the new user away: the lower bound beside `other_prefixes`.

Let w users hold the prefix p, some users a value of their own, and share g prefixes equally among all others. The event
is that nothing is released, or p is. If everybody is in the crowd and :math:`m = g (\theta - 1) + 1`, some prefix gets
theta of m votes, always; but with the new user among the m, nothing may be released.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.sampling.thresholded import FixedBatch, worst_holders

LARGEST_BATCH = 200
"""Crowds are counted out up to this batch; above, the leak is tiny wherever it matters."""
_PRECISION = 224
_LONERS = (1, 2, 4)
"""Users with a value of their own that are tried, as multiples of those that it takes to fill a batch; and their share."""


@dataclass(frozen=True, slots=True)
class CrowdData:
    """A data set without the new user, and the event, for one level.

    Parameters
    ----------
    holders : int
        Users who hold the new user's prefix.
    prefixes : int
        Other prefixes; the users that are left are spread over them evenly.
    loners : int
        Users with a value of their own.
    """

    holders: int
    prefixes: int
    loners: int

    def sizes(self, users: int) -> tuple[tuple[int, int], ...]:
        """Sizes of the other prefixes, and how many have them; of one user more, one of them has one user more."""
        size, more = divmod(users - self.holders - self.loners, self.prefixes)
        return (size, self.prefixes - more), (size + 1, more)

    def __str__(self) -> str:
        crowd = f"{self.loners} a value of their own, the others {self.prefixes} prefixes in equal parts"
        return f"{self.holders} users hold the new user's prefix, {crowd}; his prefix is released, or nothing is"


def crowd_excess(sampling: FixedBatch, threshold: int, c: flint.arb, data: CrowdData, swap: bool = False) -> flint.arb:
    r"""P'(S) - c P(S) for a crowd's data set and its event S, P' with the new user.

    .. math:: P[\emptyset] = \frac{[x^m]\; f_w\, (1+x)^{a} \prod_i f_{s_i}}{\binom{n}{m}}, \qquad
              f_s = \sum_{j < \theta} \binom{s}{j} x^j

    and likewise with the new user among the sampled: one vote less is needed to release p, and m - 1 others are drawn.
    Where he replaces another, that one is of the crowd.

    Parameters
    ----------
    sampling, threshold, c : FixedBatch, int, flint.arb
        Threshold at least 2.
    data : CrowdData
        With at most n users.
    swap : bool
        Whether the new user replaces one, instead of being added.

    Returns
    -------
    flint.arb
        Exact but for the ball around c.
    """
    there, before = _silent(sampling, threshold, data, swap)
    more, fewer = (sampling.swap_gain if swap else sampling.gain)(data.holders, threshold)
    return there - c * before + (more - (c - 1) * fewer).max(flint.arb(0))


@lru_cache(maxsize=256)
def _silent(sampling: FixedBatch, threshold: int, data: CrowdData, swap: bool) -> tuple[flint.arb, flint.arb]:
    """Probabilities that nothing is released, with the new user and without: the same at every c."""
    n, m, q = sampling.users, sampling.batch, sampling.rate
    with flint.ctx.workprec(_PRECISION):
        rest = _rest(sampling, threshold, data, n)
        own = _ways(data.holders, threshold - 1, n, m)
        none = _coefficient(own, rest, m) / _coefficient_of_all(n, m, n, m)
        # One vote less is enough: of the holders theta - 2 at most, and m - 1 are drawn beside him.
        fewer = flint.arb_poly(own.coeffs()[: threshold - 1])
        there = ball(1 - q) * none + ball(q) * _coefficient(fewer, rest, m - 1) / _coefficient_of_all(n, m - 1, n, m)
        if not swap:
            return there, none
        # Without him, one of the crowd is in his place.
        rest = _rest(sampling, threshold, data, n + 1)
        return there, _coefficient(own, rest, m) / _coefficient_of_all(n + 1, m, n, m)


def _rest(sampling: FixedBatch, threshold: int, data: CrowdData, users: int) -> flint.arb_poly:
    """The polynomial of everybody but those who hold the new user's prefix."""
    n, m = sampling.users, sampling.batch
    rest = _ways(data.loners, m, n, m)
    for size, times in data.sizes(users):
        rest *= _ways(size, threshold - 1, n, m) ** times
    return rest


def _ways(size: int, most: int, users: int, batch: int) -> flint.arb_poly:
    """The sum of so many over j, times (t x)**j, with t about m/n: a power of 2, so that no coefficient is far from 1."""
    way, found = flint.arb(1), [flint.arb(1)]
    halves = flint.arb(2) ** -(users // batch).bit_length()
    for j in range(min(size, most)):
        way = way * (size - j) / (j + 1) * halves
        found.append(way)
    return flint.arb_poly(found)


def _coefficient(one: flint.arb_poly, other: flint.arb_poly, k: int) -> flint.arb:
    """That of x**k in the product."""
    pairs = ((a, other[k - j]) for j, a in enumerate(one.coeffs()) if 0 <= k - j < other.length())
    return sum((a * b for a, b in pairs), flint.arb(0))


@lru_cache(maxsize=16)
def _coefficient_of_all(population: int, draws: int, users: int, batch: int) -> flint.arb:
    """All samples, in the same units."""
    with flint.ctx.workprec(_PRECISION):
        return _ways(population, draws, users, batch)[draws]


def worst_crowd(
    sampling: FixedBatch, threshold: int, c: flint.arb, swap: bool = False
) -> tuple[flint.arb, CrowdData] | None:
    """The best data set that a short search finds; None where there is none to search, or the batch is too large."""
    m = sampling.batch
    if threshold < 2 or not threshold <= m <= LARGEST_BATCH:
        return None
    best: tuple[flint.arb, CrowdData] | None = None
    for data in _candidates(sampling, threshold, c):
        value = crowd_excess(sampling, threshold, c, data, swap)
        if best is None or value.mid() > best[0].mid():
            best = value, data
    return best


def _candidates(sampling: FixedBatch, threshold: int, c: flint.arb) -> Iterator[CrowdData]:
    n, m = sampling.users, sampling.batch
    prefixes = (m - 1) // (threshold - 1)
    for w in sorted({0, worst_holders(sampling, threshold, c)[0]}):
        for g in (prefixes, prefixes + 1):
            missing = max(0, m - 1 - g * (threshold - 1))
            for loners in sorted({0, *(missing * i for i in _LONERS), missing * n // m, missing * n // (2 * m)}):
                if w + loners + g <= n:
                    yield CrowdData(w, g, loners)
