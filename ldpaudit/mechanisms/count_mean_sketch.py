r"""Count mean sketch: hash the value by one of k public functions, and report the bucket's one-hot vector noisily.

Differential Privacy Team, Apple 2017, "Learning with privacy at scale": CMS reports the whole vector, HCMS one
coefficient of its Hadamard transform. Our hash functions are fixed and public, as theirs are once deployed.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Rows, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.hashing import PRIME, buckets, coefficients, hashed, most_different
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform
from ldpaudit.mechanisms.shared.parameters import integers, odds, probability
from ldpaudit.mechanisms.shared.values import DomainValues
from ldpaudit.profile import Number

DOMAIN = 1 << 12  # default number of values: Apple's emoji are about 2,600
_SEARCH = 1 << 24  # pairs of hash values that are compared to find two values that rarely collide
_BLOCK = 1 << 19  # coins that are drawn at a time: they stay in the processor's cache


class Apart(NamedTuple):
    """Two values that collide least, among those searched."""

    pair: tuple[int, int]
    collisions: Fraction
    """Share of the hash functions that send both to one bucket."""
    certain: bool
    """Whether all pairs of values were searched."""


@dataclass(frozen=True, slots=True)
class Sketch(DomainValues):
    """What the two mechanisms share: values, their buckets, and what is estimated.

    Parameters
    ----------
    hashes : int
        Number of hash functions (k in the source), at least 1.
    domain : int
        Number of values; inputs are ``range(domain)``.
    """

    summed = "matrix"

    width: int
    hashes: int
    p: Fraction
    domain: int = DOMAIN

    def __post_init__(self) -> None:
        integers(self, width=(2, PRIME - 1), hashes=(1, 1 << 24), domain=(2, PRIME))
        probability(self, "p", low=Fraction(1, 2))

    def buckets(self, values: ArrayLike) -> NDArray[np.int64]:
        """Bucket of each value under each hash function, shape ``values.shape + (hashes,)``."""
        return buckets(values, self.hashes, self.width)

    def bucket(self, values: ArrayLike, j: int | NDArray[Any]) -> NDArray[np.int64]:
        """Bucket of each value under hash function j; the arguments broadcast."""
        a, b = coefficients(self.hashes)
        return hashed(values, a[j], b[j], self.width)

    @property
    def apart(self) -> Apart:
        """Two values that the hash functions tell apart best."""
        return _apart(self.width, self.hashes, self.domain)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """What the public hash functions leave of the counts, shape ``(domain,)``.

        A count, plus what the collisions with other users' values add beyond the share 1/width that is expected of
        random functions and taken off: on average over the functions, the count itself.
        """
        values, counts = np.unique(np.asarray(data), return_counts=True)
        every, seen = np.arange(self.domain), np.zeros(self.domain)
        for j in range(self.hashes):
            row = np.bincount(self.bucket(values, j), weights=counts, minlength=self.width)
            seen += row[self.bucket(every, j)]
        return self._debiased(seen / self.hashes, int(counts.sum()))

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Each value's count, shape ``(domain,)``: unbiased over reports and over the hash functions; see `truth`."""
        views = np.asarray(views)
        views = views[np.argsort(views[:, 0], kind="stable")]
        used, starts = np.unique(views[:, 0], return_index=True)
        every, seen = np.arange(self.domain), np.zeros(self.domain)
        for j, group in zip(used.tolist(), np.split(views[:, 1:], starts[1:]), strict=True):
            seen += self._decoded(self._row(group), len(group))[self.bucket(every, j)]
        return self._debiased(seen, len(views))

    @property
    def cells(self) -> int:
        """Numbers in a sum of views: a row for each hash function."""
        return self.hashes * self.width

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        """As `estimate`: how many users have drawn each row does not matter, for it is the sum over all rows that is estimated."""
        every, seen = np.arange(self.domain), np.zeros(self.domain)
        for j, row in enumerate(total.reshape(-1, self.width)):
            seen += self._decoded(row, 0)[self.bucket(every, j)]
        return self._debiased(seen + self._decoded(np.zeros(1), users), users)

    @property
    @abstractmethod
    def noises(self) -> int:
        """How many numbers of a sum are in the estimate of a count."""

    @property
    def weight(self) -> float:
        """Of each of these, but for its sign."""
        return self.width / (self.width - 1) / float(2 * self.p - 1)

    @abstractmethod
    def _row(self, group: NDArray[Any]) -> NDArray[np.float64]:
        """What views with one hash function add to its row of a sum, shape ``(width,)``."""

    @abstractmethod
    def _decoded(self, row: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        """Unbiased number of users in each bucket, shape ``(width,)``, from a row to which this many users add."""

    def _debiased(self, seen: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        """Take off that a share 1/width of the other users is expected in a value's bucket."""
        return (seen - users / self.width) * (self.width / (self.width - 1))


@dataclass(frozen=True, slots=True)
class CountMeanSketch(Sketch):
    """CMS: a uniform hash function j, and the one-hot vector of the value's bucket, its coordinates flipped by coins.

    A view is a row of ``1 + width`` numbers: j, and the coordinates, where 1 stands for +1 and 0 for -1. In a sum of views it is
    the matrix of `hashes` rows in which row j has these ones and zeros, and all other rows are 0. A row's numbers say how often
    each coordinate was 1, and not by how many users: sums of +1 and -1 would tell of that number whether it is even.

    Parameters
    ----------
    width : int
        Number of buckets (m in the source), at least 2.
    p : Fraction
        Probability that a coordinate is not flipped, ``1/2 < p < 1``.

    Examples
    --------
    >>> m = CountMeanSketch(width=3, hashes=2, p=Fraction(3, 4), domain=2)
    >>> bits = [int(bucket == m.buckets(0)[1]) for bucket in range(3)]
    >>> m.law(0).probability((1, *bits))
    Fraction(27, 128)
    """

    title = "count mean sketch"

    @classmethod
    def for_epsilon(cls, epsilon: Number, width: int, hashes: int, domain: int = DOMAIN) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**(epsilon/2) / (1 + e**(epsilon/2))``, rounded down."""
        return cls(width, hashes, odds(epsilon, scale=Fraction(1, 2)), domain)

    @property
    def noises(self) -> int:
        return self.hashes

    @property
    def view_length(self) -> int:
        return 1 + self.width

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.unsignedinteger]:
        """Views, shape ``(size, 1 + width)``, in the smallest unsigned type that holds j."""
        self.require_input(x)
        views = np.empty((size, 1 + self.width), dtype=np.min_scalar_type(self.hashes - 1))
        j = rng.integers(0, self.hashes, size)
        views[:, 0] = j
        rows = max(1, _BLOCK // self.width)
        for start in range(0, size, rows):
            block = views[start : start + rows, 1:]
            block[...] = bernoulli(1 - self.p, block.shape, rng)
        views[np.arange(size), 1 + self.bucket(x, j)] = bernoulli(self.p, size, rng)
        return views

    def law(self, x: int) -> Law:
        self.require_input(x)
        own = self.buckets(x).tolist()

        def probability(view: tuple[int, ...]) -> Fraction:
            j, *bits = view
            kept = sum(bit == (bucket == own[j]) for bucket, bit in enumerate(bits))
            whole: Fraction = self.p**kept * (1 - self.p) ** (self.width - kept)
            return whole / self.hashes

        views = Rows((range(self.hashes), *(range(2),) * self.width))
        return Law(probability, lambda: views, self.hashes << self.width)

    def _row(self, group: NDArray[Any]) -> NDArray[np.float64]:
        ones: NDArray[np.float64] = np.count_nonzero(group, axis=0).astype(np.float64)
        return ones

    def _decoded(self, row: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        return (row - users * float(1 - self.p)) / float(2 * self.p - 1)


@dataclass(frozen=True, slots=True)
class HadamardCountMeanSketch(Sketch):
    """HCMS: a uniform hash function j, and a uniform coefficient l of the bucket's one-hot vector's Hadamard transform.

    The coefficient is +1 or -1 and is reported as it is with probability p. A view is a row ``(j, l, +1 or -1)``; in a sum of views
    it is the matrix of `hashes` rows and `width` columns that is the sign in row j and column l, and 0 elsewhere.

    Parameters
    ----------
    width : int
        Number of buckets (m in the source), a power of two, at least 2.
    p : Fraction
        Probability that the coefficient is not flipped, ``1/2 < p < 1``.

    Examples
    --------
    >>> HadamardCountMeanSketch(width=4, hashes=2, p=Fraction(3, 4)).law(0).probability((0, 0, 1))
    Fraction(3, 32)
    """

    variant = "hadamard"
    title = "Hadamard count mean sketch"

    def __post_init__(self) -> None:
        Sketch.__post_init__(self)
        if self.width & (self.width - 1):
            raise ValueError(f"HadamardCountMeanSketch needs a power of two width, got width={self.width}")

    @classmethod
    def for_epsilon(cls, epsilon: Number, width: int, hashes: int, domain: int = DOMAIN) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**epsilon / (1 + e**epsilon)``, rounded down."""
        return cls(width, hashes, odds(epsilon), domain)

    @property
    def noises(self) -> int:
        return self.cells

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        return 2, Fraction(0)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        self.require_input(x)
        views = np.empty((size, 3), dtype=np.int32)
        j, coefficient = rng.integers(0, self.hashes, size), rng.integers(0, self.width, size)
        negative = self.negative(x, j, coefficient) ^ bernoulli(1 - self.p, size, rng)
        views[:, 0], views[:, 1], views[:, 2] = j, coefficient, np.where(negative, -1, 1)
        return views

    def negative(self, x: int, j: NDArray[Any], coefficient: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether the coefficient of the bucket of `x` under each hash function is -1."""
        return parity(coefficient & self.bucket(x, j))

    def law(self, x: int) -> Law:
        self.require_input(x)
        own, size = self.buckets(x).tolist(), self.hashes * self.width

        def probability(view: tuple[int, int, int]) -> Fraction:
            j, coefficient, sign = view
            truth = (coefficient & own[j]).bit_count() % 2 == (sign < 0)
            kept: Fraction = self.p if truth else 1 - self.p
            return kept / size

        return Law(probability, lambda: Rows((range(self.hashes), range(self.width), range(-1, 2, 2))), 2 * size)

    def _row(self, group: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(group[:, 0], weights=group[:, 1], minlength=self.width).astype(np.float64, copy=False)

    def _decoded(self, row: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        return transform(row) / float(2 * self.p - 1)


@lru_cache(maxsize=64)
def _apart(width: int, hashes: int, domain: int) -> Apart:
    values = 2
    while values < domain and values * (values + 1) // 2 * hashes <= _SEARCH:
        values += 1
    differ, pair = most_different(buckets(np.arange(values), hashes, width))
    return Apart(pair, Fraction(hashes - differ, hashes), values == domain)
