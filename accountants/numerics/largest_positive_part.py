r"""The largest expected positive part of a sum of m independent values, each of which has one of several laws.

.. math:: E\Bigl[\Bigl(\sum_{k \le m} X_k\Bigr)_+\Bigr]
          = \frac{1}{2\pi} \int_{-\infty}^{\infty} \frac{\prod_k M_{x_k}(\theta + iu)}{(\theta + iu)^2}\, du
          \le \max_x \frac1\pi \int_0^\infty \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du

for every :math:`\theta > 0` and every assignment of laws x to the values, with :math:`M_x(s) = E\, e^{s X}`: by Hölder's
inequality the integral of a product of m moduli is at most the product of the m-th roots of the integrals of their m-th powers,
and so at most the largest of these integrals. So one contour covers all data sets of a shuffle at once (`shuffling.replaced`).
It loses a phase only: less than 1e-3 of the expectation where that is far out in a tail, as deltas are. Mixtures of the laws
are covered, too: the m-th root of the integral is a norm of the transform, which is linear in the law.

The integral is bounded by chords in floats, with room for their errors. With :math:`f = |\varphi|^2` for the transform
:math:`\varphi` of the tilted law and :math:`\sigma^2` for its variance,

.. math:: f'' \ge -2 \sigma^2, \qquad \bigl(f^{m/2}\bigr)'' \ge \tfrac m2 f^{m/2-1} f'' \ge -m \sigma^2 f^{m/2-1} \quad (m \ge 2)

for the second derivative of f is a mean of :math:`-d^2 \cos du` over the distances d of two values. On an interval of width h a
function whose second derivative is at least -c is at most its chord and :math:`c\,t(h-t)/2`. So f is at most its larger end and
:math:`\sigma^2 h^2/4`, which bounds c for the power. The weight :math:`1/(\theta^2 + u^2)`, whose second derivative is at least
:math:`-2\theta^2` times its third power, is bounded in the same way.

The intervals end at a U beyond which two values with the probabilities p and q, at the distance d, give :math:`|\varphi(u)|^m
\le e^{-\kappa (1 - \cos du)}` with :math:`\kappa = mpq`, whose mean over a period is :math:`e^{-\kappa} I_0(\kappa)`. The
modulus is largest at 0, so that laws whose :math:`M_x(\theta)^m / 2\theta` is below an integral that is known need none.

Source: the integral is the inverse Laplace transform of :math:`x_+`, as in `positive_part`; the bound of the product is Hölder's.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.positive_part import PointMass
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.accountants.numerics.trapezoid import sums
from ldpaudit.core.cached import cached

_DEVIATIONS, _FINE = 8.0, 256
"""Standard deviations of the integrand, or thetas, that are cut evenly, and intervals there: the chords are too large by 1e-4."""
_RATIO, _FAR = 1.01, 64.0
"""Growth of the intervals beyond, and their end in standard deviations of one value, where they are too wide to be of use."""
_ROWS = 256  # points that are looked at together: with all of them, arrays leave the cache, for five times the time
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

    def tilt(self, m: int) -> Tilt:
        """Of m values."""
        kept = self.masses > 0
        return Tilt(self.values[kept], np.log(self.masses[kept]), m)

    def height(self, theta: float, m: int) -> float:
        """The logarithm of the integrand where it is largest."""
        return m * self.cumulant(theta) - 2 * math.log(theta)

    def level(self, theta: float, m: int) -> float:
        """About the logarithm of the integral on this contour, as if the tilted law were normal."""
        from scipy.special import erfcx  # here: it takes a while to import

        _, variance = self.tilt(m).mean_and_variance(theta)
        return self.height(theta, m) + math.log(theta * float(erfcx(theta * math.sqrt(m * variance / 2))))

    def cumulant(self, theta: float) -> float:
        """Upper bound of the logarithm of the moment, per value."""
        with np.errstate(over="ignore"):
            room = np.exp(theta * (self.values + self.off)) * (_ROOM + theta * self.off)
            return float(np.log1p(max(float(self.masses @ (np.expm1(theta * self.values) + room)), -1 + 2.0**-50)))


_Level: TypeAlias = Callable[[Law, float, int], float]
"""About the logarithm of a law's part in the integral on a contour."""


def largest_positive_parts(laws: Sequence[Law], m: int, numbers: Sequence[int]) -> list[flint.arb]:
    """Upper bounds of the expected positive part of a sum of independent values, whatever law each has of the given ones.

    For each number of values, or for 1 alone, on one contour that is made for about m: of an integral that is log-convex in the
    number. Laws of very different means cost time; mixtures of them are covered, too. Too large by about 1e-3 of itself where
    it is far out in a tail; infinite where floats do not hold the values. The precision must exceed their bits by 64.
    """
    if not any((law.values > -law.off).any() for law in laws) and all(v <= 0 for law in laws for v, _ in law.exact()):
        return [flint.arb(0)] * len(numbers)
    if 1 in numbers:
        means = (sum((p * v.max(flint.arb(0)) for v, p in law.exact()), flint.arb(0)) for law in laws)
        return [reduce(flint.arb.max, means).upper()] * len(numbers)
    scale = max(float(np.abs(law.values).max()) for law in laws)  # exact as a ball, whatever it is
    if not 1 / _FLOATS < scale < _FLOATS:
        return [flint.arb("inf")] * len(numbers)
    best = _Integrand(laws, scale, m)
    if best.bound(numbers[0]) > 0 and best.largest > 0:  # one of a smaller moment, which is far from its own saddle point
        best = min((best, _Integrand(laws, scale, m, Law.level)), key=lambda each: float(each.bound(numbers[0])))
    return [best.bound(each) for each in numbers]


class _Integrand:
    """The transforms of the laws that matter for about m values, on one contour."""

    def __init__(self, laws: Sequence[Law], scale: float, m: int, level: _Level = Law.height) -> None:
        floats = [Law(law.values / scale, law.masses, law.off / scale + 1e-15, law.exact) for law in laws]
        self.m, self.unit, self.theta = m, flint.arb(scale), _contour(floats, m, level)
        nats = [law.cumulant(self.theta) for law in floats]
        self._laws = sorted(zip(nats, laws, strict=True), key=lambda each: -each[0])
        self._transforms: list[_Transform] = []  # of the first of these
        self.largest = 0  # which of these has the largest integral

    def bound(self, m: int) -> flint.arb:
        """Of this many values, one of m or a little below."""
        found = flint.arb(0)
        for i, (nats, law) in enumerate(self._laws):
            if flint.arb(m * nats + 1e-9).exp() / (2 * self.theta) <= found:
                break
            if i == len(self._transforms):
                self._transforms.append(_Transform.of(law.exact(), self.unit, self.theta, self.m))
            value = self._transforms[i].integral(m).upper()
            if value > found:
                found, self.largest = value, i
        return (self.unit * found).upper()


def _contour(laws: Sequence[Law], m: int, level: _Level) -> float:
    """Where the largest of the laws' levels is about least."""
    from scipy.optimize import minimize_scalar  # here: it takes a while to import

    gaining = [law for law in laws if (law.values > 0).any()] or laws
    start = max(gaining, key=lambda law: float(law.masses @ law.values**2)).tilt(m).saddle()
    likely = sorted(laws, key=lambda law: -level(law, start, m))[:_LIKELY]

    def largest(x: float) -> float:
        return min(max(level(law, math.exp(x), m) for law in likely), _FLOATS)

    saddles = [math.log(law.tilt(m).saddle()) for law in likely if (law.values > 0).any()] or [math.log(start)]
    low, high = min(saddles), max(saddles)
    if high - low < 1e-9:
        return math.exp(low)
    best = minimize_scalar(largest, bounds=(low, high), method="bounded", options={"xatol": 1e-3 * (high - low)})
    return math.exp(min([float(best.x), low, high], key=largest))


@dataclass(frozen=True, eq=False)
class _Transform:
    """That of one law, tilted by theta."""

    values: NDArray[np.float64]  # less their mean
    masses: NDArray[np.float64]
    moment: flint.arb  # by which the law was divided
    theta: float
    edges: NDArray[np.float64]  # from 0 on, between which chords are taken

    @classmethod
    def of(cls, law: Sequence[PointMass], unit: flint.arb, theta: float, m: int) -> Self:
        """For about m values, which are divided by the unit."""
        values, masses = zip(*((value / unit, p) for value, p in law if not p == 0), strict=True)
        weights = [p * (theta * value).exp() for value, p in zip(values, masses, strict=True)]
        moment = sum(weights, flint.arb(0))
        mean = (sum((v * p for v, p in zip(values, weights, strict=True)), flint.arb(0)) / moment).mid()
        left, tilted = np.array([float(v - mean) for v in values]), np.array([float(p / moment) for p in weights])
        return cls(left, tilted, moment, theta, _edges(math.sqrt(tilted @ left**2) or 1.0, theta, m))

    @cached
    def variance(self) -> float:
        """Of one value, a little too large."""
        return float(self.masses @ self.values**2) * (1 + _ROOM)

    @cached
    def fallen(self) -> NDArray[np.float64]:
        """Lower bounds of 1 minus the squared modulus, at the edges."""
        return np.concatenate([self._fallen(self.edges[i : i + _ROWS]) for i in range(0, len(self.edges), _ROWS)])

    def _fallen(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        halves = np.multiply.outer(u / 2, self.values)
        sines = np.sin(halves)
        versed, sines = 2 * sines**2, 2 * sines * np.cos(halves)  # the transform is 1 - a + ib
        a, b, angles = sums(versed, self.masses), sums(sines, self.masses), 2 * np.abs(halves)
        # An angle is wrong by a relative 1e-15; so are sines up to a right angle, and beyond they are by that of the angle.
        blur = _ROOM * (a + np.abs(b) * sums(np.abs(sines), self.masses))
        blur += _ROOM * 1e-3 * sums(angles * (angles > 1), self.masses)
        return np.asarray(np.clip(2 * a - a**2 - b**2 - 4 * blur, 0.0, 1.0 - 1e-16), dtype=np.float64)

    def heights(self, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Upper bounds of the modulus to the m: at the edges; between each two; and of minus its second derivative there."""
        least = np.minimum(self.fallen[:-1], self.fallen[1:]) - self.variance * np.diff(self.edges) ** 2 / 4 * (1 + _ROOM)
        between = np.log1p(-np.clip(least, 0.0, 1.0 - 1e-16))
        bent = m * self.variance * np.exp((m / 2 - 1) * between)
        return np.exp(m / 2 * np.log1p(-self.fallen)), np.exp(m / 2 * between), bent

    def tail(self, end: NDArray[np.float64], m: int) -> NDArray[np.float64]:
        """Upper bounds of the integral of the modulus to the m over u squared, from each end on."""
        from scipy.special import i0e  # here: it takes a while to import

        r = int(self.masses.argmax())
        gaps = np.abs(self.values - self.values[r])[:, None]
        kappas = (m * self.masses[r] * self.masses * (1 - _ROOM))[:, None]
        with np.errstate(divide="ignore"):  # a value's own gap says nothing
            found = (i0e(kappas) * (1 / end + 2 * math.pi / gaps / end**2)).min(axis=0)
        return np.asarray(np.minimum(1 / end, found), dtype=np.float64)

    def integral(self, m: int) -> flint.arb:
        """Upper bound of the integral of m values of this law, over pi."""
        heights, tops, bent = self.heights(m)
        weights, widths = 1 / (self.theta**2 + self.edges**2), np.diff(self.edges)
        near, far, w, v = heights[:-1], heights[1:], weights[:-1], weights[1:]
        chords = widths / 6 * (near * (2 * w + v) + far * (w + 2 * v))
        with np.errstate(over="ignore", invalid="ignore"):  # of values that are equal but for rounding intervals are very wide
            chords += widths**3 / 12 * (bent * w + 2 * self.theta**2 * w**3 * np.maximum(near, far))
        so_far = np.cumsum(np.fmin(chords, widths * tops * w))[_FINE - 1 :]
        least = float(np.fmin.reduce(so_far + self.tail(self.edges[_FINE:], m), initial=math.inf)) * (1 + 4 * _ROOM)
        return self.moment**m * (flint.arb(least) / flint.arb.pi()).min(1 / (2 * flint.arb(self.theta)))


def _edges(deviation: float, theta: float, m: int) -> NDArray[np.float64]:
    """For about m values of this standard deviation."""
    reach = min(_DEVIATIONS / (deviation * math.sqrt(m)), _DEVIATIONS * theta)
    steps = max(1, math.ceil(math.log(max(_FAR / deviation, 2 * reach) / reach) / math.log(_RATIO)))
    return np.concatenate([np.linspace(0, reach, _FINE + 1), reach * _RATIO ** np.arange(1, steps + 1)])
