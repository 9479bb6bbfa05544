r"""Longitudinal unary encoding: a one-hot vector, a noisy copy of it that is kept, and noisy reports of that copy.

L-SUE is basic RAPPOR (Erlingsson, Pihur, Korolova 2014); L-OSUE keeps an optimized copy and reports it symmetrically (Arcolezi,
Couchot, Al Bouna, Xiao 2022). A user who comes to another value keeps a copy of that too: `Repeat` composes the copies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.rappor import Difference, MemoizedReports
from ldpaudit.mechanisms.shared.coins import held
from ldpaudit.mechanisms.shared.parameters import integer, probability, share_of
from ldpaudit.mechanisms.shared.values import BitVector, DrawnAtOnce
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.profile import Number

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class LongitudinalUnary(DrawnAtOnce, MemoizedReports, BitVector):
    """`reports` reports, with fresh noise, of one memoized unary encoding of a value.

    Bit x is memoized as 1 with probability `p1`, each other one with `q1`. A report shows a memoized 1 as 1 with probability `p2`,
    a memoized 0 with `q2`. A view is a row of `k` counts in ``0..reports``: how often each bit was reported as 1.

    Parameters
    ----------
    p1, q1 : Fraction
        P[memoized 1 | bit 1] and P[memoized 1 | bit 0], ``0 < q1 < p1 < 1``.
    p2, q2 : Fraction
        P[report 1 | memoized 1] and P[report 1 | memoized 0], ``0 < q2 < p2 < 1``.
    reports : int
        Number of reports that are seen, at least 1.
    epsilon : Number
        Of the memoized copy, which any number of reports show at most, in nats.
    share : Number
        Share of it that the first report spends, ``0 < share < 1``; the source writes alpha.

    Examples
    --------
    >>> m = LongitudinalUnary.optimized(2, k=4, share=Fraction(1, 2))  # the first report: epsilon = 1
    >>> m.first() == UnaryEncoding.optimized(1, k=4)
    True
    """

    title = "longitudinal unary encoding"
    core = "rappor"
    calibrated = ("symmetric", "optimized")
    hashes = 1
    """Bits that a value sets."""

    k: int
    p1: Fraction
    q1: Fraction
    p2: Fraction
    q2: Fraction
    reports: int = 1

    def __post_init__(self) -> None:
        integer(self, "k", 2)
        for low, high in (("q1", "p1"), ("q2", "p2")):
            probability(self, low, high=probability(self, high))
        integer(self, "reports", 1)

    @classmethod
    def symmetric(cls, epsilon: Number, k: int, share: Number = HALF) -> Self:
        """L-SUE: the copy and the first report are both symmetric unary encoding."""
        return cls._chained(UnaryEncoding.symmetric(epsilon, k), UnaryEncoding.symmetric(share_of(epsilon, share), k))

    @classmethod
    def optimized(cls, epsilon: Number, k: int, share: Number = HALF) -> Self:
        """L-OSUE: the copy is optimized unary encoding, and so is the first report, after a symmetric second step."""
        return cls._chained(UnaryEncoding.optimized(epsilon, k), UnaryEncoding.optimized(share_of(epsilon, share), k))

    @classmethod
    def _chained(cls, kept: UnaryEncoding, first: UnaryEncoding) -> Self:
        """The symmetric second step that turns a copy's zeros into those of a first report, and ones that are fair or as noisy."""
        p2 = (1 - kept.q - first.q) / (1 - 2 * kept.q)
        return cls(kept.k, kept.p, kept.q, p2, 1 - p2)

    @property
    def bits(self) -> int:
        """One for each value."""
        return self.k

    @property
    def domain(self) -> int:
        """As many values as bits."""
        return self.k

    @property
    def differences(self) -> dict[Difference, tuple[int, int]]:
        """Any two values' vectors differ in a bit of each."""
        return {(1, 1): (0, 1)}

    def signature(self, x: int) -> NDArray[np.bool_]:
        """The one-hot vector of one value, shape ``(k,)``."""
        return np.asarray(np.arange(self.k) == x)

    def kept(self, bit: int) -> Fraction:
        return self.p1 if bit else self.q1

    @property
    def shown(self) -> tuple[Fraction, Fraction]:
        return self.p2, self.q2

    def run_on_counts(self, counts: Mapping[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`: how often bits are kept and shown as 1 is drawn at once, by binomial laws, whose probabilities are floats."""
        present, users = held(self, counts, self.k), sum(counts.values())
        (p1, q1), (p2, q2) = (map(float, each) for each in ((self.p1, self.q1), self.shown))
        kept = rng.binomial(present, p1) + rng.binomial(users - present, q1)
        ones = rng.binomial(self.reports * kept, p2) + rng.binomial(self.reports * (users - kept), q2)
        return self.estimate_from_sum(ones.astype(np.float64), users)

    def first(self) -> UnaryEncoding:
        """One report."""
        p, q = (kept * self.p2 + (1 - kept) * self.q2 for kept in (self.p1, self.q1))
        return UnaryEncoding(self.k, p, q)

    def lifetime(self) -> UnaryEncoding:
        """Reports without end: the memoized copy itself."""
        return UnaryEncoding(self.k, self.p1, self.q1)
