"""A public sparse matrix with entries -1, 0 and 1, from which what is frequent is recovered in time polylogarithmic in N.

Row r hashes a value to a bucket and gives it a sign, and each bucket has a measurement for the value's presence and one
for each of its bits, whose sign it turns. A bucket that one value dominates spells that value's bits.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanisms.shared.coins import chunks
from ldpaudit.mechanisms.shared.linear_codes.codeword_weights import ENUMERATED, heaviest
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, independent, kernel, nonzero, span

_CHUNK = 1 << 16  # values that are measured at a time
_PASSES = 3
"""Rounds of naming, estimating and taking off: what collides with a frequent value is seen once that is taken off. A second
finds up to 1.3 % more of the ten most frequent values of Zipf data; a third to fifth found nothing more in 120 runs."""
_TRIED, _WEIGHED = 1 << 10, 1 << 15
"""Differences that are tried where there are too many for all, beside the heaviest that share buckets; and most of those with few
ones, which are all tried, as are those with few zeros."""
_KINDS = 3  # kinds of pairs beyond those that are found, of each of which the cost is looked at


@dataclass(frozen=True, slots=True)
class SignedBuckets:
    r"""The matrix whose entry at (r, c, l), x is :math:`1[h_r(x) = c]\,\sigma_r(x)\,(-1)^{bit_l(x)}`, with bit 0 always 0.

    It is never built: hash functions and signs are linear over GF(2), their vectors are independent and come from the
    seed. So whether two values share a bucket, and with which signs, depends on their exclusive or alone. `bits` is L, the length
    of a value's binary expansion, from 1 to 62; `buckets` is a power of two, at most ``2**bits``.
    """

    bits: int
    rows: int
    buckets: int
    seed: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, buckets, and measurements of each bucket: of a measured vector."""
        return self.rows, self.buckets, self.bits + 1

    def vectors(self, row: int) -> tuple[int, ...]:
        """Vectors whose products with a value are the bits of its bucket in a row; the last one's is that of its sign.

        Where each value has a bucket of its own, no sign is needed, and that vector is one of the bucket's.
        """
        return _vectors(self.seed, row, self.buckets.bit_length() - 1, self.bits)

    def places(self, row: int, values: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Buckets of values in a row, and their signs, -1 or 1."""
        vectors = self.vectors(row)
        image = images(vectors, values)
        return image & (self.buckets - 1), 1 - 2 * (image >> (len(vectors) - 1) & 1)

    def turns(self, values: ArrayLike) -> NDArray[np.int64]:
        """1, and for each bit of each value -1 where it is 1, shape ``values.shape + (bits + 1,)``."""
        asked = np.asarray(values, dtype=np.int64)[..., None]
        bits = asked >> np.arange(self.bits) & 1
        return 1 - 2 * np.concatenate([np.zeros_like(asked), bits], axis=-1)

    def column(self, value: int) -> NDArray[np.float64]:
        """The matrix's column of a value, shape `shape`."""
        return self.measure(np.array([value]), np.ones(1))

    def measure(self, values: NDArray[np.int64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The matrix times the histogram in which values have these counts, shape `shape`; exact below 2**53."""
        total = np.zeros(self.shape)
        for part in chunks(len(values), _CHUNK):
            turned = self.turns(values[part]) * counts[part, None]
            for row in range(self.rows):
                bucket, sign = self.places(row, values[part])
                for each, weights in enumerate((turned * sign[:, None]).T):
                    total[row, :, each] += np.bincount(bucket, weights, self.buckets)
        return total

    def named(self, measured: NDArray[np.float64]) -> NDArray[np.int64]:
        """Values that buckets spell, each in a bucket that is its own, without repetition."""
        bits = (measured[..., 1:] * measured[..., :1] < 0).astype(np.int64)
        spelled = (bits << np.arange(self.bits)).sum(axis=-1)
        own = [spelled[row][self.places(row, spelled[row])[0] == np.arange(self.buckets)] for row in range(self.rows)]
        return np.unique(np.concatenate(own))

    def estimates(self, measured: NDArray[np.float64], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Counts of values: the median over rows of the mean over a bucket's measurements, signs turned back."""
        turned, answers = self.turns(values), np.empty((self.rows, len(values)))
        for row in range(self.rows):
            bucket, sign = self.places(row, values)
            answers[row] = sign * (measured[row, bucket] * turned).mean(axis=-1)
        return np.asarray(np.median(answers, axis=0), dtype=np.float64)

    def decode(self, measured: NDArray[np.float64], sparsity: int, domain: int) -> dict[int, float]:
        """At most `sparsity` values below `domain` with their estimates, by falling estimate.

        What is found is taken off and the rest is asked again: the values it names, and those found before. What does
        not stay among the largest is put back.
        """
        rest, found = measured.copy(), dict[int, float]()
        for _ in range(_PASSES):
            candidates = np.union1d(self.named(rest), np.array([*found], dtype=np.int64))
            candidates = candidates[candidates < domain]
            more = self.estimates(rest, candidates)
            chosen = np.argsort(-np.abs(more), kind="stable")[:sparsity]
            grown = dict(found)
            for value, count in zip(candidates[chosen].tolist(), more[chosen].tolist(), strict=True):
                grown[value] = grown.get(value, 0.0) + count
            kept = dict(sorted(grown.items(), key=lambda pair: -abs(pair[1]))[:sparsity])
            rest = measured - self.measure(np.array([*kept], dtype=np.int64), np.array([*kept.values()]))
            found = kept
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


@lru_cache(maxsize=1024)
def _vectors(seed: int, row: int, rank: int, bits: int) -> tuple[int, ...]:
    # So far apart that no row's search for independent vectors runs into the next one's.
    return tuple(independent(seed, row << 20, min(rank + 1, bits), bits))


@dataclass(frozen=True, slots=True)
class Apart:
    """How many measurements the values of a pair shift by 1, `once`, and by 2, `twice`; and the pair's exclusive or.

    A row in which two values have different buckets shifts 2(L+1) measurements by 1. In a row where they share one, the
    measurements that differ are shifted by 2: with equal signs those of the bits that differ, with opposite signs the others.
    """

    once: int
    twice: int
    difference: int

    @property
    def total(self) -> int:
        """The distance of the two columns, in the sum of absolute differences."""
        return self.once + 2 * self.twice

    @property
    def squares(self) -> int:
        """The squared Euclidean distance of the two columns."""
        return self.once + 4 * self.twice


@lru_cache(maxsize=32)
def furthest(matrix: SignedBuckets) -> tuple[tuple[Apart, ...], tuple[Apart, ...]]:
    """Pairs that no other pair beats in both `total` and `twice`, by falling total; and the kinds that may beat them.

    A measurement shifted by 2 tells at least as much as two that are shifted by 1, so one of these pairs is the worst at
    every epsilon. Up to 22 bits all differences are compared; else those of few ones, of few zeros and some others. All that are
    left have w to L - w ones, so that a row shared by the two values shifts at most L + 1 - w measurements by 2.
    """
    if matrix.bits <= ENUMERATED:
        return _unbeaten(matrix, np.arange(1, 1 << matrix.bits)), ()
    weighed, ones = _light_and_heavy(matrix.bits)
    found, positions = _unbeaten(matrix, np.union1d(_tried(matrix), weighed)), matrix.bits + 1
    rest = [Apart(2 * positions * (matrix.rows - n), n * (positions - ones), 0) for n in range(matrix.rows + 1)]
    beyond = tuple(kind for kind in rest if not any(p.total >= kind.total and p.twice >= kind.twice for p in found))
    if len(beyond) > _KINDS:  # a measurement shifted by 2 in place of two that are shifted by 1
        return found, (Apart(0, max(kind.once // 2 + kind.twice for kind in beyond), 0),)
    return found, beyond


def _light_and_heavy(bits: int) -> tuple[NDArray[np.int64], int]:
    """All differences with fewer ones than a number, or fewer zeros; and that number."""
    light, ones = [0], 1
    while len(light) + comb(bits, ones) <= _WEIGHED:
        light += map(sum, combinations([1 << bit for bit in range(bits)], ones))
        ones += 1
    few = np.array(light, dtype=np.int64)
    return np.concatenate([few[1:], few ^ ((1 << bits) - 1)]), ones


def _unbeaten(matrix: SignedBuckets, differences: NDArray[np.int64]) -> tuple[Apart, ...]:
    shared, twice = _shares(matrix, differences)
    most, positions = matrix.rows * matrix.bits + 1, matrix.bits + 1
    kinds, examples = np.unique(shared * most + twice, return_index=True)
    pairs = [
        Apart(2 * positions * (matrix.rows - kind // most), kind % most, int(differences[example]))
        for kind, example in zip(kinds.tolist(), examples.tolist(), strict=True)
    ]
    found: list[Apart] = []
    for pair in sorted(pairs, key=lambda p: (-p.total, -p.twice)):
        if not found or pair.twice > found[-1].twice:
            found.append(pair)
    return tuple(found)


def _shares(matrix: SignedBuckets, differences: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each difference, in how many rows the two share a bucket, and how many measurements are shifted by 2 there."""
    every = len(differences) == (1 << matrix.bits) - 1
    weight = _sums(matrix.bits) if every else (differences[:, None] >> np.arange(matrix.bits) & 1).sum(axis=1)
    shared, twice = np.zeros_like(weight), np.zeros_like(weight)
    for row in range(matrix.rows):
        vectors = matrix.vectors(row)
        image = span([int(images(vectors, 1 << bit)) for bit in range(matrix.bits)])[1:] if every else images(vectors, differences)
        together = image & (matrix.buckets - 1) == 0
        opposite = (image >> (len(vectors) - 1) & 1).astype(np.bool_)
        shared += together
        twice += np.where(together, np.where(opposite, matrix.bits + 1 - weight, weight), 0)
    return shared, twice


def _sums(bits: int) -> NDArray[np.int64]:
    """Weights of all numbers of this many bits but 0."""
    weight = np.zeros(1, dtype=np.int64)
    for _ in range(bits):
        weight = np.concatenate([weight, weight + 1])
    return weight[1:]


def _tried(matrix: SignedBuckets) -> NDArray[np.int64]:
    """Some differences, and for every number of first rows one of many ones that shares buckets and signs in all of them."""
    found = nonzero(matrix.seed, np.arange(_TRIED), matrix.bits).tolist()
    stacked: list[int] = []
    for row in range(matrix.rows):
        stacked += matrix.vectors(row)
        if not (basis := kernel(stacked, matrix.bits)):
            break
        found.append(_heavy(basis, matrix.bits))
    return np.unique(np.array(found, dtype=np.int64))


def _heavy(basis: list[int], bits: int) -> int:
    """A sum of vectors of a basis with many ones; the one with most of them where the basis has up to 22 vectors."""
    places = tuple(sum((vector >> bit & 1) << i for i, vector in enumerate(basis)) for bit in range(bits))
    if len(basis) == 1:
        return basis[0]
    chosen, *_ = heaviest(places, len(basis), 1 << len(basis))
    return int(np.bitwise_xor.reduce([v for i, v in enumerate(basis) if chosen >> i & 1]))
