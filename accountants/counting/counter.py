r"""Privacy loss distribution of one noisy counter, its counts grouped in cells of nearly equal likelihood ratio.

P is Bin(n, gamma) plus a shift, Q is Bin(n - less, gamma). The ratio grows with the count, so cells are ranges of
neighbouring counts, narrower where counts are likely.

- Upper bound: a cell's masses under P and Q are divided between the ratios at its two ends, such that both masses stay.
  This is connect-the-dots discretization: it raises every divergence, by a term of second order in the cell's width.
  Mass beyond the cells counts as infinite-loss mass.
- Lower bound: only the cell of a count is shown, which is post-processing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint

from ldpaudit.accountants.counting.binomial_noise import Shifted
from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.binomial_ranges import masses
from ldpaudit.accountants.pld.distribution import BallPLD
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_bits, working_precision

_NATS = 720.0
"""The cells end at probabilities of e**-720, below the smallest normal float, e**-708."""
_FINE = 48
"""Cells per standard deviation near the mean. With 24 an epsilon of 20 counters at n = 1e6 is known to 2.7e-4 instead
of 1.1e-4, with 96 to 7e-5 in 1.5 times the time."""
_NEAR = 9.0
"""Standard deviations from the mean that count as near. With 4.5 an epsilon of 20 counters at delta = 1e-40 is known to
7e-4 instead of 1.1e-4, with 18 queries take 1.5 times as long."""
_COARSE = 3
"""Cells per standard deviation farther out, for many counters: there a rare view is a little unusual on each. With 1
queries at n = 1e4 and 1e6 have the same width and time, with 12 those at n = 1e4 take 1.7 times as long."""
_DEEP = 24
"""The same for few counters: there a rare view is far from the mean on each. With 3 an epsilon of two counters at delta
= 1e-40 is known to 6e-3 instead of 1.3e-4, with 48 to 5e-5 in twice the time."""
_PRECISION = 144
"""Bits of masses and ratios: those of a lattice's masses, and 56 that differences of tails may cancel. With 288 queries
take 1.6 times as long and have the same width."""
_SHORT = 16
"""Largest shift whose ratio is a product of k factors instead of three logarithms of factorials."""


@dataclass(frozen=True, slots=True)
class NoisyCounter:
    """Bin(n, gamma) + shift against Bin(n - less, gamma)."""

    n: int  # number of users who add noise under P, at least 1
    gamma: Fraction  # in (0, 1)
    shift: int  # from 0 to ``n - less``
    less: int = 0  # by how many fewer users add noise under Q, 0 or 1; `shift` and `less` are not both 0

    @property
    def fewer(self) -> int:
        """Number of users who add noise under Q."""
        return self.n - self.less

    def ratio(self, y: int) -> flint.arb:
        """P(y)/Q(y) for ``shift <= y <= fewer``, where both probabilities are above 0."""
        n, k = self.n, self.shift
        found = ball((1 - self.gamma) * Fraction(n, n - y)) if self.less else flint.arb(1)
        if k > _SHORT:
            return found * Shifted(n, self.gamma, k).log_ratio(y).exp()
        odds = ball((1 - self.gamma) / self.gamma)
        for i in range(k):
            found = found * odds * (y - i) / (n - y + 1 + i)
        return found

    def edges(self, deep: bool = False) -> list[int]:
        """First counts of the cells, and one past the last count."""
        return _edges(self.n, self.gamma, self.shift, self.fewer, self.shift + self.less, deep)

    def masses(self, edges: list[int]) -> tuple[list[flint.arb], list[flint.arb]]:
        """Masses of the cells under P and under Q."""
        plain = masses(self.fewer, self.gamma, edges)
        excess = [self._tail_excess(y) for y in edges]
        return [q + a - b for q, a, b in zip(plain, excess, excess[1:], strict=False)], plain

    def _tail_excess(self, y: int) -> flint.arb:
        """P[count >= y] - Q[count >= y]."""
        found = Shifted(self.n, self.gamma, self.shift).block(y) if self.shift else flint.arb(0)
        return found + ball(self.gamma) * binomial_pmf(self.fewer, self.gamma, y - 1) if self.less else found


@dataclass(frozen=True, slots=True)
class CounterTotal:
    """Bin(n, gamma) against Bin(fewer, gamma): the total of many counters to which a user is added."""

    n: int  # coin tosses under P and under Q, ``n > fewer >= 1``
    gamma: Fraction  # in (0, 1)
    fewer: int
    shift: int = 0

    def ratio(self, y: int) -> flint.arb:
        """P(y)/Q(y), for ``0 <= y <= fewer``."""
        with working_precision(working_bits() + 2 * self.n.bit_length()):
            a, b = self.n, self.fewer
            found = flint.arb(a + 1).lgamma() - flint.arb(a - y + 1).lgamma()
            found -= flint.arb(b + 1).lgamma() - flint.arb(b - y + 1).lgamma()
            return (found + (a - b) * ball(1 - self.gamma).log()).exp()

    def edges(self, deep: bool = False) -> list[int]:
        """First counts of the cells, and one past the last count."""
        drop = math.ceil((self.n - self.fewer) * float(self.gamma))
        return _edges(self.n, self.gamma, 0, self.fewer, drop, deep)

    def masses(self, edges: list[int]) -> tuple[list[flint.arb], list[flint.arb]]:
        """Masses of the cells under P and under Q."""
        return masses(self.n, self.gamma, edges), masses(self.fewer, self.gamma, edges)


@dataclass(frozen=True, slots=True)
class HitCounter:
    """1 + Bin(n, gamma) against Bin(n + 1, gamma): a message that hits among n random ones, or one more of these."""

    n: int  # at least 1
    gamma: Fraction  # in (0, 1)
    shift: int = 1

    @property
    def fewer(self) -> int:
        """Coin tosses under Q: one more."""
        return self.n + 1

    def ratio(self, y: int) -> flint.arb:
        """P(y)/Q(y), the count over its mean under Q."""
        return ball(y / (self.fewer * self.gamma))

    def edges(self, deep: bool = False) -> list[int]:
        """First counts of the cells, from 1 on, and one past the last count."""
        return _edges(self.fewer, self.gamma, 1, self.fewer, 1, deep)

    def masses(self, edges: list[int]) -> tuple[list[flint.arb], list[flint.arb]]:
        """Masses of the cells under P and under Q."""
        return masses(self.n, self.gamma, [edge - 1 for edge in edges]), masses(self.fewer, self.gamma, edges)


AnyCounter: TypeAlias = NoisyCounter | CounterTotal | HitCounter
"""A pair of laws of a count whose likelihood ratio grows with the count."""


def _edges(n: int, gamma: Fraction, least: int, most: int, apart: int, deep: bool) -> list[int]:
    """Edges from `least` to `most`, with narrow cells around the means of both laws, whose distance is `apart`."""
    mean, sigma = n * float(gamma), math.sqrt(n * float(gamma) * float(1 - gamma))
    # Bernstein's exp(-t**2 / 2 (sigma**2 + t/3)) <= exp(-_NATS), solved for t.
    reach = _NATS / 3 + math.sqrt(_NATS * _NATS / 9 + 2 * _NATS * sigma**2) + 1 + apart
    near = _NEAR * sigma + apart
    low, high = max(least, math.floor(mean - reach)), min(most, math.ceil(mean + reach)) + 1
    start, end = max(low, math.floor(mean - near)), min(high, math.ceil(mean + near))
    fine, coarse = max(1, math.floor(sigma / _FINE)), max(1, math.floor(sigma / (_DEEP if deep else _COARSE)))
    return [*range(low, start, coarse), *range(start, end, fine), *range(max(start, end), high, coarse), high]


@dataclass(frozen=True)
class Cells:
    """Cells by increasing likelihood ratio: their masses, the ratios at their ends, and the mass beyond the cells."""

    shifted: tuple[flint.arb, ...]  # masses of the cells under P and under Q
    plain: tuple[flint.arb, ...]
    # the ratio of each cell's first count, then one that is at least that of the last count
    ratios: tuple[flint.arb, ...]
    below: tuple[flint.arb, flint.arb]  # masses under P and under Q below the first cell and above the last one
    above: tuple[flint.arb, flint.arb]
    ends: tuple[bool, bool]  # whether only Q has mass below, and only P above

    def connected(self) -> list[flint.arb]:
        """Connect-the-dots discretization: P-masses at the ratios such that every cell keeps both masses."""
        found = [flint.arb(0)] * len(self.ratios)
        for i, (p, q) in enumerate(zip(self.shifted, self.plain, strict=True)):
            low, high = self.ratios[i], self.ratios[i + 1]
            up = (p - q * low) * high / (high - low)
            found[i + 1] += up
            found[i] += p - up
        return found

    def weighted(self, weights: list[flint.arb], below: flint.arb, above: flint.arb) -> "Cells":
        """Both measures times a weight in each cell, and below and above them."""
        shifted, plain = (tuple(p * w for p, w in zip(law, weights, strict=True)) for law in (self.shifted, self.plain))
        (p, q), (r, s) = self.below, self.above
        return Cells(shifted, plain, self.ratios, (p * below, q * below), (r * above, s * above), self.ends)

    def dominating(self, reversed_pair: bool = False) -> BallPLD:
        """Privacy loss distribution of a pair that dominates the one of these cells, or its reversed pair."""
        pairs, law = list(zip(self.ratios, self.connected(), strict=True)), 1 if reversed_pair else 0
        points = [(-g.log(), p / g) for g, p in pairs] if reversed_pair else [(g.log(), p) for g, p in reversed(pairs)]
        return BallPLD(tuple(points), self.below[law] + self.above[law])


@lru_cache(maxsize=16)
def cells(counter: AnyCounter, deep: bool = False) -> Cells:
    """Masses and ratios of a counter's cells."""
    edges = counter.edges(deep)
    n, fewer, gamma, first, last = counter.n, counter.fewer, counter.gamma, edges[0], edges[-1]
    with working_precision(_PRECISION):
        shifted, plain = counter.masses(edges)
        ratios = [counter.ratio(y) for y in edges[:-1]]
        # A cell of one count needs an end above its ratio.
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
    """Privacy loss distribution of a pair that dominates the counter's pair, or its reversed pair."""
    found = cells(counter, deep)
    with working_precision(_PRECISION):
        return found.dominating(reversed_pair)


@dataclass(frozen=True)
class ShownCells:
    """Cells of a counter: their probabilities under both laws of a pair, and float estimates of their losses."""

    losses: tuple[float, ...]  # float estimates of the cells' losses
    ours: tuple[flint.arb, ...]  # probabilities of the cells under the pair's first and second law
    theirs: tuple[flint.arb, ...]
    infinite: flint.arb  # infinite-loss mass

    @cached
    def pair(self) -> BallPLD:
        """Losses of the pair of laws of which only the cells are shown, less what is left out: no divergence grows by that."""
        with working_precision(_PRECISION):
            points = [((p / q).log(), p) for p, q in zip(self.ours, self.theirs, strict=True)]
            listed = sum(self.ours, self.infinite)
        return BallPLD(tuple(sorted(points, key=lambda point: -float(point[0]))), self.infinite, listed)

    def estimated(self) -> BallPLD:
        """The privacy loss distribution with the estimated losses; it chooses tilt and lattice, and bounds nothing."""
        points = sorted(zip(self.losses, self.ours, strict=True), key=lambda point: -point[0])
        return BallPLD(tuple((flint.arb(loss), mass) for loss, mass in points), self.infinite)


@lru_cache(maxsize=32)
def shown(counter: AnyCounter, reversed_pair: bool = False, deep: bool = False) -> ShownCells:
    """The cells of the counter's pair, or of its reversed pair."""
    found = cells(counter, deep)
    ours, theirs = (found.plain, found.shifted) if reversed_pair else (found.shifted, found.plain)
    beyond, certain = (found.below[1], found.ends[0]) if reversed_pair else (found.above[0], found.ends[1])
    with working_precision(_PRECISION):
        # Cells so improbable that their digits have cancelled are left out of the event.
        known = [(float((p / q).log()), p, q) for p, q in zip(ours, theirs, strict=True) if p > 0 and q > 0]
    left = [cell for cell in known if math.isfinite(cell[0])]  # none may be: then infinite losses alone are shown
    sure, most = tuple(p for _, p, _ in left), tuple(q for _, _, q in left)
    return ShownCells(tuple(loss for loss, _, _ in left), sure, most, beyond if certain else flint.arb(0))


@dataclass(frozen=True, slots=True)
class Remainder:
    r"""The total of many counters to which a user is added is nearly a sufficient statistic; the remainder is certified.

    N counters are Bin(n, gamma) under P and Bin(n - 1, gamma) under Q, and T is their total. With
    :math:`z_i = y_i - n\gamma`, :math:`x_i = z_i / (n(1-\gamma))` and :math:`v_j = (T/(nN - j) - \gamma)/(1 - \gamma)` the
    losses of all and of T are

    .. math:: L = -\sum_{i \le N} \ln(1 - x_i), \qquad L_T = -\sum_{j < N} \ln(1 - v_j),

    and both have the same first-order term :math:`\sum x_i`. The other terms differ by at most eta, except with a
    probability p that Bernstein's inequality bounds, so that
    :math:`\delta(\varepsilon) \le \delta_T(\varepsilon - \eta) + p`, also in composition with other counters.

    Source: Bernstein's inequality, for each count, for their total and for the sum of their squares.
    """

    n: int  # coin tosses per counter under P, at least 2
    gamma: Fraction  # in (0, 1)
    counters: int  # N, at least 1
    reversed_pair: bool = False  # whether the bound is for the reversed pair: counts under Q, and losses of Q against P

    def at(self, nats: float) -> tuple[flint.arb, flint.arb] | None:
        r"""(eta, p): the loss exceeds the total's by at most eta, except with probability p, which is about e**-nats.

        None where the counts may be too far from their means for the series of the logarithms.
        """
        n, size, t = self.n, self.counters, flint.arb(nats)
        coins, gamma = n - self.reversed_pair, ball(self.gamma)
        drop, scale = (n - coins) * gamma, n * (1 - gamma)
        variance = coins * gamma * (1 - gamma)
        # All counts, and their total, around their own means: Bernstein's inequality, both tails.
        count = _bernstein(variance, t + flint.arb(2 * size).log())
        total = _bernstein(size * variance, t) + size * drop
        x = (count + drop) / scale
        v = (total / (n * size) + flint.arb(1) / (n - 1)) / (1 - gamma)
        if not (x < 0.5 and v < 0.5):
            return None
        # Squares: from below for nonnegative terms, from above for terms of at most count**2.
        fourth = (2 * size * (variance + 3 * variance**2) * t).sqrt()
        squares = size * variance + between(-fourth, fourth + count**2 * t / 3)
        squares = (squares + 2 * drop * between(-total, total) + size * drop**2) / scale**2
        squares = squares.max(flint.arb(0))
        cubes = x * squares / (3 * (1 - x))
        drift = (size * n * gamma + between(-total, total)) * (size - 1) / (n * size * (1 - gamma))
        drift *= between(flint.arb(1) / (2 * n), flint.arb(1) / (2 * (n - 1)))
        bent = size * v**2 / (2 * (1 - v))
        rest = squares / 2 - drift + between(-cubes, cubes) - between(0, bent)
        return (-rest if self.reversed_pair else rest).max(flint.arb(0)).upper(), (5 * (-t).exp()).upper()


def _bernstein(variance: flint.arb, nats: flint.arb) -> flint.arb:
    """Distance from 0 that a sum of centred coins of this variance exceeds, each way, with probability <= e**-nats."""
    return nats / 3 + (nats**2 / 9 + 2 * nats * variance).sqrt()
