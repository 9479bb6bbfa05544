r"""Sums of one-hot reports, such as k-ary randomized response, with noise of aggregators on every count.

A report is the value held with probability p, and each other one with probability q. A report of all values but one is a one-hot
report of that one, taken from a known number.

*From above.* A report is a uniform draw from all k values with probability :math:`k \min(p, q)`, whatever is held. Of the others'
reports, we reveal all that are not such draws, and how many are, L - 1 of them: its law is binomial, and fewer only help the
adversary. We reveal, of these and user 1's report together, how often each value is reported but user 1's two, without the noise.
That is uniform, given how many they are: so it tells only that T reports are of one of the two values. C of these are of the first
one, and with :math:`w_T` for the probability that T of the L - 1 draws are,

.. math:: P(T, C) = B_T(C)\, (\alpha_T + 2 w_{T-1} (p - q) A), \quad A = \frac{C}{T} - \frac12, \quad
          \alpha_T = w_{T-1} (p + q) + (k - 2)\, q\, w_T

where :math:`B_T` is the law of T fair coins; A has the other sign where user 1 holds the second value. Seen are C and T - C with
their noise. With :math:`\bar A` for the mean of A given what is seen, delta is the sum over T of the mean of

.. math:: \bigl((1 + e^\varepsilon)\, 2 w_{T-1} (p - q)\, \bar A - (e^\varepsilon - 1)\, \alpha_T\bigr)_+

Every coin less 1/2 has the mean :math:`\bar A`, given what is seen; with one coin more, less is seen of the others. So
:math:`\bar A` decreases in convex order as T grows, and a range of T is bounded by its least.

With noise N and N' on the two counts, C + N and C - N' are seen. Their difference does not depend on C, so that for each of its
values the noise of C is the product of the two laws, shifted.

Open: without T, or with what reports that are no uniform draws hide, epsilon may be less; by a hundredth or two where p is the
larger one, and by a sixth where it is not: of that, in the normal limit and where all others hold user 1's first value, 9 % are
what reports hide that are no uniform draws; to tell which of all reports are of one of the two values costs 2 %.

*From below.* All others hold a third value or, where this makes the two counts vary less, user 1's first. Seen are the two counts
with their noise, and in which of some ranges the sum of all other counts lies, with theirs.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import Floats, Pair, below_exp, sorted_pair
from ldpaudit.accountants.aggregation.exchanged import OneOf, ToldMore
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.core.cached import cached

_SLICES = 0.025, 0.1, 1e-3
"""Part by which the coins of a slice exceed those that it is bounded by, which is more where they are rare."""
_Parts: TypeAlias = tuple[float, float, float]
LEFT = 1e-18
"""Probability of either end of a law that is left out."""
_TINY = 1e-30
"""A probability of a number of reports that is left out."""
_WORK, _SEEN = 1 << 32, 1 << 22
"""Most products of masses of a slice, and most pairs of noisy counts."""
_LONGEST = 1 << 12
"""Most integers of the law of noise."""
_BINS, _BLOCK, _SMALL = 1 << 14, 1 << 5, 1 << 18
"""Thresholds at which a mean excess is known; integers of a row that are multiplied at a time; and products of so few numbers
that one thread computes them: others would only wait for each other."""
_COUNTS, _CELLS = 1200, 300
"""Most counts of each value whose joint law is listed from below, and about as many ranges of each noisy count."""
_TOTALS, _KINDS, _CANCELLED = 8, 10, 1e-7
"""Ranges of the sum of all other counts, most of these that are looked at, and the largest relative error of a range."""


class Excess(NamedTuple):
    """Upper bounds of the mean of what exceeds a threshold, at some thresholds: convex between them."""

    at: Floats
    mean: Floats

    @classmethod
    def of(cls, mass: Floats, mean: Floats, error: float) -> Self:
        """Of positive numbers and their probabilities, which are right to a relative error."""
        mass, mean = mass[above := mean > 0], mean[above]
        # Thresholds are a little above the edges of bins: whatever exceeds one is counted, and nothing that is far below it.
        edges = np.linspace(0.0, float(mean.max(initial=UNIT)), _BINS + 1)
        bins = np.minimum((mean * (_BINS / edges[-1])).astype(np.int64), _BINS - 1)
        tail, gain = (np.cumsum(np.bincount(bins, each, _BINS)[::-1])[::-1] for each in (mass, mass * mean))
        at = edges * (1 + 8 * UNIT)
        error += (len(mass) + 32) * UNIT
        return cls(at, np.append(gain * (1 + error) - at[:-1] * tail * (1 - error), 0.0))


class _Slice(NamedTuple):
    """A range of T, with all slices of L."""

    gains: Floats  # 2 w (p - q), above
    kept: Floats  # alpha, below
    excess: Excess  # of the mean of A


@dataclass(frozen=True)
class NoisyCounts(ToldMore):
    """The upper end of a sum of one-hot reports with noise: what both counts tell, with T and L."""

    of: OneOf
    users: int
    noise: Masses  # of aggregators, on each count
    told = "the two noisy counts, where all other reports are told but for uniform draws"

    def _high(self, epsilon: float, enough: float = 1.0) -> float:
        x, (slices, left) = below_exp(epsilon), self._slices
        total = 0.0
        for gains, kept, excess in slices:
            gained = (1 + x) * gains
            with np.errstate(divide="ignore", over="ignore"):  # reports that tell nothing gain nothing
                least = (x - 1) * kept / gained
            total += float((gained * np.interp(least, *excess, right=0.0)).sum())
        return min(1.0, total * (1 + 1e-9) + left)  # room for sums of at most a million numbers

    @cached
    def _slices(self) -> tuple[list[_Slice], float]:
        """All of T, and what is left out; none where there is too much to compute."""
        noise, found = self.noise.without_ends(LEFT), []
        if (shared := _shared(noise)) is None:
            return [], 1.0
        weights, left = self.weights(2, self.of.p + self.of.q, _SLICES, _SLICES)
        for start, gains, kept in weights:
            excess = _excess(start, noise, shared)
            if excess is None:
                return [], 1.0
            found.append(_Slice(gains, kept, excess))
            left += 2 * LEFT  # where all coins are of one value, user 1's report makes them twice as likely
        return found, left + 4 * noise.outside + LEFT

    def weights(self, values: int, own: Fraction, *parts: _Parts) -> tuple[list[tuple[int, Floats, Floats]], float]:
        """What is gained and kept in slices of how many reports are of this many values; and what is left out.

        Kept is `own` times a probability if user 1's report is one of these. The parts are of slices of draws, and of these values.
        """
        k, p, q = self.of[:3]
        draws = Masses.binomial(self.users - 1, k * min(p, q))
        share = Fraction(values, k)
        of = [(chance, Masses.binomial(least, share)) for chance, least in zip(*draws.slices(*parts[0]), strict=True)]
        first, end = min(law.first for _, law in of), max(law.first + len(law.values) for _, law in of)
        at = np.arange(first, end)
        counted = Masses(first, sum((chance * law.at(at) for chance, law in of), np.zeros(len(at))), 0.0, 0.0)  # less 1
        found = []
        for start, stop in pairwise(start + 1 for start in (*counted.slices(*parts[1])[1], end)):
            r, gains, kept = np.arange(start, stop), [], []
            for chance, law in of:
                before, here = chance * law.at(r - 1), chance * law.at(r)
                seen, room = before > _TINY, law.error + 16 * UNIT
                low = before[seen] * float(own) + here[seen] * float((k - values) * q)
                gains.append(before[seen] * float(values * abs(p - q)) * (1 + room))
                kept.append(low * (1 - room))
            found.append((start, np.concatenate(gains), np.concatenate(kept)))
        return found, draws.outside + sum(chance * law.outside for chance, law in of) + LEFT


def _shared(noise: Masses) -> Floats | None:
    """For each difference of the two noises that is likely enough, the masses of the first one with it; None of too many.

    Where the law is even, the differences above 0 stand for those below it, too. Left out is a probability of 1e-18.
    """
    size, law, mirrored = len(noise.values), noise.values, noise.values[::-1]
    if size > _LONGEST:
        return None
    is_even = np.array_equal(law, mirrored)
    rows = np.zeros((size if is_even else 2 * size - 1, size))
    for row, by in enumerate(range(0 if is_even else 1 - size, size)):
        here = slice(max(0, by), size + min(0, by))
        rows[row, here] = law[here] * mirrored[max(0, -by) : size - max(0, by)] * (2 if is_even and by else 1)
    likely: Floats = rows[rows.sum(axis=1) > LEFT / len(rows)]
    return likely


def _excess(coins: int, noise: Masses, shared: Floats) -> Excess | None:
    """Of the mean of A given what is seen of this many coins; None where it takes too long."""
    law = Masses.binomial(coins, Fraction(1, 2)).without_ends(LEFT)
    size, width = len(law.values), shared.shape[1]
    if len(shared) * (size + width) > _SEEN or len(shared) * (size + width) * width > _WORK:
        return None
    count = law.first + np.arange(size)
    mass, weighted = (_sums(shared, values).ravel() for values in (law.values, law.values * count))
    seen = mass > 0
    # Products of two noises and a coin's law, sums of as many, and their quotient, which is at most 1.
    error = 2 * noise.error + law.error + (width + 8) * UNIT
    return Excess.of(mass[seen], weighted[seen] / mass[seen] / coins - 0.5 + 3 * error, error)


def _sums(shared: Floats, law: Floats) -> Floats:
    """Of each row, times the law of another number, the masses of all sums: block by block, as a law is shorter than a row."""
    block = np.zeros((_BLOCK, _BLOCK + len(law) - 1))
    for row in range(_BLOCK):
        block[row, row : row + len(law)] = law
    found = np.zeros((len(shared), shared.shape[1] + len(law) - 1))
    height = max(1, _SMALL // block.size)
    for start in range(0, shared.shape[1], _BLOCK):
        long = min(_BLOCK, shared.shape[1] - start)
        for first in range(0, len(shared), height):
            here = slice(first, first + height), slice(start, start + long + len(law) - 1)
            found[here] += shared[here[0], start : start + long] @ block[:long, : long + len(law) - 1]
    return found


def two_counts(of: OneOf, users: int, noise: Masses) -> Pair | None:
    """The laws of what is computed from the sum, where all others hold a third value, or the first; None where it is too much."""
    n, p, q = users - 1, float(of.p), float(of.q)
    at = noise.first + np.arange(len(noise.values))
    spread = float((noise.values * at**2).sum() - (noise.values * at).sum() ** 2)

    def known(shares: tuple[Fraction, Fraction]) -> float:
        """About what both counts tell, if they are of these parts of the others."""
        return sum(1 / max(float(n * share * (1 - share)) + spread, UNIT) for share in shares)

    shares = max([(of.p, of.q), *([(of.q, of.q)] if of.k > 2 else [])], key=known)
    laws = [Masses.binomial(n, share).without_ends(LEFT) for share in shares]
    if max(len(law.values) for law in laws) > _COUNTS or len(noise.values) > _LONGEST:
        return None
    noise = noise.without_ends(LEFT)
    first, second = (law.first + np.arange(len(law.values)) for law in laws)
    rows = [Masses.binomial(n - int(c), shares[1] / (1 - shares[0])) for c in first]
    joint = laws[0].values[:, None] * np.array([row.at(second) for row in rows])
    alone, own = zip(*(_seen(counts, noise) for counts in (first, second)), strict=True)
    size, least = len(first) + len(second), int(first[0] + second[0])
    totals, off, lost = _totals(of.k, float(n * sum(shares)) - least, size, noise)
    both = first[:, None] + second - least
    found: list[tuple[Floats, Floats]] = []
    for part in totals:
        one_more, as_many = joint * part[both + 1], joint * part[both]
        up, down = (a @ one_more @ b.T for a, b in ((own[0], alone[1]), (alone[0], own[1])))
        rest = (1 - p - q) * (alone[0] @ as_many @ alone[1].T)
        found.append((p * up + q * down + rest, q * up + p * down + rest))
    first_law, second_law = (np.concatenate([each[place].ravel() for each in found]) for place in (0, 1))
    error = laws[0].error + max(row.error for row in rows) + 2 * noise.error + off + (8 * (size + len(noise.values)) + 64) * UNIT
    outside = sum(law.outside for law in laws) + max(row.outside for row in rows) + 4 * noise.outside + 4 * LEFT + lost
    return sorted_pair(first_law, second_law, error, outside).coarse()


def _seen(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]], noise: Masses) -> tuple[Floats, Floats]:
    """Probabilities of ranges of a noisy count, for each count, and for one more."""
    seen = counts[0] + noise.first + np.arange(len(counts) + len(noise.values))
    starts = np.arange(0, len(seen), math.ceil(len(seen) / _CELLS))
    alone, own = (np.add.reduceat(noise.at(seen[:, None] - counts - one), starts, axis=0) for one in (0, 1))
    return alone, own


def _totals(k: int, mean: float, size: int, noise: Masses) -> tuple[list[Floats], float, float]:
    """For some ranges, the probability that a number below `size` lies in it with the noise of k - 2 counts.

    Also its relative error, and what is left out. A range is the difference of two tails: of those on its side of the middle.
    """
    whole = [np.ones(size)], 0.0, 0.0
    if not 2 < k <= _KINDS + 2:
        return whole
    law = noise.times(k - 2).mirrored
    at = law.first + np.arange(len(law.values))
    spread = math.sqrt(float(law.values @ at.astype(float) ** 2) + mean)
    ends = [mean + spread * z for z in np.linspace(-2, 2, _TOTALS - 1)]
    places = [np.clip(math.floor(end) + 1 - np.arange(size) - law.first, 0, len(at)) for end in ends]
    places = [np.zeros(size, dtype=int), *places, np.full(size, len(at))]
    below = np.concatenate([[0.0], np.cumsum(law.values)])
    above = np.concatenate([np.cumsum(law.values[::-1])[::-1], [0.0]])
    parts, error = [], 0.0
    for low, high in pairwise(places):
        is_below = below[high] < 0.5
        near, far = np.where(is_below, below[high], above[low]), np.where(is_below, below[low], above[high])
        parts.append(near - far)
        seen = near > far
        error = max(error, float(np.max(near[seen] / (near - far)[seen], initial=0.0)))
    error = law.error + 2 * (len(at) + 2) * UNIT * error
    return (parts, error, law.outside) if error < _CANCELLED else whole
