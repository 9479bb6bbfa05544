r"""LOLOHA: hash the value to few, keep a randomized response to each hash value for ever, and report it with fresh noise.

Arcolezi, Pinzon, Palamidessi, Gambs 2023. The hash function is drawn once; a user whose value changes keeps one response for each
hash value that they come to, at most g of them for ever: `LolohaStream`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief
from ldpaudit.mechanism import Law, Rows, Views
from ldpaudit.mechanisms.local_hashing import MERSENNE, LocalHashing, answers
from ldpaudit.mechanisms.memoized_bit import EPOCHS, Stream, StreamMechanism, counted
from ldpaudit.mechanisms.shared.independent_bits import binomial_law
from ldpaudit.mechanisms.shared.parameters import half_open, integer, positive, share_of
from ldpaudit.mechanisms.shared.values import DomainValues
from ldpaudit.neighbours import SAME_PATTERN, USER_LEVEL
from ldpaudit.profile import Number

HALF = Fraction(1, 2)
LISTED = 32  # streams up to which all are listed as inputs
LARGEST = 21  # nats: ``e**21`` is the last below the prime
_TWO, _CLOSE = 1.25, 1e-9  # where the formula for the number of hash values loses its digits


@dataclass(frozen=True, slots=True)
class Loloha(DomainValues):
    """`reports` reports, with fresh noise, of one memoized g-ary response to the hash of a value.

    The memoized response is that of `LocalHashing` with `p1`; a report is it with probability `p2`, else another hash value. A view
    is a row ``(a, b, y_1, ..., y_reports)``: the function is public.

    Parameters
    ----------
    g : int
        Number of hash values, from 2 to `prime`.
    p1 : Fraction
        Probability that the true hash value is memoized, ``1/g <= p1 < 1``.
    p2 : Fraction
        Probability that a report is what is memoized, ``1/g <= p2 < 1``.
    domain : int
        Number of values, from 2 to `prime`; inputs are ``range(domain)``.
    prime : int
        Size of the field of the hash functions, at most 2**31 - 1.
    reports : int
        Number of reports that are seen, at least 1.
    epsilon : Number
        Of the memoized response, which any number of reports of one hash value show at most, in nats.
    share : Number
        Share of it that the first report spends, ``0 < share < 1``; the source writes alpha.

    Examples
    --------
    >>> m = Loloha.binary(2, domain=100, share=Fraction(1, 2))  # the first report: epsilon = 1
    >>> m.first() == LocalHashing.binary(1, domain=100)
    True
    """

    title = "LOLOHA"
    core = "local_hashing"
    calibrated = ("for_epsilon", "binary", "optimal")

    g: int
    p1: Fraction
    p2: Fraction
    domain: int
    prime: int = MERSENNE
    reports: int = 1

    def __post_init__(self) -> None:
        kept = LocalHashing(self.g, self.p1, self.domain, self.prime)  # refuses the rest
        for name in ("g", "domain", "prime"):
            object.__setattr__(self, name, getattr(kept, name))
        object.__setattr__(self, "p1", kept.p)
        half_open(self, "p2", Fraction(1, self.g), "1/g <= p2 < 1", g=self.g)
        integer(self, "reports", 1)

    @classmethod
    def for_epsilon(cls, epsilon: Number, g: int, domain: int, share: Number = HALF) -> Self:
        """The response of epsilon, and a first report of `share` of it, each the most accurate one with `g` hash values."""
        kept, first = (LocalHashing.for_epsilon(each, g, domain) for each in (epsilon, share_of(epsilon, share)))
        return cls(g, kept.p, (first.p - kept.lie) / (kept.p - kept.lie), domain)

    @classmethod
    def binary(cls, epsilon: Number, domain: int, share: Number = HALF) -> Self:
        """BiLOLOHA: two hash values."""
        return cls.for_epsilon(epsilon, 2, domain, share)

    @classmethod
    def optimal(cls, epsilon: Number, domain: int, share: Number = HALF) -> Self:
        """OLOLOHA: the number of hash values that the source gives, which minimizes an approximate variance."""
        if not positive("epsilon", epsilon) <= LARGEST:
            raise ValueError(f"Loloha.optimal needs epsilon <= {LARGEST}, got epsilon={brief(epsilon)}")
        a, b = math.exp(epsilon), math.exp(share_of(epsilon, share))
        if a < _TWO:  # it is below 5/2 for every share
            return cls.binary(epsilon, domain, share)
        if a - b < _CLOSE:  # its limit
            return cls.for_epsilon(epsilon, round(a + 1), domain, share)
        root = a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1
        return cls.for_epsilon(epsilon, max(2, round((1 - a**2 + 6 * (a - b) + math.sqrt(root)) / (6 * (a - b)))), domain, share)

    @property
    def view_length(self) -> int:
        return 2 + self.reports

    def first(self) -> LocalHashing:
        """One report."""
        p = self.p1 * self.p2 + (1 - self.p1) * (1 - self.p2) / (self.g - 1)
        return LocalHashing(self.g, p, self.domain, self.prime)

    def lifetime(self) -> LocalHashing:
        """Reports without end: the memoized response itself."""
        return LocalHashing(self.g, self.p1, self.domain, self.prime)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        kept = self.lifetime().sample(x, size, rng)
        told = answers(np.repeat(kept[:, 2:], self.reports, axis=1), self.g, self.p2, rng)
        return np.concatenate([kept[:, :2], told], axis=1)

    def law(self, x: int) -> Law:
        """Law on rows ``(a, b, y_1, ..., y_reports)``: given what is memoized, reports are independent."""
        self.require_input(x)
        return _law(self, (x,) * self.reports)

    def added(self) -> tuple[dict[Fraction, Fraction], dict[Fraction, Fraction]]:
        first, kept = self.first(), self.lifetime()
        told, untold = (binomial_law(self.reports, p) for p in (self.p2, (1 - self.p2) / (self.g - 1)))
        numbers = [(Fraction(named, self.reports) - first.other) / (first.p - first.other) for named in range(self.reports + 1)]
        laws = ([own * a + (1 - own) * b for a, b in zip(told, untold, strict=True)] for own in (kept.p, kept.other))
        holder, other = (dict(zip(numbers, law, strict=True)) for law in laws)
        return holder, other

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each value, shape ``(domain,)``: the mean of what the reports say, each as `LocalHashing`."""
        views, first = np.asarray(views), self.first()
        parts = [first.estimate(views[:, [0, 1, 2 + report]]) for report in range(self.reports)]
        return np.asarray(np.mean(parts, axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LolohaStream(StreamMechanism):
    """LOLOHA over a stream: one function, a memoized response to each hash value that occurs, and fresh noise in every epoch.

    An input is a whole stream, a value for each epoch; a view is a row ``(a, b, y_1, ..., y_epochs)``. Neighbours are any two
    streams; or, given the function, two whose hash values repeat in the same epochs (values that do may be hashed alike in one
    stream and not in the other).

    Parameters
    ----------
    epochs : int
        T, from 1 to 2**20.
    g, p1, p2, domain, prime, epsilon, share
        As in `Loloha`.

    Examples
    --------
    >>> m = LolohaStream(epochs=2, g=2, p1=Fraction(3, 4), p2=Fraction(2, 3), domain=3, prime=3)
    >>> m.law((0, 0)).probability((1, 0, 0, 0)), m.law((0, 1)).probability((1, 0, 0, 1))
    (Fraction(13, 324), Fraction(49, 1296))
    """

    variant = "stream"
    title = "LOLOHA, a stream"
    core = "local_hashing"
    relations = (USER_LEVEL, SAME_PATTERN)

    epochs: int
    g: int
    p1: Fraction
    p2: Fraction
    domain: int
    prime: int = MERSENNE

    def __post_init__(self) -> None:
        integer(self, "epochs", 1, EPOCHS)
        client = Loloha(self.g, self.p1, self.p2, self.domain, self.prime)  # refuses the rest
        for name in ("g", "p1", "p2", "domain", "prime"):
            object.__setattr__(self, name, getattr(client, name))

    @classmethod
    def for_epsilon(cls, epsilon: Number, g: int, domain: int, epochs: int, share: Number = HALF) -> Self:
        """A client of `Loloha.for_epsilon`."""
        client = Loloha.for_epsilon(epsilon, g, domain, share)
        return cls(epochs, g, client.p1, client.p2, domain)

    @property
    def client(self) -> Loloha:
        """Of one epoch."""
        return Loloha(self.g, self.p1, self.p2, self.domain, self.prime)

    @property
    def inputs(self) -> Sequence[Stream]:
        """All streams, where these are few; else two of one value and two that exchange two values."""
        if self.domain**self.epochs <= LISTED:
            return list(product(range(self.domain), repeat=self.epochs))
        return [tuple((start + step * epoch) % 2 for epoch in range(self.epochs)) for step in (0, 1) for start in (0, 1)]

    @property
    def _values_held(self) -> int:
        return self.domain

    @property
    def view_length(self) -> int:
        return 2 + self.epochs

    def law(self, x: Stream) -> Law:
        """Law on rows ``(a, b, y_1, ..., y_epochs)``: given what is memoized of each hash value, reports are independent."""
        self.require_input(x)
        return _law(self.client, x)

    def _reported(self, streams: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        a, b = rng.integers(0, self.prime, (2, len(streams), 1))
        hashes = self.client.lifetime().hash(a, b, streams)
        # Epochs by their hash values: of those that are equal, the first one's response is kept.
        order = np.argsort(hashes, axis=1, kind="stable")
        ranked = np.take_along_axis(hashes, order, axis=1)
        new = np.diff(ranked, axis=1, prepend=-1) > 0
        first = np.maximum.accumulate(np.where(new, np.arange(self.epochs), 0), axis=1)
        kept = np.empty_like(hashes)
        np.put_along_axis(kept, order, np.take_along_axis(answers(ranked, self.g, self.p1, rng), first, axis=1), axis=1)
        return np.concatenate([a, b, answers(kept, self.g, self.p2, rng)], axis=1)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each value in each epoch, shape ``(epochs, domain)``."""
        views, first = np.asarray(views), self.client.first()
        return np.stack([first.estimate(views[:, [0, 1, 2 + epoch]]) for epoch in range(self.epochs)])

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """How many users hold each value in each epoch, shape ``(epochs, domain)``."""
        return counted(self._streams(data), self.domain)


def _law(m: Loloha, stream: Stream) -> Law:
    """Law on rows ``(a, b, y_1, ...)``, of one memoized response to each hash value of a stream."""
    kept, p, q = m.lifetime(), m.p2, (1 - m.p2) / (m.g - 1)

    def probability(view: tuple[int, ...]) -> Fraction:
        a, b, *told = view
        hashes = [(a * x + b) % m.prime % m.g for x in stream]
        chance = Fraction(1, m.prime**2)
        for held in set(hashes):
            reports = [y for y, each in zip(told, hashes, strict=True) if each == held]
            likely = (p ** reports.count(y) * q ** (len(reports) - reports.count(y)) for y in range(m.g))
            chance *= sum(((kept.p if y == held else kept.lie) * told_so for y, told_so in enumerate(likely)), Fraction(0))
        return chance

    columns = (*kept.columns, *kept.columns[2:] * (len(stream) - 1))
    return Law(probability, lambda: Rows(columns), m.prime**2 * m.g ** len(stream))
