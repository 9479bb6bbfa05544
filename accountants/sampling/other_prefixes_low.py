r"""Data sets in which other users' prefixes reveal the new user: the lower bound beside `other_prefixes`.

Let w users hold the new user's prefix p, some users a value of their own, and all others one of g other prefixes, in equal
parts. The event is that nothing is released, or p is. If all users hold one of the g prefixes and :math:`m = g (\theta - 1)
+ 1`, some prefix always gets theta of m votes; but with the new user among the m, nothing may be released.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.sampling.thresholded import FixedBatch, worst_holders
from ldpaudit.core.working_precision import working_precision
from ldpaudit.neighbours import ADD_REMOVE, Neighbours

LARGEST_BATCH = 200
"""Largest batch for which these data sets are evaluated: the polynomials have as many coefficients. Beyond it the lower bound
is that of the user's own prefix."""
_PRECISION = 224
"""Bits. Measured for batches of 9 to 200 and epsilons up to 20: 60 digits are left after P' - c P has cancelled."""
_LONERS = (1, 2, 4)
"""Numbers of users with a value of their own that are tried, as multiples of those that a batch lacks to be filled."""


@dataclass(frozen=True, slots=True)
class OtherPrefixes:
    """A data set without the new user, and the event of one round."""

    holders: int  # users who hold the new user's prefix
    prefixes: int  # number g of other prefixes, which all other users hold in equal parts
    loners: int  # users with a value of their own

    def sizes(self, users: int) -> tuple[tuple[int, int], ...]:
        """Pairs of a size and the number of other prefixes of that size, in a data set of this many users."""
        size, more = divmod(users - self.holders - self.loners, self.prefixes)
        return (size, self.prefixes - more), (size + 1, more)

    def __str__(self) -> str:
        others = f"{self.loners} a value of their own, the others {self.prefixes} prefixes in equal parts"
        return f"{self.holders} users hold the user's prefix, {others}"


def other_prefixes_excess(
    sampling: FixedBatch, threshold: int, c: flint.arb, data: OtherPrefixes, neighbours: Neighbours = ADD_REMOVE
) -> flint.arb:
    r"""P'(S) - c P(S) for such a data set and its event S, P' with the new user.

    .. math:: P[\emptyset] = \frac{[x^m]\; f_w\, (1+x)^{a} \prod_i f_{s_i}}{\binom{n}{m}}, \qquad
              f_s = \sum_{j < \theta} \binom{s}{j} x^j

    and likewise with the new user in the sample: one vote less is needed to release p, and m - 1 others are drawn. For
    replace-one neighbours the user holds one of the other prefixes instead.

    Exact but for the ball around c.
    """
    there, before = _silent(sampling, threshold, data, neighbours)
    more, fewer = sampling.gain(data.holders, threshold, neighbours)
    return there - c * before + (more - (c - 1) * fewer).max(flint.arb(0))


@lru_cache(maxsize=256)
def _silent(sampling: FixedBatch, threshold: int, data: OtherPrefixes, neighbours: Neighbours) -> tuple[flint.arb, flint.arb]:
    """Probabilities that nothing is released, with the new user and without; c does not matter to them."""
    n, m, q = sampling.users, sampling.batch, sampling.rate
    with working_precision(_PRECISION):
        rest = _rest(sampling, threshold, data, n)
        own = _ways(data.holders, threshold - 1, n, m)
        none = _coefficient(own, rest, m) / _coefficient_of_all(n, m, n, m)
        # One vote less is enough: theta - 2 holders at most among the m - 1 others who are drawn.
        fewer = flint.arb_poly(own.coeffs()[: threshold - 1])
        there = ball(1 - q) * none + ball(q) * _coefficient(fewer, rest, m - 1) / _coefficient_of_all(n, m - 1, n, m)
        if neighbours == ADD_REMOVE:
            return there, none
        # Without, the user holds one of the other prefixes.
        rest = _rest(sampling, threshold, data, n + 1)
        return there, _coefficient(own, rest, m) / _coefficient_of_all(n + 1, m, n, m)


def _rest(sampling: FixedBatch, threshold: int, data: OtherPrefixes, users: int) -> flint.arb_poly:
    """The polynomial of everybody but those who hold the new user's prefix."""
    n, m = sampling.users, sampling.batch
    rest = _ways(data.loners, m, n, m)
    for size, times in data.sizes(users):
        rest *= _ways(size, threshold - 1, n, m) ** times
    return rest


def _ways(size: int, most: int, users: int, batch: int) -> flint.arb_poly:
    """The sum of binomial(size, j) (t x)**j for j <= most; t is a power of 2 near m/n, so that no coefficient is far from 1."""
    way, found = flint.arb(1), [flint.arb(1)]
    halves = flint.arb(2) ** -(users // batch).bit_length()
    for j in range(min(size, most)):
        way = way * (size - j) / (j + 1) * halves
        found.append(way)
    return flint.arb_poly(found)


def _coefficient(one: flint.arb_poly, other: flint.arb_poly, k: int) -> flint.arb:
    """The coefficient of x**k in the product."""
    pairs = ((a, other[k - j]) for j, a in enumerate(one.coeffs()) if 0 <= k - j < other.length())
    return sum((a * b for a, b in pairs), flint.arb(0))


@lru_cache(maxsize=16)
def _coefficient_of_all(population: int, draws: int, users: int, batch: int) -> flint.arb:
    """The number of samples, in the same units: times t**draws."""
    with working_precision(_PRECISION):
        return _ways(population, draws, users, batch)[draws]


def worst_other_prefixes(
    sampling: FixedBatch, threshold: int, c: flint.arb, neighbours: Neighbours = ADD_REMOVE
) -> tuple[flint.arb, OtherPrefixes] | None:
    """The best data set that a short search finds; None where there is none to search, or the batch is too large."""
    m = sampling.batch
    if threshold < 2 or not threshold <= m <= LARGEST_BATCH:
        return None
    best: tuple[flint.arb, OtherPrefixes] | None = None
    for data in _candidates(sampling, threshold, c):
        value = other_prefixes_excess(sampling, threshold, c, data, neighbours)
        if best is None or value.mid() > best[0].mid():
            best = value, data
    return best


def _candidates(sampling: FixedBatch, threshold: int, c: flint.arb) -> Iterator[OtherPrefixes]:
    n, m = sampling.users, sampling.batch
    prefixes = (m - 1) // (threshold - 1)
    for w in sorted({0, worst_holders(sampling, threshold, c)[0]}):
        for g in (prefixes, prefixes + 1):
            missing = max(0, m - 1 - g * (threshold - 1))
            for loners in sorted({0, *(missing * i for i in _LONERS), missing * n // m, missing * n // (2 * m)}):
                if w + loners + g <= n:
                    yield OtherPrefixes(w, g, loners)
