r"""Bounds for coordinates that each carry a sum of m Laplace noises, shifted by different distances.

Coordinate p is shifted by :math:`d_p`, and its noise is a sum of m Laplace noises of scale a.

*From above*: such a coordinate is the sum of m coordinates with one noise each, shifted by :math:`d_p/m`. Summing is
post-processing, so its profile is at most that of m Laplace coordinates with :math:`|d_p|/(m a)` scales each. A smaller shift
costs less also beside others, because a Laplace noise is c times another of its kind plus something independent; so shifts
may be rounded up to few different ones.

*From below*: an event that occurs is :math:`\sum_p d_p y_p > t`. The sum's noise is a weighted sum of Laplace noises, whose
tails are certified in `numerics.laplace_sum`. Where the noises are many they are nearly normal and this event is nearly the
best one; but the variance of a Laplace noise is twice the inverse of its Fisher information, so the two bounds stay about the
square root of 2 apart.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.composition.laplace_vector import MANY_GROUPED, LaplaceCoordinates, LaplaceGroups
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.laplace_sum import upper_tail
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, dyadic, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile

_BITS = 192
_GRID = 1.3  # shifts are rounded up to powers of this, times the largest
_PLACES = (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
"""Thresholds that are tried, in standard deviations from the best one of a normal law."""


@dataclass(frozen=True)
class Shifts:
    r"""Distances of two inputs, and the noise."""

    sizes: tuple[int, ...]  # :math:`m |d_p|`, in descending order, those above 0
    terms: int  # m, noises in each coordinate
    scale: Fraction  # b; each noise has scale :math:`a = b/\sqrt m`

    def pure(self) -> flint.arb:
        r"""The largest loss, :math:`\sum_p |d_p|/a`, at the current precision."""
        return ball(Fraction(sum(self.sizes)) / self.scale) / flint.arb(self.terms).sqrt()


@dataclass(frozen=True)
class ProductsProfile(PrivacyProfile):
    """Profile of such coordinates, between its bounds; see the module docstring."""

    pair: Shifts  # of two inputs that occur
    most: Shifts  # at least those of any two inputs, in descending order

    source = "sums of Laplace noises: post-processing from above, one event from below"

    @property
    def above(self) -> PrivacyProfile:
        """Of all noises on their own, of which the sums are post-processing: what compositions are bounded by."""
        return _summands(self.most)

    def delta(self, epsilon: Number) -> Enclosure:
        """From the event's to that of all noises on their own."""
        high, low = self.above.delta(epsilon).high, 0.0
        with working_precision(_BITS):
            factor = ball(Fraction(epsilon)).exp()
            for first, second in (_tails(self.pair, threshold) for threshold in _thresholds(self.pair, float(epsilon))):
                low = max(low, round_down(first - factor * second))
        return Enclosure.met(low, high, Rigour.INTERVAL, self.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`; at delta = 0 the largest loss, which events far out approach."""
        if delta == 0:
            with working_precision(_BITS):
                return Enclosure(round_down(self.pair.pure()), round_up(self.most.pure()), Rigour.INTERVAL, self.source)
        high = self.above.epsilon(delta).high
        return Enclosure(min(_least_epsilon(self.pair, Fraction(delta)), high), high, Rigour.INTERVAL, self.source)


@lru_cache(maxsize=64)
def _summands(shifts: Shifts) -> PrivacyProfile:
    """Profile of every coordinate's noises with an equal share of its shift each, shifts and steps rounded up."""
    source, m = "noises with an equal share of the shift each", shifts.terms
    counts = Counter(_rounded(size, shifts.sizes[0]) for size in shifts.sizes)
    if len(counts) < 2 or len(shifts.sizes) * m < MANY_GROUPED:
        largest = Fraction(max(shifts.sizes, default=1))
        return LaplaceCoordinates(len(shifts.sizes) * m, _step(largest, shifts), source, Rigour.INTERVAL)
    return LaplaceGroups(tuple((m * n, _step(size, shifts)) for size, n in counts.items()), source, Rigour.INTERVAL)


def _rounded(size: int, largest: int) -> Fraction:
    """The least one of the grid's shifts that is at least this one."""
    level = math.floor(math.log(largest / size) / math.log(_GRID) * (1 - 1e-9))
    return max(Fraction(size), Fraction(largest * _GRID**-level))


def _step(size: Fraction, shifts: Shifts) -> Fraction:
    r"""An equal share of a shift in scales, :math:`|d|/(m a)`, rounded up."""
    with working_precision(_BITS):
        step = ball(size / (shifts.terms * shifts.scale)) / flint.arb(shifts.terms).sqrt()
        return dyadic(step.upper())


@lru_cache(maxsize=256)
def _tails(shifts: Shifts, threshold: float) -> tuple[flint.arb, flint.arb]:
    r"""Probabilities of the event on the two inputs, the threshold counted from the first one's mean.

    In units in which :math:`m |d_p|` is an integer c_p: the event is that the sum of :math:`c_p` times the noises of
    coordinate p exceeds the threshold, or that and the distance :math:`\sum_p c_p^2` of the means, over :math:`\sqrt m b`.
    """
    noises = tuple((shifts.terms * n, Fraction(size)) for size, n in Counter(shifts.sizes).items())
    squares = sum(size * size for size in shifts.sizes)
    apart = ball(squares / shifts.scale) / flint.arb(shifts.terms).sqrt()
    first = upper_tail(noises, Fraction(threshold))
    # A smaller distance makes the second probability larger.
    return first, upper_tail(noises, Fraction(threshold) + dyadic(apart.lower()))


def _thresholds(shifts: Shifts, epsilon: float) -> Iterator[float]:
    """About the best thresholds for the event."""
    squares = float(sum(size * size for size in shifts.sizes))
    spread = math.sqrt(2 * shifts.terms * squares)
    if squares:
        apart = squares / (float(shifts.scale) * math.sqrt(shifts.terms))
        best = epsilon * spread**2 / apart - apart / 2
        yield from (best + place * spread for place in _PLACES)


def _least_epsilon(shifts: Shifts, delta: Fraction) -> float:
    """Lower bound of epsilon(delta)."""
    spread = math.sqrt(2 * shifts.terms * float(sum(size * size for size in shifts.sizes)))
    best = 0.0
    with working_precision(_BITS):
        for place in np.linspace(-3, 8, 12).tolist() if spread else ():
            first, second = _tails(shifts, place * spread)
            if first > ball(delta) and second > 0:
                best = max(best, round_down(((first - ball(delta)) / second).log()))
    return best


def sorted_shifts(sums: NDArray[np.int64], domain: int, absent: bool) -> tuple[list[int], list[int]]:
    r"""Shifts of a pair of inputs that occurs, and the largest ones, place by place in descending order, of every pair.

    ``sums``: m times the product of two columns, by the exclusive or of their values; ``domain``: number of values,
    more than half of the vectors; where it is less than all of them, every vector counts for the largest shifts;
    ``absent``: compare with an absent user.
    """
    every = np.arange(len(sums))
    if absent:
        return _descending(sums[:domain]), _descending(sums)
    half = len(sums) // 2
    sorted_all = [np.sort(np.abs(sums - sums[every ^ difference]))[::-1] for difference in every[1:]]
    most = np.max(sorted_all, axis=0)
    difference = 1 + int(np.argmax([float(row.astype(float) @ row.astype(float)) for row in sorted_all]))
    second = 0 if difference < domain else half
    places = every[:domain]
    return _descending(sums[places ^ second ^ difference] - sums[places ^ second]), _descending(most)


def _descending(shifts: NDArray[np.int64]) -> list[int]:
    found = np.sort(np.abs(shifts))[::-1]
    return [int(each) for each in found[found > 0]]
