r"""Privacy loss distributions on a lattice, tilted, in integers: convolution with one error bound for all masses.

A law P of losses is stored as its tilt :math:`P_\lambda(L) = e^{\lambda L} P(L) / Z`. Its masses near the epsilon of
interest are large, so that absolute errors are relative errors of delta. Masses are integers in units of
``2**-BITS``; a true mass lies between the integer and the integer plus `error`.

Connect-the-dots discretization: the mass of a loss that is no lattice point is divided between the two points around
it, such that the mean of :math:`y = e^{-L}` stays. Delta is the mean of :math:`(1 - e^\varepsilon y)_+`, convex in y,
so this never lowers delta, and raises it by a term of second order, which `hockey_stick` bounds by the variance of y
that is added.

Source: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, "Connect the dots".
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
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision

BITS = 88  # binary digits of a mass; with 72 an epsilon of 1e5 weak runs is known to 2e-3 instead of 2e-5
_WEIGHT_BITS = 128  # binary digits of the two weights of a discretized mass
_LIGHT_BITS = 62  # tilted masses below 2**-62 are added to `outside` and need no lattice points
_TRIM = 1 << (BITS - 54)
"""Mass, 2**-54, that is dropped at each end of a product and counted as outside; 2**-62 makes lattices coarser."""

_HOPELESS = 16 * BITS
"""Bits of the mass outside, in units, from which nothing is known: every further squaring would double them."""

_LONGEST = 1 << 22
"""Most points of one law's lattice: a second. Where the likeliest losses of all are known to no digit, none is light enough to
be left out, and a lattice that is made for the likely ones would need more points than memory holds."""


class UnknownError(ArithmeticError):
    """Too many losses were added: their lattice says nothing."""


Point: TypeAlias = tuple[flint.arb, flint.arb]  # a loss and its tilted mass


@dataclass(frozen=True)
class LatticePLD:
    """Tilted masses at the losses ``(start + i) * step``."""

    step: Loss  # above 0
    tilt: Fraction  # lambda, at least 0
    start: int  # index of the first mass
    masses: flint.fmpz_poly  # in units of ``2**-BITS``
    error: int  # each mass is at most this much too small
    outside: int  # upper bound of the mass that is not on the lattice; its losses are unknown
    # sum, over all discretizations of a loss, of a bound on the variance of ``e**-(change of the loss)``; 0 where every
    # loss is a lattice point
    variance: flint.arb

    def __mul__(self, other: LatticePLD) -> LatticePLD:
        """The law of the sum of two independent losses on the same lattice."""
        product = (self.masses * other.masses) // (1 << BITS)
        ours, theirs = self.most, other.most
        error = _scaled(self.error * theirs + other.error * ours) + 1
        outside = _scaled(self.outside * (theirs + other.outside) + other.outside * ours)
        if outside.bit_length() > _HOPELESS:
            raise UnknownError(f"the mass outside is known to be at most 2**{outside.bit_length() - BITS}")
        # fmpz_poly drops leading coefficients that are rounded to 0; their error counts as outside.
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
        """The law of the sum of this number of independent copies, on a lattice of at most `most` points."""
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

    @cached
    def most(self) -> int:
        """Upper bound of the total mass on the lattice."""
        return int(self.masses(1)) + self.error * len(self.masses)

    def trimmed(self) -> LatticePLD:
        """The law without the points of negligible mass at its ends; their mass is added to `outside`."""
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
        """The law on a lattice of twice the step: the masses at odd points are discretized."""
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
            outside=self.outside + 2 * error,  # fmpz_poly may have dropped two leading coefficients rounded to 0
            variance=self.variance + step.expm1() * -(-step).expm1(),
        ).trimmed()


def as_mass(units: int) -> flint.arb:
    """The mass of a number of units of ``2**-BITS``."""
    return ball(Fraction(units, 1 << BITS))


def _scaled(value: int) -> int:
    """A product of two masses, in units again, rounded up."""
    return (value >> BITS) + 1


def _weight(value: flint.arb) -> int:
    """The value in units of ``2**-_WEIGHT_BITS``, rounded down."""
    return floor(value * flint.arb(2) ** _WEIGHT_BITS)


def _light(masses: Sequence[flint.fmpz], error: int) -> tuple[int, int]:
    """The number of first masses that together are at most `_TRIM`, and an upper bound of their sum."""
    total = 0
    for count, mass in enumerate(masses):
        more = total + int(mass) + error
        if more > _TRIM:
            return count, total
        total = more
    return max(len(masses) - 1, 0), total


def place(points: Sequence[Point], step: Loss, tilt: Fraction, outside: flint.arb) -> LatticePLD:
    """The law of finitely many losses, by connect-the-dots discretization.

    Dominates the given law; ``outside``: upper bound of the tilted mass of losses that are not listed.
    """
    with working_precision(BITS + 40):
        width, rate = step.ball(), ball(tilt)
        found: dict[int, flint.arb] = defaultdict(flint.arb)
        whole = -(-width).expm1()
        light = flint.arb(2) ** -_LIGHT_BITS
        for loss, mass in points:
            if mass < light:  # its loss may be far away, and the lattice would have to reach it
                outside += mass
                continue
            index = floor(loss / width)
            above = loss - index * width
            share = -(-above).expm1() / whole
            found[index] += mass * (1 - share) * (-rate * above).exp()
            found[index + 1] += mass * share * (rate * (width - above)).exp()
        # y changes by e**u - 1 or e**-v - 1, u + v = step, and keeps its mean: the variance is the product of the two.
        return exactly(found, step, tilt, outside, (width / 2).expm1() ** 2)


def exactly(
    found: dict[int, flint.arb], step: Loss, tilt: Fraction, outside: flint.arb, variance: flint.arb | None = None
) -> LatticePLD:
    """The law of losses that are multiples of the step, given by their indices; other parameters as for `place`."""
    start, end = min(found), max(found)
    if end - start >= _LONGEST:
        raise UnknownError(f"the losses are up to {end - start} steps apart")
    masses, error = [0] * (end - start + 1), 1
    unit = flint.arb(2) ** BITS
    for index, mass in found.items():
        scaled = mass * unit
        low = max(0, floor(scaled))
        masses[index - start] = low
        error = max(error, ceil(scaled) - low)
    kept = flint.fmpz_poly(masses)
    beyond = ceil(outside * unit) + error * (len(masses) - len(kept))
    return LatticePLD(step, tilt, start, kept, error, beyond, flint.arb(0) if variance is None else variance).trimmed()
