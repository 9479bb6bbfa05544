r"""Sums in which the noise of aggregators hides in which place a report is: a row of a sketch, or a cell of a row.

A place is drawn uniformly from k, whatever is held, and there each bit (of HCMS: the one sign) is a fair coin with probability 2q,
whatever is held. Of the others we reveal where they are, and all but the fair coins: that helps the adversary, and so it does to
reveal coins until just m are left in a cell. So each cell is m fair coins and noise, of a law O, independent of each other, and
user 1 adds to those of one place. With x for :math:`e^\varepsilon`, and :math:`u_p = 1 - p + p\, O(y - 1)/O(y)` in a cell, the
densities with respect to the law without user 1 are means over the places, and

.. math:: \delta \le E\Bigl(\frac1k \sum_{j \le k} Z_j\Bigr)_+, \quad Z = F (X - x X'), \quad
          X = u_p(y_a)\, u_q(y_b), \quad X' = u_q(y_a)\, u_p(y_b), \quad F = \prod u_q(y)

where a and b are the buckets of user 1's two values in a row, and F has its other cells, of which all coins are revealed. For a
sign, X and X' are :math:`(p\, O(y \mp 1) + q\, O(y \pm 1))/O(y)`, F is 1, and O is even. To :math:`\delta` is added the chance of
integers that O does not list.

Where the two values have one law in a place, Z is :math:`F (X - xX)`: less in convex order, for X' has the law of X, and a sum of
FX and -xFX' is the least where both depend on X alone, in opposite directions. So it costs most to differ in as many places as
any two values do. As positive parts are convex, numbers may be spread to the next ones of a grid that keep their mean; then the
sum of k of them is one of integers. With fewer coins delta is no less: so ranges of the least m of all cells bound the mean.

Open: to hide coins that are not fair, and how many reports are in a place.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import NOTHING, Floats, Pair, below_exp, sorted_pair
from ldpaudit.accountants.aggregation.exchanged import Place, ToldMore
from ldpaudit.accountants.aggregation.noisy_counts import LEFT
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.core.cached import cached

_CELL, _FACTOR, _STEPS = 64, 8, 1 << 10
"""Levels of the ratio of a cell, and of F, that are told apart, and numbers that Z is spread to."""
_RARE = 0.3, 0.02, 1e-4, 1e-7
"""Bounds of the chance of fewer coins in some cell, at which a range of their number begins; beyond the last, none is left."""
_PLACES = 128
"""Most places, and twice the most bits of one, that are multiplied in milliseconds."""
_SCORES, _SEEN, _CELLS, _LARGEST = 16, 1e-7, 256, 1 << 20
"""Scores on either side of 0, how rare is where they are cut, ranges of a noisy cell, and most numbers of each table."""
_Place: TypeAlias = tuple[Floats, Floats, Floats, float, float]
"""FX, FX' and their probabilities; a relative error of all of these; and the chance of what is not listed."""


@dataclass(frozen=True)
class HiddenPlace(ToldMore):
    """The upper end of a sum with noise, where user 1's place is hidden."""

    of: Place
    users: int
    noise: Masses  # of aggregators, on each cell
    told = "all reports but user 1's and fair coins"

    def _high(self, epsilon: float, enough: float = 1.0) -> float:
        x, total, last = below_exp(epsilon), 0.0, 0.0
        for chance, place in self._places:
            value = max(last, self._value(place, x))
            total, last = total + chance * (value - last), value
        return min(1.0, total * (1 + 64 * UNIT))

    @cached
    def _places(self) -> list[tuple[float, _Place]]:
        """For each least number of coins, the chance that it is less than the one before."""
        coins = Masses.binomial(self.users - 1, 2 * (1 - self.of.p) / self.of.places)
        fewer = np.cumsum(coins.values) * (1 + coins.error + len(coins.values) * UNIT) + coins.outside
        least = coins.first + np.searchsorted(self.of.places * min(2, max(1, self.of.bits)) * fewer, _RARE)
        return [(chance, self._place(m)) for chance, m in zip((1.0, *_RARE), (*least.tolist(), 0), strict=True)]

    def _place(self, coins: int) -> _Place:
        """Where this many are left in a cell."""
        p, q, bits, noise = float(self.of.p), float(1 - self.of.p), self.of.bits, self.noise.without_ends(LEFT)
        cell = self.noise.plus(_reported(self.of, coins, Fraction(1, 2))).without_ends(LEFT)
        masses, lost = cell.values, max(1, bits) * self.of.places * (cell.outside + noise.outside)
        error = 8 * (bits + 2) * (max(cell.error, noise.error) + (len(masses) + 2048) * UNIT)
        if not bits:
            less, more = np.append(0.0, masses[:-1]) / masses, np.append(masses[1:], 0.0) / masses
            return p * less + q * more, q * less + p * more, masses, error, lost + float(masses[0])
        one, rest = (Pair.of(law.shifted(1), law).spread(1, _CELL) for law in (cell, noise))
        bit, factor = Pair((1 - q) * rest.q + q * rest.p, rest.q, rest.error, 0.0), NOTHING
        for _ in range(bits - 2):
            factor = factor.product(bit).spread(1, _FACTOR)
        lost += float(sum(each.p[each.q == 0].sum() for each in (one, factor)))
        (t, masses), (f, weights) = ((each.ratios[each.q > 0], each.q[each.q > 0]) for each in (one, factor))
        both = [1 - share + share * t for share in (p, q)]
        own, other, all_ = (reduce(np.multiply.outer, each) for each in ((*both, f), (*both[::-1], f), (masses, masses, weights)))
        return own.ravel(), other.ravel(), all_.ravel(), error, lost

    def _value(self, place: _Place, x: float) -> float:
        """Upper bound of delta."""
        own, other, masses, error, lost = place
        kinds = (own - x * other, self.of.most), ((1 - x) * own, self.of.places - self.of.most)
        low, high = (end(float(each) for z, _ in kinds for each in (z.min(), z.max())) for end in (min, max))
        step, total = (high - low) / _STEPS or 1.0, Masses.point(0)
        for z, times in kinds:
            at = np.floor(z / step)
            above, first = masses * (z / step - at), int(at.min())
            law = np.zeros(_STEPS + 4)
            for weights, here in ((masses - above, 0), (above, 1)):
                law += np.bincount(at.astype(np.int64) + (here - first), weights, len(law))
            total = total.plus(Masses(first, law, error, 0.0).times(times))
        gains = np.maximum(total.first + np.arange(len(total.values)), 0.0) * (step / self.of.places)
        mean = float((gains * total.values).sum()) * (1 + total.error + (len(gains) + 32) * UNIT) + total.outside * abs(high)
        return mean + (1 + x) * error + 32 * UNIT * (high - low) + lost


def hides(of: Place, noise: Masses) -> bool:
    """Whether this is looked at: of places and bits that are few, and some noise; on signs, of either kind, it must be even."""
    is_even = of.bits > 0 or np.array_equal(noise.values, noise.values[::-1])
    return bool(max(of.places, 2 * of.bits) <= _PLACES and is_even and len(noise.without_ends(LEFT).values) > 1)


def scored(of: Place, users: int, noise: Masses) -> Pair | None:
    """The laws of the sum of all places' scores, where all others hold user 1's first value; None of none, or too many.

    How many of the n - 1 others are in each place is multinomial: of Poisson numbers, given their sum. So the law of both sums, of
    others and of scores, is a power of that of one place, by a transform whose error is small; its mean over the first is wanted.
    A score is about in proportion to a place's likelihood ratio.
    """
    from scipy.special import gammaln, xlog1py  # here: it takes a while to import

    n, k, apart, noise = users - 1, of.places, of.apart, noise.without_ends(LEFT)
    if not n or not apart:
        return None
    counts = Masses.binomial(n, Fraction(1, k)).without_ends(LEFT)
    held, rate = counts.first + np.arange(len(counts.values)), n / k
    shape = 1 << (apart * (len(held) - 1)).bit_length(), 1 << (apart * 2 * _SCORES).bit_length()
    size, weights = math.prod(shape), np.exp(held * math.log(rate) - rate - gammaln(held + 1))
    if max(size, len(held) * (len(held) + len(noise.values))) > _LARGEST:
        return None
    error, outside, cells = 0.0, counts.outside, []
    # Of each cell, for each number of others: alone, with user 1's first value, and its second. A sign has no second cell.
    for share in (of.p, 1 - of.p) if of.bits else (of.p,):
        laws = [noise.plus(_reported(of, m, share)) for m in held.tolist()]
        at = np.arange(min(law.first for law in laws) - 1, max(law.first + len(law.values) for law in laws) + 1)
        starts = np.arange(0, len(at), math.ceil(len(at) / _CELLS))
        alone, up, down = (
            np.add.reduceat([law.at(at - step) for law in laws], starts, axis=1) for step in (0, 1, 0 if of.bits else -1)
        )
        cells.append((alone, *(float(p) * up + float(1 - p) * down for p in (share, 1 - share))))
        error += 2 * apart * max(law.error + len(at) * UNIT for law in laws)
        outside += max(law.outside for law in laws)
    views = list(zip(*cells, [np.ones((len(held), 1))] * 3, strict=True))
    alone, first, second = (np.einsum("m,ma,mb->ab", weights, *each[:2], optimize=True) for each in views)
    score = (first - second) / np.maximum(alone, 1e-300)
    score *= _SCORES / np.abs(score[alone > _SEEN * alone.max()]).max()
    level = (np.rint(score).clip(-_SCORES, _SCORES).astype(np.int64) + _SCORES).ravel()

    def scores(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.bincount(level, np.outer(a, b).ravel(), 2 * _SCORES + 1), dtype=np.float64)

    sums = np.fft.rfft2(np.array([list(map(scores, *each[:2])) for each in views]) * weights[:, None], shape)
    whole = np.fft.irfft2(sums[0] ** (apart - 1) * sums, shape)
    total = apart * counts.first + np.arange(shape[0])
    total = total[total <= n]
    logs = gammaln(n + 1) - gammaln(n - total + 1) - total * math.log(n) + xlog1py(n - total, -apart / k) + apart * rate
    none, *both = np.exp(logs) @ whole[:, : len(total)].clip(0.0)
    first, second = ((1 - apart / k) * none + apart / k * each for each in both)
    # A transform of N numbers is right to 7 u log2 N in the 2-norm, and all its numbers are at most 1.
    off = 16 * (apart + 2) * UNIT * math.log2(size) * math.sqrt(size) * float(np.exp(logs.max()))
    error += 64 * UNIT * (float(gammaln(n + 1)) + n * math.log(n + 1) + level.size + sum(shape))
    return sorted_pair(first, second, error, 2 * off + 4 * apart * outside)


def _reported(of: Place, number: int, share: Fraction) -> Masses:
    """What as many bits, or signs, add up to, of which this share are ones, or positive."""
    coins = Masses.binomial(number, share)
    signs = np.insert(coins.values, np.arange(1, len(coins.values)), 0.0)
    return coins if of.bits else Masses(2 * coins.first - number, signs, coins.error, coins.outside)
