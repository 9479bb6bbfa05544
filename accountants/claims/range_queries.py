r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of range queries, section 5, as formulas, and what is found.

Logarithms are of base 2 where they count nodes or bits. B0 is the side of a grid of d dimensions, and :math:`B = B_0^d`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims import shuffled_hadamard as oracle_claims
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, ShuffledPromise, derived, remembered, union, zipf_data
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.deviations import bernstein
from ldpaudit.accountants.numerics.precision import narrow, narrowed
from ldpaudit.accountants.shuffling.hidden_message import Chain, HiddenTuple, Seen
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.profile import Number

_BOXES = 2_000  # boxes of several dimensions whose errors are simulated; in one dimension all ranges are
_SKETCHED = 1 << 12
"""Largest grid for which the claims about a sketch are judged: its cells are compared for all values."""


@dataclass(frozen=True)
class Setting(ShuffledPromise):
    """A promise, and the grid for which it is made."""

    side: int  # B0
    dimensions: int = 1  # d
    beta: Fraction = Fraction(1, 10)

    @property
    def mechanism(self) -> HadamardRangeQueries:
        """Algorithms 3 and 4 with the parameters of Theorem 5.9."""
        return HadamardRangeQueries.as_printed(self.epsilon, self.delta, self.users, self.side, self.dimensions)

    @property
    def sketch(self) -> CountMinRangeQueries | None:
        """Those of Theorem 5.10; None where its gamma would exceed 1/2, or the grid is large."""
        gamma_for = CountMinRangeQueries.as_printed
        if self.grid.cells > _SKETCHED:
            return None
        try:
            found = gamma_for(self.epsilon, self.delta, self.users, self.side, self.beta, self.dimensions)
        except ValueError:
            return None
        return found if found.gamma <= Fraction(1, 2) else None

    @property
    def grid(self) -> Grid:
        """The values and their nodes."""
        return Grid(self.side, self.dimensions)

    @property
    def oracle(self) -> oracle_claims.Setting:
        """Algorithm 1 for as many elements as a column has."""
        m = self.mechanism
        return oracle_claims.Setting(self.epsilon, self.delta, self.users, m.oracle.domain, m.k, self.beta)

    @property
    def tree(self) -> Hypothesis:
        """Of every statement of section 5."""
        return Hypothesis("B0 is a power of two", not self.side & (self.side - 1))

    @property
    def error(self) -> Enclosure:
        """The printed error of all nodes' estimates together, in users."""
        return oracle_claims.reach(self.oracle.mechanism, self.beta, self.grid.cells)

    @property
    def missed(self) -> Enclosure:
        """Probability that any node's estimate is off by more than that."""
        once = oracle_claims.failure(self.oracle.mechanism, self.error.low)
        return union(once, self.grid.cells, "each of the nodes alone")


def _lemmas(s: Setting) -> Iterator[Printed]:
    """Lemmas 5.3 to 5.7: how many nodes there are, hold a value, and add up to a box; counted."""
    g, met, log, d = s.grid, (s.tree,), binary_logarithm(s.side), s.dimensions
    nodes = Enclosure.of(sum(map(g.size_of, g.levels)) + g.has_root, source="counted by widths")
    yield derived("GGKPV Lemma 5.3", "nodes that are counted are as many as values", float(g.cells), nodes, met)
    sizes = Enclosure.of(largest_column(g), source="all values of a coordinate")
    terms = Enclosure.of(g.most_terms, source="the longest row")
    hold, add = (("GGKPV Lemma 5.4", "1 + log B"), ("GGKPV Lemma 5.5", "a range, 2 log B")) if d == 1 else (
        ("GGKPV Lemma 5.6", "(1 + log B0)^d"), ("GGKPV Lemma 5.7", "a box, (2 log B0)^d"))  # fmt: skip
    yield derived(hold[0], f"most nodes that hold a value, {hold[1]}", (1 + log) ** d, sizes, met)
    yield derived(add[0], f"most nodes that add up to {add[1]}", (2 * log) ** d, terms, met)


def binary_logarithm(side: int) -> float:
    """Exact for a power of two; else an upper end."""
    if not side & (side - 1):
        return float(side.bit_length() - 1)
    return narrow(lambda: ball(Fraction(side)).log() / flint.arb(2).log(), "log2 B0").high


def largest_column(g: Grid) -> int:
    """Most nodes that hold a value, counted for every value of a coordinate."""
    line = Grid(g.side)
    longest = int(line.sizes(np.arange(g.side)).max())
    return int(longest**g.dimensions)


@narrowed("Bernstein", Rigour.INTERVAL)
def node_error(m: RangeQueries | HadamardRangeQueries, beta: Number) -> flint.arb:
    r"""The error that no node's estimate exceeds, except with probability beta: Bernstein's inequality, in users.

    .. math:: \alpha = \frac{l/3 + \sqrt{l^2/9 + 2 v l}}{1 - p}, \qquad v = (\rho + k)\, n\, p, \quad l = \ln\frac{2B}{\beta}

    with one element for k where every width has its oracle. Source: Bernstein's inequality.
    """
    sent = m.rho + (m.k if isinstance(m, HadamardRangeQueries) else 1)
    nats = ball(2 * m.grid.cells / Fraction(beta)).log()
    hits = ball(sent * m.users * m.hit)
    return (nats / 3 + (nats * nats / 9 + 2 * hits * nats).sqrt()) / (1 - ball(m.hit))


def box_error(m: RangeQueries | HadamardRangeQueries, beta: Number) -> Enclosure:
    """The error that no box exceeds, except with probability beta: as many nodes as a box has at most. Theorem 5.2."""
    most = Fraction(m.grid.most_terms)
    return narrow(lambda: ball(most * Fraction(node_error(m, beta).high)), "nodes of a box", Rigour.INTERVAL)


@narrowed("Bernstein", Rigour.INTERVAL)
def all_boxes_error(m: RangeQueries, beta: Number) -> flint.arb:
    r"""The error that no box at all exceeds, except with probability beta: Bernstein's inequality for whole boxes, in users.

    .. math:: \alpha = \frac{b l/3 + \sqrt{b^2 l^2/9 + 2 v l}}{1 - p}, \qquad v = (\rho + b)\, n\, p\, a, \quad
              b = 2^d, \quad l = \ln\frac{2}{\beta} \Bigl(\frac{B_0 (B_0 + 1)}{2}\Bigr)^d

    for boxes of at most a nodes, of which at most b have the same widths. In an oracle of one width a blanket message counts
    for two nodes independently, and for b in all, so that its variance is at most p times the nodes; a user's own message
    has at most b times that. The root of a is what `box_error`, which adds up the nodes' largest errors, loses. Source:
    Bernstein's inequality.
    """
    g, most = m.grid, 1 << m.dimensions
    boxes = (m.side * (m.side + 1) // 2) ** m.dimensions
    nats = ball(2 * boxes / Fraction(beta)).log()
    variance = ball((m.rho + most) * m.users * m.hit * g.most_terms)
    return most * bernstein(variance / most**2, nats) / (1 - ball(m.hit))


def _theorems(s: Setting) -> Iterator[Printed]:
    """Privacy as the oracle's; the error of a box, a node's times the l1 norm of its row; and section 5's two oracles.

    What an oracle with k elements costs is what its paper's chain of k elements certifies.
    """
    m, met, epsilon = s.mechanism, (*s.oracle.hypotheses, s.tree), float(s.epsilon)
    oracle = Chain(HiddenTuple(m.users * m.rho, m.hit, Seen.ALL, "one element"), m.k, "k elements one by one")
    found, another = account(m).epsilon(s.delta), f"{s.at}, another value of one user"
    yield derived("GGKPV Theorem 5.1", f"{s.at}, at most the oracle's with k={m.k}", oracle.epsilon(s.delta).high, found, (s.tree,),
                  reading="the oracle's epsilon is what its paper's chain of k elements certifies")  # fmt: skip
    off = f"probability that any box is off by more than {s.error.high * s.grid.most_terms:.6g}"
    yield derived("GGKPV Theorem 5.2", off, float(s.beta), s.missed, (s.oracle.power, s.tree), attained=False)
    yield remembered("GGKPV Theorem 5.9", another, epsilon, found, met)
    sent = oracle_claims.messages(s.oracle).claimed
    yield remembered("GGKPV Theorem 5.9", "messages of a user", sent, Enclosure.of(m.k + m.rho, source="k + rho"), (s.tree,))
    if (sketch := s.sketch) is not None:
        thin = Hypothesis("gamma <= 1/2", sketch.gamma <= Fraction(1, 2))
        short = Hypothesis("0 <= epsilon <= 1", s.epsilon <= 1)
        yield remembered("GGKPV Theorem 5.10", another, epsilon, account(sketch).epsilon(s.delta), (thin, short, s.tree))


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every statement about range queries."""
    return *_lemmas(s), *_theorems(s)


_PROMISE = Fraction(1), Fraction(1, 10**6)
EXAMPLES = (
    Setting(*_PROMISE, 1 << 20, 1 << 10),
    Setting(*_PROMISE, 1 << 16, 1 << 3, 2),
    Setting(*_PROMISE, 1 << 24, 1 << 4),
    Setting(*_PROMISE, 1 << 16, 100),
)
"""A line, a plane, few values and many users, for a sketch; and a side that is no power of two."""

SIMULATED = EXAMPLES[:2] + EXAMPLES[3:]  # the examples but the third, of 16 million users


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """Theorem 5.2 over Theorem 5.9's oracle: the largest error of all ranges, or of random boxes, always the same."""
    m, g = s.mechanism, s.grid
    most = s.error.low * (2 * math.log2(s.side)) ** s.dimensions

    def error(values: NDArray[np.int64], found: NDArray[np.float64]) -> float:
        off = found - g.held(values)
        if s.dimensions > 1:
            ends = np.random.default_rng(0).integers(0, g.side, (_BOXES, g.dimensions, 2))
            return float(np.abs(g.totals(off, np.sort(ends, axis=2))).max())
        prefixes = g.totals(off, np.stack([np.zeros(s.side, dtype=np.int64), np.arange(s.side)], axis=1)[:, None, :])
        return float(max(prefixes.max(), 0.0) - min(prefixes.min(), 0.0))

    kind = "all ranges" if s.dimensions == 1 else f"{_BOXES} boxes"
    sentence = f"{kind}, n = {s.users}, side {s.side}, d = {s.dimensions}, k = {m.k}, Zipf; in users"
    return (Accuracy("GGKPV Theorem 5.9", sentence, most, float(s.beta), zipf_data(s.users, g.cells), error),)
