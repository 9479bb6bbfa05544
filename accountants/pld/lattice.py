r"""Laws of losses on a lattice, tilted, in integers: convolution without rounding noise.

A law P of losses is held as its tilt :math:`P_\lambda(L) = e^{\lambda L} P(L) / Z`, whose masses near the epsilon of
interest are large, so that absolute errors are relative errors of delta. Masses are integers in units of
``2**-BITS``; a true mass lies between the integer and that plus `error`.

A loss that is no lattice point is *spread* over the two points around it, such that the mean of :math:`y = e^{-L}`
stays. Delta is the mean of :math:`(1 - e^\varepsilon y)_+`, convex in y, so spreading never lowers it, and raises it by
a term of second order, which `hockey_stick` bounds by the variance that spreading adds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, ceil, floor
from ldpaudit.accountants.pld.distribution import Loss

BITS = 88
_WEIGHT_BITS = 128
_LIGHT_BITS = 62
_TRIM = 1 << (BITS - 54)
"""Mass that is dropped, and counted, at each end of a product."""

Point: TypeAlias = tuple[flint.arb, flint.arb]
"""A loss and its tilted mass."""


@dataclass(frozen=True)
class LatticePLD:
    """Tilted masses at the losses ``(start + i) * step``.

    Parameters
    ----------
    step : Loss
        Above 0.
    tilt : Fraction
        Lambda, at least 0.
    start : int
        Index of the first mass.
    masses : flint.fmpz_poly
        In units of ``2**-BITS``.
    error : int
        Each mass is at most so much too small.
    outside : int
        Mass that is not on the lattice, at most; its losses are unknown.
    variance : flint.arb
        Sum, over all times that a loss was spread, of a bound on the variance of ``e**-move``; 0 where none was.
    """

    step: Loss
    tilt: Fraction
    start: int
    masses: flint.fmpz_poly
    error: int
    outside: int
    variance: flint.arb

    def __mul__(self, other: LatticePLD) -> LatticePLD:
        """The law of the sum of two independent losses on the same lattice."""
        product = (self.masses * other.masses) // (1 << BITS)
        ours, theirs = self.most(), other.most()
        error = _scaled(self.error * theirs + other.error * ours) + 1
        outside = _scaled(self.outside * (theirs + other.outside) + other.outside * ours)
        # A polynomial forgets last coefficients that are rounded to 0.
        forgotten = max(0, len(self.masses) + len(other.masses) - 1 - len(product))
        return replace(
            self,
            start=self.start + other.start,
            masses=product,
            error=error,
            outside=outside + forgotten * error,
            variance=self.variance + other.variance,
        ).trimmed()

    def power(self, times: int, most: int | None = None) -> LatticePLD:
        """The law of a sum of `times` equal ones, on a lattice so coarse that at most `most` points are kept."""
        square, result = self, None
        while True:
            if times % 2:
                result = square if result is None else result.on(square.step) * square
            times //= 2
            if not times:
                return self if result is None else result
            square = square * square
            while most is not None and len(square.masses) > most:
                square = square.coarser()

    def most(self) -> int:
        """Total mass on the lattice, at most."""
        return int(self.masses(1)) + self.error * len(self.masses)

    def trimmed(self) -> LatticePLD:
        """The law without its light ends, whose mass goes outside."""
        masses = self.masses.coeffs()
        low, left = _light(masses, self.error)
        high, right = _light(masses[:low:-1], self.error)
        kept = flint.fmpz_poly(masses[low : len(masses) - high])
        forgotten = self.error * (len(masses) - high - low - len(kept))
        return replace(self, start=self.start + low, masses=kept, outside=self.outside + left + right + forgotten)

    def on(self, step: Loss) -> LatticePLD:
        """The law on a lattice whose step is a power of two times this one's."""
        law = self
        while law.step.nats < step.nats:
            law = law.coarser()
        return law

    def coarser(self) -> LatticePLD:
        """The law on a lattice of twice the step: what is at odd points is spread."""
        odd = self.start % 2
        masses = [0] * odd + self.masses.coeffs()
        evens, odds = flint.fmpz_poly(masses[::2]), flint.fmpz_poly(masses[1::2])
        step, tilt = self.step.ball(), ball(self.tilt)
        share = 1 / (1 + (-step).exp())  # upward: share e**-step + (1 - share) e**step = 1
        up, down = share * (tilt * step).exp(), (1 - share) * (-tilt * step).exp()
        moved = (odds * flint.fmpz_poly([_weight(down), _weight(up)])) // (1 << _WEIGHT_BITS)
        grown = 2 + ceil(up + down)
        error = grown * self.error + 3
        return replace(
            self,
            step=Loss(nats=2 * self.step.nats),
            start=(self.start - odd) // 2,
            masses=evens + moved,
            error=error,
            outside=self.outside + 2 * error,  # two last points may have been rounded to 0, and forgotten
            variance=self.variance + step.expm1() * -(-step).expm1(),
        ).trimmed()


def _scaled(value: int) -> int:
    return (value >> BITS) + 1


def _weight(value: flint.arb) -> int:
    """The value in units of ``2**-_WEIGHT_BITS``, rounded down."""
    return floor(value * flint.arb(2) ** _WEIGHT_BITS)


def _light(masses: Sequence[flint.fmpz], error: int) -> tuple[int, int]:
    """How many of the first masses are together light, and their sum at most."""
    total = 0
    for count, mass in enumerate(masses):
        more = total + int(mass) + error
        if more > _TRIM:
            return count, total
        total = more
    return max(len(masses) - 1, 0), total


def place(points: Sequence[Point], step: Loss, tilt: Fraction, outside: flint.arb) -> LatticePLD:
    """The law of finitely many losses, spread.

    Parameters
    ----------
    points : sequence of Point
        Losses and tilted masses, in any order.
    step : Loss
        Above 0.
    tilt : Fraction
        At least 0.
    outside : flint.arb
        Tilted mass of losses that are not listed, at most.

    Returns
    -------
    LatticePLD
    """
    with flint.ctx.workprec(BITS + 40):
        width, rate = step.ball(), ball(tilt)
        found: dict[int, flint.arb] = defaultdict(flint.arb)
        whole = -(-width).expm1()
        light = flint.arb(2) ** -_LIGHT_BITS
        for loss, mass in points:
            if mass < light:  # it may be far away
                outside += mass
                continue
            index = floor(loss / width)
            above = loss - index * width
            share = -(-above).expm1() / whole
            found[index] += mass * (1 - share) * (-rate * above).exp()
            found[index + 1] += mass * share * (rate * (width - above)).exp()
        # Two deviations e**u - 1 and 1 - e**-v with u + v = step: their product is the variance.
        return _law(found, step, tilt, outside, (width / 2).expm1() ** 2)


def exactly(masses: dict[int, flint.arb], step: Loss, tilt: Fraction, outside: flint.arb) -> LatticePLD:
    """The law of losses that are multiples of the step; parameters as for `place`."""
    return _law(masses, step, tilt, outside, flint.arb(0))


def _law(
    found: dict[int, flint.arb], step: Loss, tilt: Fraction, outside: flint.arb, variance: flint.arb
) -> LatticePLD:
    start = min(found)
    masses, error = [0] * (max(found) - start + 1), 1
    unit = flint.arb(2) ** BITS
    for index, mass in found.items():
        scaled = mass * unit
        low = max(0, floor(scaled))
        masses[index - start] = low
        error = max(error, ceil(scaled) - low)
    kept = flint.fmpz_poly(masses)
    beyond = ceil(outside * unit) + error * (len(masses) - len(kept))
    return LatticePLD(step, tilt, start, kept, error, beyond, variance).trimmed()
