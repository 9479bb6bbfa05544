r"""The losses of many noisy counters, on a lattice, in integers that are rounded one way.

- From above, a counter's outcomes are gathered in cells, and each cell's masses (A, B) with and without the shift are put on
  the lattice points around its losses, keeping both: a spread of the likelihood ratio. It only makes delta larger, and by a
  term of second order in the width of a cell.
- From below, the event is that the sum of the cells' losses, rounded to the lattice, reaches a threshold, or that a counter
  shows what it cannot without the shift. It is an event, and its two probabilities are exact up to the rounding of integers:
  the rounding of the losses only makes the event less than best.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise

import flint

from ldpaudit.accountants.counting.binomial_noise import Shifted
from ldpaudit.accountants.numerics.balls import ball, ceil, floor
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.binomial_ranges import masses
from ldpaudit.enclosure import round_down, round_up

_CELLS = 32
"""Cells a standard deviation."""
PRECISION, _GUARD = 96, 72
_OUTCOMES = 1 << 16
"""Windows up to this are added up outcome by outcome."""
_FEW = 16
"""Shifts of so many outcomes are added up, and their ratios taken in floats."""
_MARGIN = 2.0**-12
"""Steps of the lattice that the error of a loss in floats may be, to be of use."""
_TINY = 1 << 12
"""Units of mass that are cut off at each end of a law."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Neighbouring outcomes of one counter: from where to where, and their probabilities with and without the shift."""

    start: int
    end: int
    shifted: flint.arb
    plain: flint.arb


@lru_cache(maxsize=32)
def _cells(law: Shifted, nats: int) -> tuple[tuple[Cell, ...], flint.arb, flint.arb]:
    """Cells of the outcomes that count, and the shifted law's mass below and above them."""
    reach = nats / 3 + math.sqrt(nats * nats / 9 + 2 * nats * law.sigma**2) + 1
    mean = law.n * float(law.gamma)
    low, high = max(law.k, math.floor(mean - reach)), min(law.n + 1, math.ceil(mean + reach) + law.k)
    width = max(1, math.floor(law.sigma / _CELLS))
    edges = [*range(low, high, width), high]
    # Every cell's mass is relative to its own size, however deep.
    with flint.ctx.workprec(PRECISION):
        plain, blocks = _masses(law, edges)
        # P[X + k >= y] = P[X >= y] + P[y - k <= X < y]
        cells = tuple(
            Cell(a, b, p + (s - t), p)
            for a, b, p, s, t in zip(edges, edges[1:], plain, blocks, blocks[1:], strict=False)
        )
        return cells, 1 - law.upper(low) - blocks[0], law.upper(high) + blocks[-1]


def _masses(law: Shifted, edges: list[int]) -> tuple[list[flint.arb], list[flint.arb]]:
    """P[a <= X < b] for neighbouring edges and P[y - k <= X < y] for each; where outcomes are few they are added up."""
    first, last, k = edges[0], edges[-1], law.k
    if last - first > _OUTCOMES:
        return masses(law.n, law.gamma, edges), [law.block(y) for y in edges]
    odds = ball((1 - law.gamma) / law.gamma)
    # Probabilities of last - 1, last - 2, ...: as far as the first edge's block.
    terms = [binomial_pmf(law.n, law.gamma, last - 1)]
    for y in range(last - 1, first - k, -1):
        terms.append(terms[-1] * odds * y / (law.n - y + 1))
    plain = [sum(terms[last - b : last - a], flint.arb(0)) for a, b in pairwise(edges)]
    if k > _FEW:
        return plain, [law.block(y) for y in edges]
    return plain, [sum(terms[last - y : last - y + k], flint.arb(0)) for y in edges]


def _bits(nats: int) -> int:
    return math.ceil(nats / math.log(2)) + _GUARD


@dataclass(frozen=True, slots=True)
class Masses:
    """Integer masses in units of ``2**-bits``, all rounded up or all down.

    Parameters
    ----------
    first : int
        Lattice index of the first.
    values : flint.fmpz_poly
        Masses.
    beyond : int
        Mass above every index; none where masses are rounded down.
    """

    first: int
    values: flint.fmpz_poly
    beyond: int

    @classmethod
    def of(cls, first: int, masses: Sequence[int | flint.fmpz], beyond: int, up: bool) -> Masses:
        """Cut off what is tiny at the ends: upwards where masses are rounded up, else for good."""
        low, high, left, right = 0, len(masses), 0, 0
        while low < high - 1 and left + masses[low] < _TINY:
            left, low = left + int(masses[low]), low + 1
        while low < high - 1 and right + masses[high - 1] < _TINY:
            right, high = right + int(masses[high - 1]), high - 1
        kept = list(masses[low:high])
        if up:
            kept[0] += left
        return cls(first + low, flint.fmpz_poly(kept), beyond + right if up else 0)

    @classmethod
    def gathered(cls, found: dict[int, int], beyond: int, up: bool) -> Masses:
        """From masses by index."""
        first = min(found)
        return cls.of(first, [found.get(i, 0) for i in range(first, max(found) + 1)], beyond, up)

    def times(self, other: Masses, bits: int, up: bool) -> Masses:
        """The law of the sum."""
        unit, product = 1 << bits, self.values * other.values
        # Division of a polynomial by an integer rounds down.
        rounded = -(-product // unit) if up else product // unit
        wholes = [int(each.values(1)) + each.beyond for each in (self, other)]
        beyond = -(-(self.beyond * wholes[1] + other.beyond * wholes[0]) // unit)
        return Masses.of(self.first + other.first, rounded.coeffs(), beyond, up)

    def power(self, times: int, bits: int, up: bool) -> Masses:
        """The law of the sum of so many."""
        if times == 1:
            return self
        half = self.power(times // 2, bits, up)
        whole = half.times(half, bits, up)
        return whole.times(self, bits, up) if times % 2 else whole

    def tail_sums(self) -> list[int]:
        """Mass from every index on, `beyond` included."""
        return list(accumulate((int(c) for c in reversed(self.values.coeffs())), initial=self.beyond))[:0:-1]


def _product(parts: list[tuple[Masses, int]], bits: int, up: bool) -> Masses:
    # As many up as down: the product of the two is raised, not each of them.
    common = math.gcd(*(times for _, times in parts))
    powers = [one.power(times // common, bits, up) for one, times in parts]
    whole = powers[0]
    for each in powers[1:]:
        whole = whole.times(each, bits, up)
    return whole.power(common, bits, up)


def _scaled(value: flint.arb, bits: int, up: bool) -> int:
    """The mass in units of ``2**-bits``, rounded to the stated side."""
    scaled = value * flint.arb(2) ** bits
    end = scaled.upper().ceil() if up else scaled.lower().floor()
    return max(0, int(end.fmpz()))


def _spread(law: Shifted, step: flint.arb, nats: int) -> Masses:
    """The pessimistic law of a counter's loss under P."""
    cells, below, above = _cells(law, nats)
    bits, found, place = _bits(nats), Counter[int](), _placing(law, step)
    for cell in cells:
        low = place(cell.start)[0]
        high = max(low + 1, place(cell.end - 1)[1])
        near, far = (step * -low).exp(), (step * -high).exp()
        up = (cell.shifted * near - cell.plain) / (near - far)
        whole = _scaled(cell.shifted, bits, True)
        found[high] += min(whole, _scaled(up, bits, True))
        found[low] += max(0, whole - _scaled(up, bits, False))
    lowest = place(cells[0].start)[1]
    found[lowest] += _scaled(below, bits, True)
    return Masses.gathered(found, _scaled(above, bits, True), True)


def _loss(law: Shifted, step: flint.arb) -> tuple[Callable[[int], float], float]:
    """Outcome to about its loss in steps of the lattice, and by how much that may be wrong; infinite where nobody knows."""
    width, odds = float(step), float((1 - law.gamma) / law.gamma)
    if law.k > _FEW:
        return lambda y: float(law.log_ratio(y) / step), math.inf

    def loss(y: int) -> float:
        return math.log(math.prod((odds * (y - i) / (law.n - y + 1 + i) for i in range(law.k)), start=1.0)) / width

    # Four roundings a factor, and those of the logarithm, of the width and of the quotient; losses are below 700 nats.
    return loss, (4 * law.k + 1400) * 2.0**-52 / width


def _placing(law: Shifted, step: flint.arb) -> Callable[[int], tuple[int, int]]:
    """Outcome to the lattice points next to its loss, below and above."""
    loss, error = _loss(law, step)

    def place(y: int) -> tuple[int, int]:
        if error < _MARGIN:
            about = loss(y)
            low, high = math.floor(about - error), math.ceil(about + error)
            if high - low == 1:
                return low, high
        exact = law.log_ratio(y) / step
        return floor(exact), ceil(exact)

    return place


def _scores(law: Shifted, step: flint.arb, nats: int) -> tuple[Masses, Masses]:
    """P-mass from below and Q-mass from above of every score: the loss in a cell's middle, rounded to the lattice."""
    bits, sure, most, (loss, _) = _bits(nats), Counter[int](), Counter[int](), _loss(law, step)
    for cell in _cells(law, nats)[0]:
        score = round(loss((cell.start + cell.end - 1) // 2))
        sure[score] += _scaled(cell.shifted, bits, False)
        most[score] += _scaled(cell.plain, bits, True)
    return Masses.gathered(sure, 0, False), Masses.gathered(most, 0, True)


@dataclass(frozen=True)
class Composed:
    """One direction of the vector's pair, on a lattice down to one depth.

    Parameters
    ----------
    parts : tuple of (Shifted, int)
        Counters of a kind, and how many.
    nats : int
        The depth.
    """

    parts: tuple[tuple[Shifted, int], ...]
    nats: int

    @cached_property
    def step(self) -> Fraction:
        """The lattice's, in nats of loss."""
        finest = min(law.k / (max(law.sigma, 1.0) * _CELLS) for law, _ in self.parts)
        return Fraction(finest)

    @cached_property
    def _upper(self) -> tuple[int, list[flint.arb], list[flint.arb], flint.arb]:
        """First index, tail sums of masses and of masses times exp(-loss), the infinite mass."""
        bits = _bits(self.nats)
        with flint.ctx.workprec(bits + _GUARD):
            step, unit = ball(self.step), flint.arb(2) ** -bits
            law = _product([(_spread(each, step, self.nats), times) for each, times in self.parts], bits, True)
            shrink, weight, weights = (-step).exp(), (step * -law.first).exp(), []
            for mass in law.values.coeffs():
                weights.append(weight * mass)
                weight *= shrink
            tilted = [x * unit for x in accumulate(reversed(weights))][::-1]
            return law.first, [x * unit for x in law.tail_sums()], tilted, law.beyond * unit

    @cached_property
    def _lower(self) -> tuple[int, list[int], int, list[int]]:
        """First indices and tail sums of the P-masses and of the Q-masses of scores."""
        bits = _bits(self.nats)
        with flint.ctx.workprec(bits + _GUARD):
            step = ball(self.step)
            pairs = [(_scores(each, step, self.nats), times) for each, times in self.parts]
            sure = _product([(p, times) for (p, _), times in pairs], bits, False)
            most = _product([(q, times) for (_, q), times in pairs], bits, True)
            return sure.first, sure.tail_sums(), most.first, most.tail_sums()

    def high(self, epsilon: Fraction) -> float:
        """An upper bound of delta."""
        first, sums, tilted, infinite = self._upper
        with flint.ctx.workprec(_bits(self.nats) + _GUARD):
            start = max(0, math.floor(epsilon / self.step) + 1 - first)
            if start >= len(sums):
                return round_up(infinite)
            return round_up(sums[start] - ball(epsilon).exp() * tilted[start])

    def low(self, epsilon: Fraction) -> float:
        """A lower bound of delta: the best of the events around the one that would be best without rounding."""
        first_p, p, first_q, q = self._lower
        near = round(epsilon / self.step)
        with flint.ctx.workprec(_bits(self.nats) + _GUARD):
            factor, unit, best = ball(epsilon).exp(), flint.arb(2) ** -_bits(self.nats), flint.arb(0)
            for threshold in range(near - 4, near + 5):
                i, j = max(0, threshold - first_p), max(0, threshold - first_q)
                if i < len(p):
                    best = best.max((p[i] - factor * (q[j] if j < len(q) else q[-1])) * unit)
            return round_down(best + self.escape())

    def escape(self) -> flint.arb:
        """P-mass of the outcomes that Q never shows."""
        inside = flint.arb(0)
        for law, times in self.parts:
            inside += times * (-law.upper(law.n - law.k + 1)).log1p()
        return -inside.expm1()
