r"""One noisy counter, its counts gathered in cells of nearly equal likelihood ratio.

P is Bin(n, gamma) plus a shift, Q is Bin(n - less, gamma). The ratio grows with the count, so cells are neighbouring counts,
narrower where they are likely.

- From above, a cell's masses (A, B) go to the ratios at its two ends, such that both stay: a spread of the ratio, which
  raises every divergence, and by a term of second order in the cell's width. What lies beyond the cells counts as an
  infinite loss.
- From below, a cell is shown as a whole, which is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint

from ldpaudit.accountants.counting.binomial_noise import Shifted
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.binomial_ranges import masses
from ldpaudit.accountants.pld.distribution import BallPLD

_NATS = 720.0
"""Depth at which the cells end: the logarithm of the smallest normal float is -708."""
_FINE, _NEAR, _COARSE = 48, 9.0, 3
"""Cells per standard deviation within this number of them from the mean, and farther out: with many counters, a rare view
is one that is a little unusual on each."""
_DEEP = 24
"""Cells per standard deviation farther out, of few counters: a rare view lies far out on each. With 3 cells, an epsilon at
delta = 1e-40 of two counters is known to 6e-3 only, with 24 to 2e-4; with 48, which takes twice the time, to 6e-5."""
_PRECISION = 144
_SHORT = 16
"""Shifts whose ratio is multiplied out."""


@dataclass(frozen=True, slots=True)
class NoisyCounter:
    """Bin(n, gamma) + shift against Bin(n - less, gamma).

    Parameters
    ----------
    n : int
        Coins, at least 1.
    gamma : Fraction
        In (0, 1).
    shift : int
        From 0 to ``n - less``.
    less : int
        Coins that are missing on the other side, 0 or 1; one of `shift` and `less` at least is not 0.
    """

    n: int
    gamma: Fraction
    shift: int
    less: int = 0

    @property
    def fewer(self) -> int:
        """Coins of Q."""
        return self.n - self.less

    def ratio(self, y: int) -> flint.arb:
        """P(y)/Q(y), where both are above 0: for ``shift <= y <= fewer``."""
        n, k = self.n, self.shift
        found = ball((1 - self.gamma) * Fraction(n, n - y)) if self.less else flint.arb(1)
        if k > _SHORT:
            return found * Shifted(n, self.gamma, k).log_ratio(y).exp()
        odds = ball((1 - self.gamma) / self.gamma)
        for i in range(k):
            found = found * odds * (y - i) / (n - y + 1 + i)
        return found

    def edges(self, deep: bool = False) -> list[int]:
        """Where cells begin, and where the last one ends."""
        return _edges(self.n, self.gamma, self.shift, self.fewer, self.shift + self.less, deep)

    def masses(self, edges: list[int]) -> tuple[list[flint.arb], list[flint.arb]]:
        """Of the cells, under P and under Q."""
        plain = masses(self.fewer, self.gamma, edges)
        excess = [self._tail_excess(y) for y in edges]
        return [q + a - b for q, a, b in zip(plain, excess, excess[1:], strict=False)], plain

    def _tail_excess(self, y: int) -> flint.arb:
        """P[>= y] less Q[>= y]."""
        found = Shifted(self.n, self.gamma, self.shift).block(y) if self.shift else flint.arb(0)
        return found + ball(self.gamma) * binomial_pmf(self.fewer, self.gamma, y - 1) if self.less else found


@dataclass(frozen=True, slots=True)
class CounterTotal:
    """Bin(n, gamma) against Bin(fewer, gamma): the total of many counters, each of which has a coin more or not.

    Parameters
    ----------
    n, fewer : int
        Coins, ``n > fewer >= 1``.
    gamma : Fraction
        In (0, 1).
    """

    n: int
    gamma: Fraction
    fewer: int
    shift: int = 0

    def ratio(self, y: int) -> flint.arb:
        """P(y)/Q(y), for ``0 <= y <= fewer``."""
        with flint.ctx.workprec(flint.ctx.prec + 2 * self.n.bit_length()):
            a, b = self.n, self.fewer
            found = flint.arb(a + 1).lgamma() - flint.arb(a - y + 1).lgamma()
            found -= flint.arb(b + 1).lgamma() - flint.arb(b - y + 1).lgamma()
            return (found + (a - b) * ball(1 - self.gamma).log()).exp()

    def edges(self, deep: bool = False) -> list[int]:
        """Where cells begin, and where the last one ends."""
        drop = math.ceil((self.n - self.fewer) * float(self.gamma))
        return _edges(self.n, self.gamma, 0, self.fewer, drop, deep)

    def masses(self, edges: list[int]) -> tuple[list[flint.arb], list[flint.arb]]:
        """Of the cells, under P and under Q."""
        return masses(self.n, self.gamma, edges), masses(self.fewer, self.gamma, edges)


AnyCounter: TypeAlias = NoisyCounter | CounterTotal


def _edges(n: int, gamma: Fraction, least: int, most: int, apart: int, deep: bool) -> list[int]:
    """Edges between two counts, narrow cells about the means of both laws, which are so far apart."""
    mean, sigma = n * float(gamma), math.sqrt(n * float(gamma) * float(1 - gamma))
    # Bernstein's inequality.
    reach = _NATS / 3 + math.sqrt(_NATS * _NATS / 9 + 2 * _NATS * sigma**2) + 1 + apart
    near = _NEAR * sigma + apart
    low, high = max(least, math.floor(mean - reach)), min(most, math.ceil(mean + reach)) + 1
    start, end = max(low, math.floor(mean - near)), min(high, math.ceil(mean + near))
    fine, coarse = max(1, math.floor(sigma / _FINE)), max(1, math.floor(sigma / (_DEEP if deep else _COARSE)))
    return [*range(low, start, coarse), *range(start, end, fine), *range(max(start, end), high, coarse), high]


@dataclass(frozen=True)
class Cells:
    """Cells by increasing ratio: masses of P and Q, ratios at the ends, what lies beyond.

    Parameters
    ----------
    shifted, plain : tuple of flint.arb
        Masses of the cells under P and under Q.
    ratios : tuple of flint.arb
        One more than cells: that of each cell's first count, then one at least that of the last count.
    below, above : (flint.arb, flint.arb)
        Masses under P and under Q below the first cell and above the last one.
    ends : (bool, bool)
        Whether only Q has mass below, and only P above.
    """

    shifted: tuple[flint.arb, ...]
    plain: tuple[flint.arb, ...]
    ratios: tuple[flint.arb, ...]
    below: tuple[flint.arb, flint.arb]
    above: tuple[flint.arb, flint.arb]
    ends: tuple[bool, bool]

    def connected(self) -> list[flint.arb]:
        """P-masses at the ratios that keep both masses of every cell."""
        found = [flint.arb(0)] * len(self.ratios)
        for i, (p, q) in enumerate(zip(self.shifted, self.plain, strict=True)):
            low, high = self.ratios[i], self.ratios[i + 1]
            up = (p - q * low) * high / (high - low)
            found[i + 1] += up
            found[i] += p - up
        return found


@lru_cache(maxsize=16)
def cells(counter: AnyCounter, deep: bool = False) -> Cells:
    """Masses and ratios of a counter's cells."""
    edges = counter.edges(deep)
    n, fewer, gamma, first, last = counter.n, counter.fewer, counter.gamma, edges[0], edges[-1]
    with flint.ctx.workprec(_PRECISION):
        shifted, plain = counter.masses(edges)
        ratios = [counter.ratio(y) for y in edges[:-1]]
        # A cell of one count must not end where it begins.
        ratios.append(counter.ratio(last) if last <= fewer else counter.ratio(last - 1) * (1 + flint.arb(2) ** -20))
        return Cells(
            tuple(shifted),
            tuple(plain),
            tuple(ratios),
            (_lower(n, gamma, first - counter.shift), _lower(fewer, gamma, first)),
            (binomial_upper(n, gamma, last - counter.shift), binomial_upper(fewer, gamma, last)),
            (first == counter.shift, last == fewer + 1),
        )


def _lower(n: int, gamma: Fraction, end: int) -> flint.arb:
    """P[X < end]."""
    return binomial_upper(n, 1 - gamma, n - end + 1)


@lru_cache(maxsize=32)
def dominating(counter: AnyCounter, reversed_pair: bool = False, deep: bool = False) -> BallPLD:
    """The loss of a pair that dominates the counter's pair; of the reversed pair, Q against P, where asked for."""
    found, side = cells(counter, deep), 1 if reversed_pair else 0
    with flint.ctx.workprec(_PRECISION):
        pairs = list(zip(found.ratios, found.connected(), strict=True))
        points = [(-g.log(), p / g) for g, p in pairs] if reversed_pair else [(g.log(), p) for g, p in reversed(pairs)]
        return BallPLD(tuple(points), found.below[side] + found.above[side])


@dataclass(frozen=True)
class ShownCells:
    """What can be told of a counter: cells with float estimates of their losses, and their probabilities under either law.

    Parameters
    ----------
    losses : tuple of float
        About the cells' losses.
    ours, theirs : tuple of flint.arb
        Their probabilities.
    infinite : flint.arb
        Our probability of what the other law never shows.
    """

    losses: tuple[float, ...]
    ours: tuple[flint.arb, ...]
    theirs: tuple[flint.arb, ...]
    infinite: flint.arb

    def estimated(self) -> BallPLD:
        """The losses as if they were the cells': it guides where to look."""
        points = sorted(zip(self.losses, self.ours, strict=True), key=lambda point: -point[0])
        return BallPLD(tuple((flint.arb(loss), mass) for loss, mass in points), self.infinite)


@lru_cache(maxsize=32)
def shown(counter: AnyCounter, reversed_pair: bool = False, deep: bool = False) -> ShownCells:
    """The counter's cells; of the reversed pair, with Q in P's place, where asked for."""
    found = cells(counter, deep)
    ours, theirs = (found.plain, found.shifted) if reversed_pair else (found.shifted, found.plain)
    beyond, certain = (found.below[1], found.ends[0]) if reversed_pair else (found.above[0], found.ends[1])
    with flint.ctx.workprec(_PRECISION):
        # A cell so deep that its digits have cancelled is not looked at.
        known = [(float((p / q).log()), p, q) for p, q in zip(ours, theirs, strict=True) if p > 0 and q > 0]
        losses, sure, most = zip(*(cell for cell in known if math.isfinite(cell[0])), strict=True)
    return ShownCells(losses, sure, most, beyond if certain else flint.arb(0))
