r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of range queries, section 5, as formulas, and what is found.

Logarithms are of base 2 where they count nodes or bits. B0 is the side of a grid of d dimensions, and :math:`B = B_0^d`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims import shuffled_hadamard as oracle_claims
from ldpaudit.accountants.claims.accuracy import Accuracy, zipf
from ldpaudit.accountants.claims.sentence import Printed, Provenance
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.deviations import bernstein
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.shuffling.hidden_message import Chain, HiddenTuple, Seen
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms._ranges import Grid
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.profile import Number

_BOXES = 2_000
"""Boxes of several dimensions whose errors are simulated; in one dimension all ranges are."""
_SKETCHED = 1 << 12
"""Largest grid for which the claims about a sketch are judged: its cells are compared for all values."""


@dataclass(frozen=True)
class Setting:
    """A promise, and the users and the grid for which it is made."""

    epsilon: Fraction  # epsilon in nats, above 0; delta in (0, 1)
    delta: Fraction
    users: int  # n
    side: int  # B0
    dimensions: int = 1  # d
    beta: Fraction = Fraction(1, 10)  # probability with which an error may be exceeded, in (0, 1)

    def __post_init__(self) -> None:
        if not 0 < self.beta < 1:
            raise ValueError(f"Setting needs 0 < beta < 1, got beta={self.beta}")
        _ = self.mechanism  # refuses the rest

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


def lemmas(s: Setting) -> Iterator[Printed]:
    """Lemmas 5.3 to 5.7: how many nodes there are, hold a value, and add up to a box; counted."""
    g, met = s.grid, (s.tree,)
    log = binary_logarithm(s.side)
    nodes = sum(map(g.size_of, g.levels)) + g.has_root
    yield Printed("GGKPV Lemma 5.3", "nodes that are counted are as many as values", float(g.cells),
                  Enclosure.of(nodes, source="counted by widths"), met, provenance=Provenance.DERIVED)  # fmt: skip
    sizes = Enclosure.of(largest_column(g), source="all values of a coordinate")
    terms = Enclosure.of(g.most_terms, source="the longest row")
    if s.dimensions == 1:
        yield Printed("GGKPV Lemma 5.4", "most nodes that hold a value, 1 + log B", 1 + log, sizes, met,
                      provenance=Provenance.DERIVED)  # fmt: skip
        yield Printed("GGKPV Lemma 5.5", "most nodes that add up to a range, 2 log B", 2 * log, terms, met,
                      provenance=Provenance.DERIVED)  # fmt: skip
    else:
        most = (1 + log) ** s.dimensions
        yield Printed("GGKPV Lemma 5.6", "most nodes that hold a value, (1 + log B0)^d", most, sizes, met,
                      provenance=Provenance.DERIVED)  # fmt: skip
        yield Printed("GGKPV Lemma 5.7", "most nodes that add up to a box, (2 log B0)^d", (2 * log) ** s.dimensions, terms, met,
                      provenance=Provenance.DERIVED)  # fmt: skip


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


def theorem_5_1(s: Setting) -> Printed:
    """Range queries are as private as the oracle with k elements: what is certified of one, beside the other."""
    m = s.mechanism
    oracle = Chain(HiddenTuple(m.users * m.rho, m.hit, Seen.ALL, "one element"), m.k, "k elements one by one")
    return Printed(
        "GGKPV Theorem 5.1", f"epsilon at delta={float(s.delta):g}, at most the oracle's with k={m.k}",
        oracle.epsilon(s.delta).high, account(m).epsilon(s.delta), (s.tree,), provenance=Provenance.DERIVED,
        reading="the oracle's epsilon is what its paper's chain of k elements certifies",
    )  # fmt: skip


def node_error(m: RangeQueries | HadamardRangeQueries, beta: Number) -> Enclosure:
    r"""The error that no node's estimate exceeds, except with probability beta: Bernstein's inequality, in users.

    .. math:: \alpha = \frac{l/3 + \sqrt{l^2/9 + 2 v l}}{1 - p}, \qquad v = (\rho + k)\, n\, p, \quad l = \ln\frac{2B}{\beta}

    with one element for k where every width has its oracle. Source: Bernstein's inequality.
    """
    sent = m.rho + (m.k if isinstance(m, HadamardRangeQueries) else 1)

    def error() -> flint.arb:
        nats = ball(2 * m.grid.cells / Fraction(beta)).log()
        hits = ball(sent * m.users * m.hit)
        return (nats / 3 + (nats * nats / 9 + 2 * hits * nats).sqrt()) / (1 - ball(m.hit))

    return narrow(error, "Bernstein", Rigour.INTERVAL)


def box_error(m: RangeQueries | HadamardRangeQueries, beta: Number) -> Enclosure:
    """The error that no box exceeds, except with probability beta: as many nodes as a box has at most. Theorem 5.2."""
    most = Fraction(m.grid.most_terms)
    return narrow(lambda: ball(most * Fraction(node_error(m, beta).high)), "nodes of a box", Rigour.INTERVAL)


def all_boxes_error(m: RangeQueries, beta: Number) -> Enclosure:
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

    def error() -> flint.arb:
        nats = ball(2 * boxes / Fraction(beta)).log()
        variance = ball((m.rho + most) * m.users * m.hit * g.most_terms)
        return most * bernstein(variance / most**2, nats) / (1 - ball(m.hit))

    return narrow(error, "Bernstein", Rigour.INTERVAL)


def theorem_5_2(s: Setting) -> tuple[Printed, ...]:
    """The error of a box is at most the error of a node times the l1 norm of its row; and that error at beta."""
    t = oracle_claims.reach(s.oracle.mechanism, s.beta, s.grid.cells)
    once = oracle_claims.failure(s.oracle.mechanism, t.low)
    every = Enclosure.of(0, Fraction(once.high) * s.grid.cells, rigour=Rigour.INTERVAL, source="each of the nodes alone")
    most = t.high * s.grid.most_terms
    return (
        Printed("GGKPV Theorem 5.2", f"probability that any box is off by more than {most:.6g}", float(s.beta),
                every.clamp(0.0, 1.0), (*s.oracle.hypotheses[:1], s.tree), attained=False, provenance=Provenance.DERIVED),
    )  # fmt: skip


def theorem_5_9(s: Setting) -> Iterator[Printed]:
    """Algorithm 1 for all nodes: privacy, and messages of a user."""
    m, where, met = s.mechanism, "GGKPV Theorem 5.9", (*s.oracle.hypotheses, s.tree)
    yield Printed(where, f"epsilon at delta={float(s.delta):g}, another value of one user", float(s.epsilon),
                  account(m).epsilon(s.delta), met, provenance=Provenance.MEMORY)  # fmt: skip
    sent = oracle_claims.lemma_4_6(s.oracle)[0].claimed
    yield Printed(where, "messages of a user", sent, Enclosure.of(m.k + m.rho, source="k + rho"), (s.tree,),
                  provenance=Provenance.MEMORY)  # fmt: skip


def theorem_5_10(s: Setting) -> Iterator[Printed]:
    """Algorithm 2 for all nodes: privacy."""
    if (m := s.sketch) is None:
        return
    met = (Hypothesis("gamma <= 1/2", m.gamma <= Fraction(1, 2)), Hypothesis("0 <= epsilon <= 1", s.epsilon <= 1), s.tree)
    yield Printed("GGKPV Theorem 5.10", f"epsilon at delta={float(s.delta):g}, another value of one user", float(s.epsilon),
                  account(m).epsilon(s.delta), met, provenance=Provenance.MEMORY)  # fmt: skip


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every statement about range queries."""
    return *lemmas(s), theorem_5_1(s), *theorem_5_2(s), *theorem_5_9(s), *theorem_5_10(s)


def examples() -> tuple[Setting, ...]:
    """A line, a plane, few values and many users, for a sketch; and a side that is no power of two."""
    promise = Fraction(1), Fraction(1, 10**6)
    return (
        Setting(*promise, 1 << 20, 1 << 10),
        Setting(*promise, 1 << 16, 1 << 3, 2),
        Setting(*promise, 1 << 24, 1 << 4),
        Setting(*promise, 1 << 16, 100),
    )


def simulated() -> tuple[Setting, ...]:
    """The examples but the third, of 16 million users."""
    line, plane, _, odd = examples()
    return line, plane, odd


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """Theorem 5.2 over Theorem 5.9's oracle: the largest error of all ranges, or of random boxes."""
    m, g = s.mechanism, s.grid
    most = oracle_claims.reach(s.oracle.mechanism, s.beta, g.cells).low * (2 * math.log2(s.side)) ** s.dimensions

    def data(rng: np.random.Generator) -> NDArray[np.int64]:
        return zipf(s.users, g.cells, rng)

    def error(values: NDArray[np.int64], found: NDArray[np.float64]) -> float:
        off = found - g.held(values)
        if s.dimensions > 1:
            return float(np.abs(g.totals(off, _some_boxes(g))).max())
        prefixes = g.totals(off, np.stack([np.zeros(s.side, dtype=np.int64), np.arange(s.side)], axis=1)[:, None, :])
        return float(max(prefixes.max(), 0.0) - min(prefixes.min(), 0.0))

    kind = "all ranges" if s.dimensions == 1 else f"{_BOXES} boxes"
    sentence = f"{kind}, n = {s.users}, side {s.side}, d = {s.dimensions}, k = {m.k}, Zipf; in users"
    return (Accuracy("GGKPV Theorem 5.9", sentence, most, float(s.beta), data, error),)


def _some_boxes(g: Grid) -> NDArray[np.int64]:
    """Boxes whose ends are spread over the grid, always the same."""
    ends = np.random.default_rng(0).integers(0, g.side, (_BOXES, g.dimensions, 2))
    return np.sort(ends, axis=2)
