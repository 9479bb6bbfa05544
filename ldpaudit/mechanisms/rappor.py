r"""RAPPOR: a Bloom filter, a noisy copy of it that is kept for ever, and noisy reports of that copy.

Erlingsson, Pihur, Korolova 2014. Their cohorts are public choices of hash functions, made before any value is known:
each cohort is one such mechanism, and none is less private than the bounds here.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.hashing import PRIME, buckets
from ldpaudit.mechanisms.shared.independent_bits import binomial_law, product_law, reported
from ldpaudit.mechanisms.shared.parameters import exact, half_open, integer, integers, odds, probability
from ldpaudit.mechanisms.shared.values import DomainValues, LinearEstimate
from ldpaudit.profile import Number

DOMAIN = 1 << 16  # default number of values
MOST_HASHES = 1 << 10
"""Hash functions of one value: beyond a few the filter is full, and each has coefficients that are kept."""
SEARCHED = 1 << 10  # values among which pairs of different signatures are looked for

Difference = tuple[int, int]  # how many bits are set only in the first of two signatures, and only in the second


class NoisyBits(LinearEstimate):
    """A value's bits, each kept as 1 or 0 by a coin of its own, and what a view shows of these."""

    @abstractmethod
    def signature(self, x: int) -> NDArray[np.bool_]:
        """The bits of one value."""

    @abstractmethod
    def kept(self, bit: int) -> Fraction:
        """Probability that a bit is kept as 1."""

    def permanent(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """What `size` clients with value `x` memoize, a row each."""
        self.require_input(x)
        truth = self.signature(x)
        noisy = bernoulli(self.kept(0), (size, len(truth)), rng)
        noisy[:, truth] = bernoulli(self.kept(1), (size, int(np.count_nonzero(truth))), rng)
        return noisy

    @abstractmethod
    def bit_law(self, bit: int) -> tuple[Fraction, ...]:
        """Probability of what a view shows of a bit."""

    def law(self, x: int) -> Law:
        """Law on rows of a number for each bit: those of different bits are independent."""
        self.require_input(x)
        tables = self.bit_law(0), self.bit_law(1)
        return product_law([tables[bit] for bit in self.signature(x).tolist()])


class MemoizedReports(NoisyBits):
    """`reports` reports with fresh noise of what is kept for one value; a view counts how often each bit was reported as 1."""

    reports: int

    @property
    @abstractmethod
    def shown(self) -> tuple[Fraction, Fraction]:
        """P[report 1 | kept 1] and P[report 1 | kept 0]."""

    def bit_law(self, bit: int) -> tuple[Fraction, ...]:
        """Probability of each count that the reports show of a bit."""
        kept, (on, off) = self.kept(bit), self.shown
        counts = zip(binomial_law(self.reports, on), binomial_law(self.reports, off), strict=True)
        return tuple(kept * one + (1 - kept) * zero for one, zero in counts)

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        return self.reports, Fraction(0)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.unsignedinteger]:
        """Views, a row of counts each, in the smallest unsigned type."""
        return reported(self.permanent(x, size, rng), self.reports, *self.shown, rng)

    def added(self) -> tuple[dict[Fraction, Fraction], dict[Fraction, Fraction]]:
        one, zero = (sum((y * p for y, p in enumerate(self.bit_law(bit))), Fraction(0)) for bit in (1, 0))
        holder, other = ({(y - zero) / (one - zero): p for y, p in enumerate(self.bit_law(bit))} for bit in (1, 0))
        return holder, other

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        """Unbiased count of the users whose value sets each bit."""
        on, off = self.shown
        one, zero = (kept * on + (1 - kept) * off for kept in (self.kept(1), self.kept(0)))
        return (total / self.reports - users * float(zero)) / float(one - zero)


class _BloomFilter(NoisyBits, DomainValues):
    """What the two mechanisms share: values, and the bits that these set.

    Parameters
    ----------
    bits : int
        Size of the filter, at least 2.
    hashes : int
        Hash functions, at least 1; they may send a value to one bit twice.
    domain : int
        Number of values; inputs are ``range(domain)``.
    """

    counts_users = True

    bits: int
    hashes: int
    f: Fraction
    domain: int

    def __post_init__(self) -> None:
        integers(self, bits=(2, PRIME - 1), hashes=(1, MOST_HASHES), domain=(2, PRIME))
        half_open(self, "f", 0, "0 <= f < 1")

    @property
    def view_length(self) -> int:
        return self.bits

    def signature(self, x: int) -> NDArray[np.bool_]:
        """The Bloom filter of one value, shape ``(bits,)``."""
        return np.asarray(_signatures(np.array([x]), self.bits, self.hashes)[0])

    @property
    def differences(self) -> dict[Difference, tuple[int, int]]:
        """Every largest way in which two signatures differ, among the first 1,024 values, and two values that do."""
        return _differences(self.bits, self.hashes, min(self.domain, SEARCHED))

    def kept(self, bit: int) -> Fraction:
        return 1 - self.f / 2 if bit else self.f / 2

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """How many users' signatures set each bit, shape ``(bits,)``."""
        values, counts = np.unique(np.asarray(data), return_counts=True)
        return counts.astype(np.float64) @ _signatures(values, self.bits, self.hashes).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Rappor(MemoizedReports, _BloomFilter):
    """`reports` instantaneous reports of one memoized permanent response to a value's Bloom filter.

    Each of the filter's bits is memoized as 1 or as 0 with probability f/2 each, else as it is. A report shows a
    memoized 1 as 1 with probability `q` and a memoized 0 as 1 with probability `p`, by fresh coins. A view is a row of
    `bits` counts in ``0..reports``: how often each bit was reported as 1, which is all that the reports tell.

    Parameters
    ----------
    f : Fraction
        Probability of noise in the permanent response, ``0 <= f < 1``; 0 is one-time RAPPOR.
    p, q : Fraction
        P[report 1 | memoized 0] and P[report 1 | memoized 1], ``0 < p < q < 1``.
    reports : int
        Number of reports that are seen, at least 1.

    Examples
    --------
    >>> m = Rappor(bits=32, hashes=2, f=Fraction(1, 2), p=Fraction(1, 4), q=Fraction(3, 4))
    >>> m.bit_law(1)
    (Fraction(3, 8), Fraction(5, 8))
    """

    title = "RAPPOR"

    bits: int
    hashes: int
    f: Fraction
    p: Fraction
    q: Fraction
    reports: int = 1
    domain: int = DOMAIN

    def __post_init__(self) -> None:
        _BloomFilter.__post_init__(self)
        probability(self, "p", high=probability(self, "q"))
        integer(self, "reports", 1)

    @classmethod
    def for_epsilon(cls, epsilon: Number, bits: int, hashes: int, f: Number = Fraction(1, 2), domain: int = DOMAIN) -> Self:
        """One report is epsilon-LDP; ``p = 1 - q``, and q is the largest, rounded down."""
        kept = PermanentRappor(bits, hashes, exact(f), domain)
        signal = odds(epsilon, scale=Fraction(1, 2 * hashes)) - Fraction(1, 2)
        q = Fraction(1, 2) + signal / (1 - kept.f)
        return cls(bits, hashes, kept.f, 1 - q, q, 1, domain)

    def lifetime(self) -> PermanentRappor:
        """Reports without end: the permanent response itself."""
        return PermanentRappor(self.bits, self.hashes, self.f, self.domain)

    @property
    def shown(self) -> tuple[Fraction, Fraction]:
        return self.q, self.p


@dataclass(frozen=True, slots=True)
class PermanentRappor(_BloomFilter):
    """The permanent response of RAPPOR: what any number of its reports can show at most.

    A view is a row of `bits` bits.

    Parameters
    ----------
    f : Fraction
        Probability of noise in the permanent response, ``0 <= f < 1``; with ``f = 0`` the filter itself is shown.

    Examples
    --------
    >>> PermanentRappor(bits=32, hashes=2, f=Fraction(1, 2)).bit_law(0)
    (Fraction(3, 4), Fraction(1, 4))
    """

    variant = "permanent"
    title = "RAPPOR, the permanent response"

    bits: int
    hashes: int
    f: Fraction
    domain: int = DOMAIN

    @classmethod
    def for_epsilon(cls, epsilon: Number, bits: int, hashes: int, domain: int = DOMAIN) -> Self:
        """The most accurate one that is epsilon-LDP: ``f = 2 / (1 + e**(epsilon / (2 hashes)))``, rounded up."""
        share = Fraction(1, 2 * max(hashes, 1))  # the constructor refuses what is below 1
        return cls(bits, hashes, 2 - 2 * odds(epsilon, scale=share), domain)

    def lifetime(self) -> PermanentRappor:
        """Itself."""
        return self

    def bit_law(self, bit: int) -> tuple[Fraction, ...]:
        """Probability that a bit of the filter is memoized as 0, and as 1."""
        return 1 - self.kept(bit), self.kept(bit)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        return self.permanent(x, size, rng).view(np.uint8)

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        """Unbiased count of the users whose signature sets each bit, shape ``(bits,)``."""
        return (total - users * float(self.f / 2)) / float(1 - self.f)


def _signatures(values: NDArray[np.int64], bits: int, hashes: int) -> NDArray[np.bool_]:
    rows = np.zeros((len(values), bits), dtype=np.bool_)
    np.put_along_axis(rows, buckets(values, hashes, bits), True, axis=1)
    return rows


@lru_cache(maxsize=64)
def _differences(bits: int, hashes: int, values: int) -> dict[Difference, tuple[int, int]]:
    rows = _signatures(np.arange(values), bits, hashes).astype(np.float32)
    only_first = (rows @ (1 - rows).T).astype(np.int64)
    codes = (only_first * (bits + 1) + only_first.T).ravel()
    codes[:: values + 1] = -1  # a value and itself
    where = np.full((hashes + 1) * (bits + 1) + 1, -1)
    where[codes[::-1]] = np.arange(len(codes))[::-1]  # the first of each comes last, and stays
    pairs = {divmod(c, bits + 1): divmod(int(where[c]), values) for c in np.flatnonzero(where[:-1] >= 0).tolist()}
    return {(a, b): pair for (a, b), pair in pairs.items() if not any((c, d) != (a, b) and c >= a and d >= b for c, d in pairs)}
