r"""The largest expected positive part of a sum of m independent values, each of which has one of several laws.

.. math:: E\Bigl[\Bigl(\sum_{k \le m} X_k\Bigr)_+\Bigr]
          = \frac{1}{2\pi} \int_{-\infty}^{\infty} \frac{\prod_k M_{x_k}(\theta + iu)}{(\theta + iu)^2}\, du
          \le \frac1\pi \int_0^\infty \max_x \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du

for every :math:`\theta > 0` and every assignment of laws x to the values, with :math:`M_x(s) = E\, e^{s X}`. So one integral
covers all data sets of a shuffle at once (`shuffling.replaced`). It loses a phase only: less than 1e-3 of the expectation where
that is far out in a tail, as deltas are. As :math:`|M_x|` is convex in the law, mixtures of the laws are covered, too.

The integral is bounded by an upper sum in floats, with room for their errors. On an interval of width h,

.. math:: |\varphi(u + t)|^2 \le |\varphi(u)|^2 + h \bigl(|\varphi|^2\bigr)'(u)_+ + \sigma^2 h^2

for the transform :math:`\varphi` of the tilted law and its variance. The intervals end at a U beyond which two values with the
probabilities p and q, at the distance d, give :math:`|\varphi(u)|^m \le e^{-\kappa (1 - \cos du)}` with :math:`\kappa = mpq`,
whose mean over a period is :math:`e^{-\kappa} I_0(\kappa)`. Laws that are far from the largest at :math:`\theta` are left out of
the integral, and add their whole :math:`M_x(\theta)^m / 2\theta`.

Source: the integral is the inverse Laplace transform of :math:`x_+`, as in `positive_part`; the bound of the product is Hölder's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import i0e

from ldpaudit.accountants.numerics.positive_part import PointMass
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.enclosure import round_up

_DEVIATIONS, _FINE = 8.0, 4096
"""Standard deviations of the integrand that are cut evenly, and intervals there: the upper sum is too large by 3 in as many."""
_RATIO, _FAR = 1.004, 64.0
"""Growth of the intervals beyond, and their end in standard deviations of one value, where they are too wide to be of use."""
_SMALL, _COARSE = 0.5, 16
"""Part of the largest moment up to which a law's heights are bounded on that many intervals at once."""
_ROWS = 256  # intervals that are looked at together: with all of them, arrays leave the cache, for five times the time
_IRRELEVANT = 18.0  # nats below the largest law at which a law adds its whole moment: 1e-7 of the result or so
_LIKELY = 8  # laws by which the contour is chosen: those that are largest at the saddle point of the widest one
_FLOATS = 1e200
"""Largest value, and inverse of the least one, that floats can scale; and the largest level that they can still subtract from."""
_ROOM = 1e-12  # relative error of probabilities, differences, sums of up to a thousand floats and their exponentials


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A law in floats, which tell whether it matters, and itself, which is made if it does."""

    values: NDArray[np.float64]
    masses: NDArray[np.float64]  # each right to a relative 1e-12 or so
    off: NDArray[np.float64]  # upper bounds of the errors of the values
    exact: Callable[[], Sequence[PointMass]]

    @classmethod
    def of(cls, atoms: Sequence[PointMass]) -> Self:
        """Of values and their probabilities."""
        values, masses = (np.array([float(each) for each in column]) for column in zip(*atoms, strict=True))
        return cls(values, np.maximum(masses, 2.0**-1074), 1e-15 * np.abs(values), lambda: atoms)

    def cumulant(self, theta: float) -> float:
        """Upper bound of the logarithm of the moment, per value."""
        with np.errstate(over="ignore"):
            room = np.exp(theta * (self.values + self.off)) * (_ROOM + theta * self.off)
            return float(np.log1p(max(float(self.masses @ (np.expm1(theta * self.values) + room)), -1 + 2.0**-50)))


def largest_positive_part(laws: Sequence[Law], m: int) -> flint.arb:
    """Upper bound of the expected positive part of a sum of `m` independent values, whatever law each has of the given ones.

    Laws of very different means cost time; mixtures of them are covered, too. Too large by about 1e-3 of itself where
    it is far out in a tail; infinite where floats do not hold the values. The precision must exceed ``m.bit_length()``
    by 64 bits.
    """
    if not any((law.values > -law.off).any() for law in laws) and all(v <= 0 for law in laws for v, _ in law.exact()):
        return flint.arb(0)
    scale = max(float(np.abs(law.values).max()) for law in laws)  # exact as a ball, whatever it is
    if not 1 / _FLOATS < scale < _FLOATS:
        return flint.arb("inf")
    floats = [Law(law.values / scale, law.masses, law.off / scale + 1e-15, law.exact) for law in laws]
    theta = _contour(floats, m)
    most = np.array([m * law.cumulant(theta) for law in floats])
    near = most >= most.max() - _IRRELEVANT
    unit = flint.arb(scale)
    atoms = [[(value / unit, p) for value, p in law.exact() if not p == 0] for law, close in zip(laws, near, strict=True) if close]
    weights = [[p * (theta * value).exp() for value, p in law] for law in atoms]
    moments = [sum(each, flint.arb(0)) for each in weights]
    powers = [moment**m for moment in moments]
    top = reduce(flint.arb.max, powers).upper()
    tilted = [
        _Tilted.of(law, each, moment, m, round_up(power / top))
        for law, each, moment, power in zip(atoms, weights, moments, powers, strict=True)
    ]
    rest = sum((flint.arb(nats).exp() for nats in (most[~near] + 1e-9).tolist()), flint.arb(0))
    integral = _integral(tilted, theta) * (1 + 4 * _ROOM)
    return (unit * (top * integral / flint.arb.pi() + rest / (2 * flint.arb(theta)))).upper()


def _contour(laws: Sequence[Law], m: int) -> float:
    """Where the largest of the moments, over theta squared, is about least."""
    from scipy.optimize import minimize_scalar  # here: it takes a while to import

    gaining = [law for law in laws if (law.values > 0).any()] or laws
    start = _saddle(max(gaining, key=lambda law: float(law.masses @ law.values**2)), m)
    likely = sorted(laws, key=lambda law: -law.cumulant(start))[:_LIKELY]

    def level(x: float) -> float:
        return min(max(m * law.cumulant(math.exp(x)) for law in likely), _FLOATS) - 2 * x

    saddles = [math.log(_saddle(law, m)) for law in likely if (law.values > 0).any()] or [math.log(start)]
    low, high = min(saddles), max(saddles)
    if high - low < 1e-9:
        return math.exp(low)
    best = minimize_scalar(level, bounds=(low, high), method="bounded", options={"xatol": 1e-3 * (high - low)})
    return math.exp(min([float(best.x), low, high], key=level))


def _saddle(law: Law, m: int) -> float:
    kept = law.masses > 0
    return Tilt(law.values[kept], np.log(law.masses[kept]), m).saddle()


@dataclass(frozen=True)
class _Tilted:
    """One law, tilted by theta."""

    values: NDArray[np.float64]  # less their mean
    masses: NDArray[np.float64]
    m: int
    share: float  # its moment to the m, over the largest one

    @classmethod
    def of(cls, law: Sequence[PointMass], weights: Sequence[flint.arb], moment: flint.arb, m: int, share: float) -> Self:
        """Of values, their weights, and the sum of these."""
        masses = [weight / moment for weight in weights]
        mean = sum((v * p for (v, _), p in zip(law, masses, strict=True)), flint.arb(0)).mid()
        return cls(np.array([float(v - mean) for v, _ in law]), np.array([float(p) for p in masses]), m, share)

    @property
    def variance(self) -> float:
        """Of one value, a little too large."""
        return float(self.masses @ self.values**2) * (1 + _ROOM)

    def heights(self, starts: NDArray[np.float64], widths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bounds of the transform's modulus to the m, on intervals, times the law's share."""
        phases = np.multiply.outer(starts, self.values)
        sines, versed = np.sin(phases), 2 * np.sin(phases / 2) ** 2  # the transform is 1 - a + ib
        a, b, angles, sizes = versed @ self.masses, sines @ self.masses, np.abs(phases), np.abs(sines)
        # An angle is wrong by a relative 1e-15; so are sines up to a right angle, and beyond they are by that of the angle.
        blur = _ROOM * (a + np.abs(b) * (sizes @ self.masses))
        blur += _ROOM * 1e-3 * (angles * (angles > 1)) @ self.masses
        fallen = 2 * a - a**2 - b**2 - 4 * blur
        moved = self.masses * self.values
        slope = 2 * (b * (moved.sum() - versed @ moved) - (1 - a) * (sines @ moved))
        slope += _ROOM * (sizes + 1e-3 * angles).max(axis=1) * np.abs(moved).sum()
        risen = widths * np.maximum(slope, 0.0) + self.variance * widths**2
        least = np.clip(fallen - risen * (1 + _ROOM), 0.0, 1.0 - 1e-16)
        return np.asarray(self.share * np.exp(self.m / 2 * np.log1p(-least)), dtype=np.float64)

    def tail(self, end: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bounds of the integral of the modulus to the m over u squared, from each end on, times the law's share."""
        r = int(self.masses.argmax())
        gaps = np.abs(self.values - self.values[r])[:, None]
        kappas = (self.m * self.masses[r] * self.masses * (1 - _ROOM))[:, None]
        with np.errstate(divide="ignore"):  # a value's own gap says nothing
            found = np.minimum(1 / end, (i0e(kappas) * (1 / end + 2 * math.pi / gaps / end**2)).min(axis=0))
        return np.asarray(self.share * found, dtype=np.float64)


def _integral(laws: Sequence[_Tilted], theta: float) -> float:
    """Upper bound of the integral, in units of the largest moment."""
    deviation = max(math.sqrt(each.variance) for each in laws) or 1.0
    # Next to theta the denominator falls, too.
    reach = min(_DEVIATIONS / (deviation * math.sqrt(laws[0].m)), 256 * theta)
    steps = max(1, math.ceil(math.log(max(_FAR / deviation, 2 * reach) / reach) / math.log(_RATIO)))
    edges = np.concatenate([np.linspace(0, reach, _FINE + 1), reach * _RATIO ** np.arange(1, steps + 1)])
    starts, widths = edges[:-1], np.diff(edges)
    heights = np.max([_heights(each, edges, 1 if each.share > _SMALL else _COARSE) for each in laws], axis=0)
    heights /= theta**2 + starts**2
    sums = np.cumsum(heights * widths)[_FINE - 1 :]
    tails = sum(each.tail(edges[_FINE:]) for each in laws)
    return float(np.min(sums + tails))


def _heights(law: _Tilted, edges: NDArray[np.float64], together: int) -> NDArray[np.float64]:
    """Upper bounds on all intervals, from several of them together."""
    ends = edges[::together] if (len(edges) - 1) % together == 0 else np.append(edges[::together], edges[-1])
    widths = np.diff(ends)
    parts = (slice(i, i + _ROWS) for i in range(0, len(widths), _ROWS))
    found = np.concatenate([law.heights(ends[:-1][part], widths[part]) for part in parts])
    return np.repeat(found, together)[: len(edges) - 1]
