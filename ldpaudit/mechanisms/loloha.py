r"""LOLOHA: hash the value to few, keep a randomized response to each hash value for ever, and report it with fresh noise.

Arcolezi, Pinzon, Palamidessi, Gambs 2023. The hash function is drawn once; a user whose value changes keeps one response for each
hash value that they come to: `Repeat` composes those, and `composition.memoized_answers` has what any change of values costs.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.number import brief
from ldpaudit.mechanism import Law, Rows, Views
from ldpaudit.mechanisms.local_hashing import MERSENNE, LocalHashing, answers
from ldpaudit.mechanisms.shared.independent_bits import binomial_law
from ldpaudit.mechanisms.shared.parameters import half_open, integer, positive, share_of
from ldpaudit.mechanisms.shared.values import DomainValues
from ldpaudit.profile import Number

HALF = Fraction(1, 2)
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
        kept, p, q = self.lifetime(), self.p2, (1 - self.p2) / (self.g - 1)
        chance = kept.law(x).probability

        def probability(view: tuple[int, ...]) -> Fraction:
            a, b, *told = view
            alike = Counter(told)
            likely = (p ** alike[y] * q ** (self.reports - alike[y]) for y in range(self.g))
            return sum((chance((a, b, y)) * told_so for y, told_so in enumerate(likely)), Fraction(0))

        columns = (*kept.columns, *kept.columns[2:] * (self.reports - 1))
        return Law(probability, lambda: Rows(columns), self.prime**2 * self.g**self.reports)

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
