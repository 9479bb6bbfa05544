"""Laws of finitely many values in floats, rounded so that each is at least the law that it stands for: values are larger, and
larger ones likelier. So a law is exactly what it says, and only what is computed of it has errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.phases import Floats, turning
from ldpaudit.accountants.numerics.positive_part import PointMass
from ldpaudit.accountants.numerics.quotient_integrals import by_moments
from ldpaudit.accountants.numerics.spread import rest_of_one
from ldpaudit.core.cached import cached

ROUNDED = 1e-11  # relative error of tilted probabilities, sums of up to a thousand floats and their exponentials, with room
_LEAST = -690.0  # logarithm of a tilted probability, over the largest one, below which it is 0: floats there have few digits


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A law; the probability of the likeliest value is what the others leave of 1, of which the float is the nearest."""

    values: Floats
    masses: Floats
    users: int = 1  # of how many of the values that are added it is the sum
    closer: Callable[[], Law] | None = None  # what makes another one that is above the same laws, by less, where it matters

    @classmethod
    def of(cls, atoms: Sequence[PointMass]) -> Self:
        """Of values and their probabilities, in balls: one that is at least theirs."""
        values, masses = (np.array(list(map(_floats, column))).T for column in zip(*atoms, strict=True))
        above = _beyond(values, 1)
        likeliest = masses[0].argmax()
        found = np.where(above > above[likeliest], _beyond(masses, 1), _beyond(masses, -1).clip(0))
        if rest_of_one(found, likeliest)[likeliest] <= 0:  # so little is known of the probabilities
            return cls(above.max(keepdims=True), np.ones(1))
        return cls(above, found)


def _floats(ball: flint.arb) -> tuple[float, float]:
    """A middle and a radius; of 0 alone both are 0."""
    return float(ball), float(ball.rad()) or (0.0 if ball == 0 else 5e-324)


def _beyond(balls: Floats, sign: int) -> Floats:
    """What is at least a ball, or at most, with this sign; infinite where floats do not hold it.

    To two floats. Not by `enclosure.round_up`, one by one: rounds of Gaussian reports would take a third more time.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        found = balls[0] + sign * balls[1]
        for _ in range(2):
            found = np.where((balls == 0).all(axis=0), 0.0, np.nextafter(found, sign * math.inf))
    return np.where(np.isnan(found), sign * math.inf, found)


@dataclass(frozen=True, eq=False)
class FloatLaws:
    """Laws of values of at most 1, a row each; where some have fewer, the last is there again, with no probability."""

    values: Floats
    masses: Floats
    users: NDArray[np.int64]  # of each law

    @classmethod
    def of(cls, laws: Sequence[Law], scale: float) -> Self:
        """Of values that are divided by the scale, a power of two."""
        places = np.arange(max(len(law.values) for law in laws))
        rows = []
        for law in laws:
            at = np.minimum(places, len(law.values) - 1)
            rows.append((law.values[at] / scale, law.masses[at] * (at == places), law.users))
        return cls(*map(np.array, zip(*rows, strict=True)))

    def some(self, rows: NDArray[np.intp]) -> Self:
        """Some of the laws."""
        return type(self)(self.values[rows], self.masses[rows], self.users[rows])

    def cumulants(self, theta: float) -> Floats:
        """Upper bounds of the logarithms of their moments, per value."""
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite one may have no probability
            exponents = theta * self.values
            growth = np.expm1(exponents)
            parts = self.masses * (growth + ROUNDED * np.abs(exponents) * (1 + np.maximum(growth, 0)))
        moved = np.where(self.masses > 0, parts, 0.0).sum(axis=1)
        return np.asarray(np.log1p(np.maximum(moved, -1 + 2.0**-50)) / self.users, dtype=np.float64)

    def heights(self, theta: float, m: int, nats: Floats | float) -> Floats:
        """About the logarithms of the integrands where they are largest, and as many nats of theta from there."""
        return self._near(theta, m, nats)[0]

    def levels(self, theta: float, m: int, nats: Floats | float) -> Floats:
        """About the logarithms of the integrals, as if the tilted laws were normal, and as many nats of theta from there."""
        heights, deviations = self._near(theta, m, nats)
        return normal_levels(heights, theta * np.exp(nats), deviations, m)

    def _near(self, theta: float, m: int, nats: Floats | float) -> tuple[Floats, Floats]:
        """The heights and the standard deviations of the tilted laws, per value, by their moments at theta, and not rounded."""
        tilted, grown = self._tilted(theta)
        mean = np.einsum("lv,lv->l", tilted, self.values)
        left = self.values - mean[:, None]
        tilted *= left**2
        square, cube = tilted.sum(axis=1), np.einsum("lv,lv->l", tilted, left)
        x = theta * np.expm1(nats)[..., None]
        grown = (grown + x * (mean + x * (square / 2 + x * cube / 6))) / self.users
        at = math.log(theta) + np.asarray(nats)[..., None]
        return m * grown - 2 * at, np.sqrt(np.maximum(square + x * cube, square / 2) / self.users)

    @cached
    def _logs(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.masses), dtype=np.float64)

    def tilted(self, theta: float) -> Floats:
        """The tilted probabilities."""
        return self._tilted(theta)[0]

    def _tilted(self, theta: float) -> tuple[Floats, Floats]:
        """And about the logarithms of the moments."""
        exponents = theta * self.values + self._logs
        tops = exponents.max(axis=1, keepdims=True)
        exponents -= tops
        found = np.where(exponents > _LEAST, np.exp(exponents), 0.0)
        total = found.sum(axis=1, keepdims=True)
        return found / total, (tops + np.log(total))[:, 0]

    def deviations(self, tilted: Floats) -> Floats:
        """About the standard deviations of the tilted laws, per value."""
        squares = (self.values - (tilted * self.values).sum(axis=1, keepdims=True)) ** 2
        return np.asarray(np.sqrt((tilted * squares).sum(axis=1) / self.users), dtype=np.float64)

    def turns(self, tilted: Floats) -> Floats:
        """See `phases.turning`."""
        left = self.values - (tilted * self.values).sum(axis=1, keepdims=True)
        return turning(self.values, np.abs(self.values), tilted, left, self.users)

    def bounds(self, levels: Floats, theta: float, tilted: Floats, numbers: Sequence[int]) -> Floats:
        """See `quotient_integrals.by_moments`."""
        return by_moments(levels, self.values, np.abs(self.values), tilted, theta, numbers, self.users)


def normal_levels(heights: Floats, theta: Floats | float, deviations: Floats, m: int) -> Floats:
    """About the logarithms of the integrals on each contour, from those of the integrands where they are largest, if these were of
    normal laws with these standard deviations."""
    from scipy.special import erfcx  # here: it takes a while to import

    at = np.asarray(theta)[..., None]
    return np.asarray(heights + np.log(at * erfcx(at * deviations * math.sqrt(m / 2))), dtype=np.float64)
