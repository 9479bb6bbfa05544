r"""One bit a number, and a few bits a histogram: Microsoft's 1BitMean and dBitFlip.

Ding, Kulkarni, Yekhanin 2017.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Mechanism, Rows, Views, require_counts
from ldpaudit.mechanisms.shared.coins import bernoulli, chunks, uniform_subset
from ldpaudit.mechanisms.shared.independent_bits import binomial_law, reported
from ldpaudit.mechanisms.shared.parameters import exact, half_open, integer, odds, probability
from ldpaudit.mechanisms.shared.values import BitVector, CountedEstimate, DrawnAtOnce, LinearEstimate
from ldpaudit.profile import Number

_BLOCK = 1 << 24  # numbers of views that are held at a time


@dataclass(frozen=True, slots=True)
class OneBitMean(LinearEstimate):
    """A number in [0, 1], rounded at random to one bit that is kept for ever and reported with fresh flips.

    The kept bit is 1 with probability ``low + x (high - low)``; each of the `reports` collections shows it flipped with
    probability `gamma`. A view is how many of the reports are 1, which is all that they tell.

    Parameters
    ----------
    low, high : Fraction
        Probability of a 1 for the inputs 0 and 1, ``0 < low < high < 1``.
    gamma : Fraction
        Probability of a flip at each collection, ``0 <= gamma < 1/2``.
    reports : int
        Number of collections that are seen, at least 1.

    Examples
    --------
    >>> m = OneBitMean(Fraction(1, 4), Fraction(3, 4))
    >>> m.law(Fraction(1, 2)).probability(1), m.law(0.75).probability(1)
    (Fraction(1, 2), Fraction(5, 8))
    """

    title = "1BitMean"

    low: Fraction
    high: Fraction
    gamma: Fraction = Fraction(0)
    reports: int = 1

    def __post_init__(self) -> None:
        probability(self, "low", high=probability(self, "high"))
        half_open(self, "gamma", 0, "0 <= gamma < 1/2", below=Fraction(1, 2))
        integer(self, "reports", 1)

    @classmethod
    def for_epsilon(cls, epsilon: Number, gamma: Number = Fraction(0), reports: int = 1) -> Self:
        """The kept bit is epsilon-LDP: ``high = 1 - low = e**epsilon / (e**epsilon + 1)``, rounded down."""
        high = odds(epsilon)
        return cls(1 - high, high, exact(gamma), reports)

    def lifetime(self) -> Self:
        """Reports without end: the kept bit itself."""
        return type(self)(self.low, self.high)

    @property
    def inputs(self) -> tuple[int, Fraction, int]:
        """The ends, which are the hardest to hide, and the middle; any number in [0, 1] is an input."""
        return (0, Fraction(1, 2), 1)

    def require_input(self, x: Number) -> None:
        """Check that `x` is a number in [0, 1]."""
        if isinstance(x, bool) or not isinstance(x, int | float | Fraction) or not 0 <= x <= 1:
            raise ValueError(f"OneBitMean needs an input in [0, 1], got {x!r}")

    def kept(self, x: Number) -> Fraction:
        """Probability that the kept bit is 1."""
        self.require_input(x)
        return self.low + exact(x) * (self.high - self.low)

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        return self.reports, Fraction(0)

    def sample(self, x: Number, size: int, rng: np.random.Generator) -> NDArray[np.unsignedinteger]:
        """Views, shape ``(size,)``, in the smallest unsigned type."""
        return reported(bernoulli(self.kept(x), size, rng), self.reports, 1 - self.gamma, self.gamma, rng)

    def law(self, x: Number) -> Law:
        kept, flips = self.kept(x), binomial_law(self.reports, self.gamma)
        return Law(
            lambda y: kept * flips[self.reports - y] + (1 - kept) * flips[y],
            lambda: range(self.reports + 1),
            self.reports + 1,
        )

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        ones = (total / self.reports - users * float(self.gamma)) / float(1 - 2 * self.gamma)
        return (ones - users * float(self.low)) / float(self.high - self.low)

    run_on_counts = Mechanism.run_on_counts

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimate the sum of the users' numbers, shape ``(users,)``.

        Each is first rounded to 0 or 1, to 1 with its own probability: the law of the report stays the same, to within
        2**-53 of the number, and users with many different numbers are as fast as with two.
        """
        numbers = np.asarray(data, dtype=np.float64)
        if not (numbers.ndim == 1 and numbers.size and np.all((numbers >= 0) & (numbers <= 1))):
            raise ValueError("OneBitMean.run needs one number in [0, 1] per user, and at least one user")
        ones = int(np.count_nonzero(rng.random(len(numbers)) < numbers))
        return self.estimate(np.concatenate([self.sample(1, ones, rng), self.sample(0, len(numbers) - ones, rng)]))

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        return np.array([math.fsum(np.asarray(data, dtype=np.float64))])


class DrawnBits(DrawnAtOnce, CountedEstimate, BitVector):
    """Of a one-hot vector's k bits, `d` are drawn without replacement, and `reports` show each of them, with flips.

    A view is a row of `k` numbers: how many of the reports show a 1, or -1 where the bucket is not drawn, which is seen.

    Parameters
    ----------
    k : int
        Number of buckets, at least 2; inputs are ``range(k)``.
    d : int
        Number of bits that a user reports, from 1 to `k`.
    """

    d: int
    reports: int

    @abstractmethod
    def first(self) -> "DBitFlip":
        """One report."""

    @abstractmethod
    def bit_law(self, bit: int) -> tuple[Fraction, ...]:
        """Probability of each count that the reports show of a drawn bit."""

    def law(self, x: int) -> Law:
        self.require_input(x)
        drawn, tables = Fraction(1, math.comb(self.k, self.d)), (self.bit_law(0), self.bit_law(1))

        def probability(view: tuple[int, ...]) -> Fraction:
            return math.prod((tables[bucket == x][y] for bucket, y in enumerate(view) if y >= 0), start=drawn)

        every = Rows((range(-1, self.reports + 1),) * self.k, lambda rows: (rows >= 0).sum(axis=1) == self.d, self._views)
        return Law(probability, lambda: every, math.comb(self.k, self.d) * (self.reports + 1) ** self.d)

    def _views(self) -> Iterator[tuple[int, ...]]:
        for buckets in combinations(range(self.k), self.d):
            for counts in product(range(self.reports + 1), repeat=self.d):
                shown = dict(zip(buckets, counts, strict=True))
                yield tuple(shown.get(bucket, -1) for bucket in range(self.k))

    def scores(self, one: Fraction, zero: Fraction) -> tuple[dict[Fraction, Fraction], dict[Fraction, Fraction]]:
        """Laws of a sum for a bucket, of a holder and of another user: `one` for each 1 that is shown, and `zero` for each 0."""
        drawn = Fraction(self.d, self.k)
        laws: list[dict[Fraction, Fraction]] = []
        for bit in (1, 0):
            law = {Fraction(0): 1 - drawn}
            for ones, likely in enumerate(self.bit_law(bit)):
                score = one * ones + zero * (self.reports - ones)
                law[score] = law.get(score, Fraction(0)) + drawn * likely
            laws.append(law)
        return laws[0], laws[1]

    def added(self) -> tuple[dict[Fraction, Fraction], dict[Fraction, Fraction]]:
        p = self.first().p
        whole = (2 * p - 1) * Fraction(self.d, self.k) * self.reports
        return self.scores(p / whole, (p - 1) / whole)

    def run_on_counts(self, counts: Mapping[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`, and of the same law: buckets are drawn for each user, but of the bits only how many reports show a 1."""
        require_counts(self, counts)
        drawn = np.zeros((2, self.k), dtype=np.int64)  # by others than the bucket's holders, and by these
        for x, count in counts.items():
            for part in chunks(count, _BLOCK // self.k):
                told = uniform_subset(self.k, self.d, part.stop - part.start, rng).sum(axis=0)
                drawn[0] += told
                drawn[:, x] += [-told[x], told[x]]
        laws = ([*map(float, self.bit_law(bit))] for bit in (0, 1))
        shown = sum(rng.multinomial(users, law) @ np.arange(self.reports + 1) for users, law in zip(drawn, laws, strict=True))
        return self.estimate_from_tally(np.array([shown, drawn.sum(axis=0)]))

    def tally(self, views: Views) -> NDArray[np.int64]:
        """How many reports show a 1 for each bucket, and how many users any bit, shape ``(2, k)``."""
        views = np.asarray(views)
        return np.stack([np.maximum(views, 0).sum(axis=0, dtype=np.int64), np.count_nonzero(views >= 0, axis=0)])

    def estimate_from_tally(self, tally: NDArray[Any]) -> NDArray[np.float64]:
        """Unbiased count of each bucket, shape ``(k,)``."""
        ones, drawn = tally
        p = self.first().p
        counts: NDArray[np.float64] = (ones / self.reports - drawn * float(1 - p)) / float(2 * p - 1)
        return counts * self.k / self.d


@dataclass(frozen=True, slots=True)
class DBitFlip(DrawnBits):
    """Of a one-hot vector's k bits, `d` are drawn without replacement and reported, each truly with probability `p`.

    A view is a row of `k` numbers: the reported bit, or -1 where none is reported. Which bits were drawn is seen.

    Parameters
    ----------
    p : Fraction
        Probability of the truth, ``1/2 < p < 1``.

    Examples
    --------
    >>> DBitFlip(k=3, d=2, p=Fraction(3, 4)).law(0).probability((1, -1, 1))
    Fraction(1, 16)
    """

    variant = "dbitflip"
    title = "dBitFlip"
    reports = 1

    k: int
    d: int
    p: Fraction

    def __post_init__(self) -> None:
        integer(self, "d", 1, integer(self, "k", 2))
        probability(self, "p", low=Fraction(1, 2))

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int, d: int) -> Self:
        """As published: ``p = e**(epsilon/2) / (e**(epsilon/2) + 1)``, rounded down; d = 1 spends half of epsilon."""
        return cls(k, d, odds(epsilon, scale=Fraction(1, 2)))

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
        self.require_input(x)
        views = bernoulli(1 - self.p, (size, self.k), rng).view(np.int8)
        views[:, x] = bernoulli(self.p, size, rng)
        views[~uniform_subset(self.k, self.d, size, rng)] = -1
        return views

    def first(self) -> Self:
        return self

    def bit_law(self, bit: int) -> tuple[Fraction, Fraction]:
        return (1 - self.p, self.p) if bit else (self.p, 1 - self.p)


@dataclass(frozen=True, slots=True)
class PerturbedDBitFlip(DrawnBits):
    """`reports` reports, with fresh flips, of one memoized report of dBitFlip: the output perturbation of its source.

    The buckets are drawn and their bits kept once and for all; each report shows each kept bit flipped with probability `gamma`. A
    view is a row of `k` numbers: how many of the reports show a 1, or -1 where the bucket is not drawn.

    Parameters
    ----------
    p : Fraction
        Probability of a true kept bit, ``1/2 < p < 1``.
    gamma : Fraction
        Probability of a flip in each report, ``0 < gamma < 1/2``.
    reports : int
        Number of reports that are seen, at least 1.

    Examples
    --------
    >>> m = PerturbedDBitFlip(k=3, d=2, p=Fraction(3, 4), gamma=Fraction(1, 4))
    >>> m.first(), m.law(0).probability((1, -1, 0))
    (DBitFlip(k=3, d=2, p=Fraction(5, 8)), Fraction(25, 192))
    """

    variant = "perturbed"
    title = "dBitFlip with output perturbation"

    k: int
    d: int
    p: Fraction
    gamma: Fraction
    reports: int = 1

    def __post_init__(self) -> None:
        _ = self.lifetime()  # refuses the rest
        probability(self, "p", low=Fraction(1, 2))
        probability(self, "gamma", high=Fraction(1, 2))
        integer(self, "reports", 1)

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int, d: int, gamma: Number = Fraction(1, 4), reports: int = 1) -> Self:
        """Any number of reports is epsilon-LDP: the kept bits as `DBitFlip.for_epsilon`."""
        return cls(k, d, DBitFlip.for_epsilon(epsilon, k, d).p, exact(gamma), reports)

    def first(self) -> DBitFlip:
        return DBitFlip(self.k, self.d, self.p * (1 - self.gamma) + (1 - self.p) * self.gamma)

    def lifetime(self) -> DBitFlip:
        """Reports without end: the kept bits themselves."""
        return DBitFlip(self.k, self.d, self.p)

    def bit_law(self, bit: int) -> tuple[Fraction, ...]:
        kept, flips = self.p if bit else 1 - self.p, binomial_law(self.reports, self.gamma)
        return tuple(kept * zeros + (1 - kept) * ones for zeros, ones in zip(flips[::-1], flips, strict=True))

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        kept = self.lifetime().sample(x, size, rng)
        counts = reported(kept > 0, self.reports, 1 - self.gamma, self.gamma, rng)
        return np.where(kept < 0, -1, counts.astype(np.int64))
