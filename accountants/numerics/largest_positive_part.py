r"""The largest expected positive part of a sum of m independent values, each of which has one of several laws.

.. math:: E\Bigl[\Bigl(\sum_{k \le m} X_k\Bigr)_+\Bigr]
          = \frac{1}{2\pi} \int_{-\infty}^{\infty} \frac{\prod_k M_{x_k}(\theta + iu)}{(\theta + iu)^2}\, du
          \le \frac1\pi \int_0^\infty \max_x \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du

for every :math:`\theta > 0` and every assignment of laws x to the values, with :math:`M_x(s) = E\, e^{s X}`. So one integral
covers all data sets of a shuffle at once (`shuffling.replaced`). It loses a phase only: less than 1e-3 of the expectation where
that is far out in a tail, as deltas are. As :math:`|M_x|` is convex in the law, mixtures of the laws are covered, too.

The integral is bounded by chords in floats, with room for their errors. With :math:`f = |\varphi|^2` for the transform
:math:`\varphi` of the tilted law and :math:`\sigma^2` for its variance,

.. math:: f'' \ge -2 \sigma^2, \qquad \bigl(f^{m/2}\bigr)'' \ge \tfrac m2 f^{m/2-1} f'' \ge -m \sigma^2 f^{m/2-1} \quad (m \ge 2)

for the second derivative of f is a mean of :math:`-d^2 \cos du` over the distances d of two values. On an interval of width h a
function whose second derivative is at least -c is at most its chord and :math:`c\,t(h-t)/2`. So f is at most its larger end and
:math:`\sigma^2 h^2/4`, which bounds c for the power; and of several laws the largest is at most the chord of the largest ends, and
the largest c. The weight :math:`1/(\theta^2 + u^2)`, whose second derivative is at least :math:`-2\theta^2` times its third power,
is bounded in the same way.

The intervals end at a U beyond which two values with the probabilities p and q, at the distance d, give
:math:`|\varphi(u)|^m \le e^{-\kappa (1 - \cos du)}` with :math:`\kappa = mpq`, whose mean over a period is
:math:`e^{-\kappa} I_0(\kappa)`. Laws that are far from the largest at :math:`\theta` are left out of the integral, and add their
whole :math:`M_x(\theta)^m / 2\theta`.

Source: the integral is the inverse Laplace transform of :math:`x_+`, as in `positive_part`; the bound of the product is Hölder's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Self

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import i0e

from ldpaudit.accountants.numerics.positive_part import PointMass
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import round_up

_DEVIATIONS, _FINE = 8.0, 256
"""Standard deviations of the integrand, or thetas, that are cut evenly, and intervals there: the chords are too large by 1e-4."""
_RATIO, _FAR = 1.01, 64.0
"""Growth of the intervals beyond, and their end in standard deviations of one value, where they are too wide to be of use."""
_SMALL, _COARSE = 0.5, 8
"""Part of the largest moment up to which a law is looked at after that many intervals only."""
_ROWS = 256  # points that are looked at together: with all of them, arrays leave the cache, for five times the time
_ALIKE = 0.99
"""Part of a number of values down to which another has its contour and its intervals: far out in a tail delta moves by 1e-4."""
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
    return PositiveParts(laws).largest(m)


class PositiveParts:
    """The same of several numbers of values, which share a contour and transforms where they are nearly one number.

    ``laws``: as above.
    """

    def __init__(self, laws: Sequence[Law]) -> None:
        self._laws = laws
        self._shared: _Integrand | None = None

    def largest(self, m: int) -> flint.arb:
        """As `largest_positive_part`; quicker for an m a little below the one before."""
        laws = self._laws
        if not any((law.values > -law.off).any() for law in laws) and all(v <= 0 for law in laws for v, _ in law.exact()):
            return flint.arb(0)
        if m == 1:
            means = (sum((p * v.max(flint.arb(0)) for v, p in law.exact()), flint.arb(0)) for law in laws)
            return reduce(flint.arb.max, means).upper()
        scale = max(float(np.abs(law.values).max()) for law in laws)  # exact as a ball, whatever it is
        if not 1 / _FLOATS < scale < _FLOATS:
            return flint.arb("inf")
        if self._shared is None or not _ALIKE * self._shared.m <= m <= self._shared.m:
            self._shared = _Integrand(laws, scale, m)
        return self._shared.bound(m)


class _Integrand:
    """The transforms of all laws that matter for about m values, on one contour."""

    def __init__(self, laws: Sequence[Law], scale: float, m: int) -> None:
        floats = [Law(law.values / scale, law.masses, law.off / scale + 1e-15, law.exact) for law in laws]
        self.m, self.unit, self.theta = m, flint.arb(scale), _contour(floats, m)
        self.cumulants = np.array([law.cumulant(self.theta) for law in floats])
        self.near = m * self.cumulants >= m * self.cumulants.max() - _IRRELEVANT
        close = (law for law, matters in zip(laws, self.near, strict=True) if matters)
        atoms = [[(value / self.unit, p) for value, p in law.exact() if not p == 0] for law in close]
        weights = [[p * (self.theta * value).exp() for value, p in law] for law in atoms]
        self.moments = [sum(each, flint.arb(0)) for each in weights]
        self.transforms = [_Transform.of(*each) for each in zip(atoms, weights, self.moments, strict=True)]
        self.grid = _Grid.of(self.transforms, self.theta, m)

    def bound(self, m: int) -> flint.arb:
        """Of this many values, one of m or a little below."""
        powers = [moment**m for moment in self.moments]
        top = reduce(flint.arb.max, powers).upper()
        tilted = [_Tilted(each, m, round_up(power / top)) for each, power in zip(self.transforms, powers, strict=True)]
        rest = sum((flint.arb(nats).exp() for nats in (m * self.cumulants[~self.near] + 1e-9).tolist()), flint.arb(0))
        integral = _integral(tilted, self.theta, self.grid) * (1 + 4 * _ROOM)
        return (self.unit * (top * integral / flint.arb.pi() + rest / (2 * flint.arb(self.theta)))).upper()


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


@dataclass(frozen=True, eq=False)
class _Transform:
    """That of one law, tilted by theta."""

    values: NDArray[np.float64]  # less their mean
    masses: NDArray[np.float64]
    seen: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=list)  # points, and `fallen` there

    @classmethod
    def of(cls, law: Sequence[PointMass], weights: Sequence[flint.arb], moment: flint.arb) -> Self:
        """Of values, their weights, and the sum of these."""
        masses = [weight / moment for weight in weights]
        mean = sum((v * p for (v, _), p in zip(law, masses, strict=True)), flint.arb(0)).mid()
        return cls(np.array([float(v - mean) for v, _ in law]), np.array([float(p) for p in masses]))

    @cached
    def variance(self) -> float:
        """Of one value, a little too large."""
        return float(self.masses @ self.values**2) * (1 + _ROOM)

    def fallen(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lower bounds of 1 minus the squared modulus; kept for the same array of points."""
        for points, found in self.seen:
            if points is u:
                return found
        found = np.concatenate([self._fallen(u[i : i + _ROWS]) for i in range(0, len(u), _ROWS)])
        self.seen.append((u, found))
        return found

    def _fallen(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        halves = np.multiply.outer(u / 2, self.values)
        sines = np.sin(halves)
        versed, sines = 2 * sines**2, 2 * sines * np.cos(halves)  # the transform is 1 - a + ib
        a, b, angles, sizes = versed @ self.masses, sines @ self.masses, 2 * np.abs(halves), np.abs(sines)
        # An angle is wrong by a relative 1e-15; so are sines up to a right angle, and beyond they are by that of the angle.
        blur = _ROOM * (a + np.abs(b) * (sizes @ self.masses))
        blur += _ROOM * 1e-3 * (angles * (angles > 1)) @ self.masses
        return np.clip(2 * a - a**2 - b**2 - 4 * blur, 0.0, 1.0 - 1e-16)


@dataclass(frozen=True)
class _Tilted:
    """The transform of a sum of m values of one law."""

    transform: _Transform
    m: int
    share: float  # its moment to the m, over the largest one

    def heights(self, u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Upper bounds, times the law's share, of the transform's modulus to the m: at these points, which rise; between each two
        of them; and of minus its second derivative there.
        """
        fallen, variance = self.transform.fallen(u), self.transform.variance
        least = np.minimum(fallen[:-1], fallen[1:]) - variance * np.diff(u) ** 2 / 4 * (1 + _ROOM)
        between = np.log1p(-np.clip(least, 0.0, 1.0 - 1e-16))
        bent = self.m * variance * np.exp((self.m / 2 - 1) * between)
        at, tops = np.exp(self.m / 2 * np.log1p(-fallen)), np.exp(self.m / 2 * between)
        return self.share * at, self.share * tops, self.share * bent

    def tail(self, end: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bounds of the integral of the modulus to the m over u squared, from each end on, times the law's share."""
        values, masses = self.transform.values, self.transform.masses
        r = int(masses.argmax())
        gaps = np.abs(values - values[r])[:, None]
        kappas = (self.m * masses[r] * masses * (1 - _ROOM))[:, None]
        with np.errstate(divide="ignore"):  # a value's own gap says nothing
            found = np.minimum(1 / end, (i0e(kappas) * (1 / end + 2 * math.pi / gaps / end**2)).min(axis=0))
        return np.asarray(self.share * found, dtype=np.float64)


@dataclass(frozen=True)
class _Grid:
    """The points between which chords are taken."""

    edges: NDArray[np.float64]
    coarse: NDArray[np.float64]  # every eighth of them, and the last one

    @classmethod
    def of(cls, transforms: Sequence[_Transform], theta: float, m: int) -> Self:
        """For about m values."""
        deviation = max(math.sqrt(each.variance) for each in transforms) or 1.0
        reach = min(_DEVIATIONS / (deviation * math.sqrt(m)), _DEVIATIONS * theta)
        steps = max(1, math.ceil(math.log(max(_FAR / deviation, 2 * reach) / reach) / math.log(_RATIO)))
        edges = np.concatenate([np.linspace(0, reach, _FINE + 1), reach * _RATIO ** np.arange(1, steps + 1)])
        return cls(edges, _thinned(edges, _COARSE))


def _thinned(edges: NDArray[np.float64], together: int) -> NDArray[np.float64]:
    """Some of these points, and the last one."""
    return edges[::together] if (len(edges) - 1) % together == 0 else np.append(edges[::together], edges[-1])


def _integral(laws: Sequence[_Tilted], theta: float, grid: _Grid) -> float:
    """Upper bound of the integral, in units of the largest moment."""
    edges = grid.edges
    found = [each.heights(edges) if each.share > _SMALL else _heights(each, edges, grid.coarse, _COARSE) for each in laws]
    heights, tops, bent = (np.max(each, axis=0) for each in zip(*found, strict=True))
    weights, widths = 1 / (theta**2 + edges**2), np.diff(edges)
    near, far, w, v = heights[:-1], heights[1:], weights[:-1], weights[1:]
    chords = widths / 6 * (near * (2 * w + v) + far * (w + 2 * v))
    chords += widths**3 / 12 * (bent * w + 2 * theta**2 * w**3 * np.maximum(near, far))
    sums = np.cumsum(np.minimum(chords, widths * tops * w))[_FINE - 1 :]
    tails = sum(each.tail(edges[_FINE:]) for each in laws)
    return float(np.min(sums + tails))


def _heights(
    law: _Tilted, edges: NDArray[np.float64], ends: NDArray[np.float64], together: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Upper bounds on all intervals, as `heights` has them, from several of them together, whose ends are given."""
    at, tops, bent = law.heights(ends)
    tops, bent = (np.repeat(each, together)[: len(edges) - 1] for each in (tops, bent))
    past, left = (np.repeat(each, together)[: len(edges) - 1] for each in (ends[:-1], ends[1:]))
    risen = np.append((edges[:-1] - past) * (left - edges[:-1]) / 2 * bent, 0.0)
    chord = np.minimum(np.interp(edges, ends, at) + risen, np.append(tops, at[-1]))
    return chord, tops, bent
