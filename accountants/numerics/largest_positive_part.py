r"""The largest expected positive part of a sum of m independent values, each of which has one of several laws.

.. math:: E\Bigl[\Bigl(\sum_{k \le m} X_k\Bigr)_+\Bigr]
          = \frac{1}{2\pi} \int_{-\infty}^{\infty} \frac{\prod_k M_{x_k}(\theta + iu)}{(\theta + iu)^2}\, du
          \le \max_x \frac1\pi \int_0^\infty \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du

for every :math:`\theta > 0` and every assignment of laws x to the values, with :math:`M_x(s) = E\, e^{s X}`: by Hölder's
inequality the integral of a product of m moduli is at most the product of the m-th roots of the integrals of their m-th powers,
and so at most the largest of these integrals. So one contour covers all data sets of a shuffle at once (`shuffling.replaced`).
It loses a phase only, some percent of the expectation where users are few, and less the farther out in a tail that is; what phases
gain is shown in `phases`. Mixtures of the laws are covered, too: the m-th root of the integral is a norm of the
transform, which is linear in the law.

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

*Noise.* Where values lie on a lattice of the width d, the modulus returns to 1 at each multiple of :math:`2\pi/d`. By convexity
:math:`E S_+ \le E(S + U)_+` for any independent U of mean 0. If U is uniform on [-a, a], with a next to d/2, the integrand has the
factor :math:`|\sinh as/as|` more, at :math:`s = \theta + iu`, which all assignments share, so that Hölder's inequality holds. That
is :math:`\prod_k |1 + (as)^2/(k\pi)^2|`, which falls in u for :math:`|as| \le \pi`, as

.. math:: \frac{\partial}{\partial y^2} \Bigl|1 + \frac{(x+iy)^2}c\Bigr|^2 = \frac2{c^2} (x^2 + y^2 - c),

and :math:`|\sinh as|^2 = \sinh^2 a\theta + \sin^2 au \le \sinh^2 a\theta + 1`.

Source: the integral is the inverse Laplace transform of :math:`x_+`, as in `positive_part`; the bound of the product is Hölder's.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from heapq import heappop, heappush
from typing import Self, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.phases import GAINED, WRONG, Cosines, Floats, turned, turning
from ldpaudit.accountants.numerics.positive_part import PointMass
from ldpaudit.accountants.numerics.quotient_integrals import by_moments
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.accountants.numerics.trapezoid import sums
from ldpaudit.core.cached import cached

_DEVIATIONS, _FIRST, _FINE, _FEW = 8.0, 32, 192, 4
"""Standard deviations of the integrand, or thetas, that are cut evenly; intervals there, at first and of the largest: chords are
too large by some 1e-3, and 1e-4. And laws up to which there is no first look."""
_RATIO, _FAR = 1.015, 64.0
"""Growth of the last ones beyond, and their end in standard deviations of one value, where they are too wide to be of use."""
_ROWS = 256  # points that are looked at together: with all of them, arrays leave the cache, for five times the time
_ROUNDS, _LIKELY = 6, 8  # laws by which the contour is chosen: those that are largest on one that others were
_LOWER, _ABOUT = 0.4, 0.1
"""How much lower than saddle points contours are tried, as moduli count where phases are not known; and the nats by which integrals
may differ from those of normal laws, by which the contour is chosen: else another one is tried, too.
"""
_NOISE = 0.4  # largest size of noise, in distances of the two likeliest values: it adds some percent of what it takes away
_CLOSE, _TRIED, _TOGETHER = 0.002, 9, 1 << 12
"""Nats in which the best contour is known, contours that are tried at once, and values up to which that is in one array."""
_FLOATS = 1e200  # largest value, and inverse of the least one, that floats can scale
_NATS = 1e3  # beyond which nothing is left to floats
_ROOM = 1e-12  # relative error of probabilities, differences, sums of up to a thousand floats and their exponentials


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A law in floats, which tell whether it matters, and itself, which is made if it does."""

    values: Floats
    masses: Floats  # each right to a relative 1e-12 or so
    off: Floats  # upper bounds of the errors of the values
    exact: Callable[[], Sequence[PointMass]]
    users: int = 1  # of how many of the m values that are added it is the sum

    @classmethod
    def of(cls, atoms: Sequence[PointMass]) -> Self:
        """Of values and their probabilities."""
        values, masses = (np.array([float(each) for each in column]) for column in zip(*atoms, strict=True))
        return cls(values, np.maximum(masses, 2.0**-1074), 1e-15 * np.abs(values), lambda: atoms)


@dataclass(frozen=True, slots=True, eq=False)
class _Floats:
    """Laws of values of at most 1, in floats, a row each; where some have fewer, the last is there again, with no probability."""

    values: Floats
    masses: Floats
    off: Floats
    users: NDArray[np.int64]  # of each law

    @classmethod
    def of(cls, laws: Sequence[Law], scale: float) -> Self:
        """Of values that are divided by the scale."""
        places = np.arange(max(len(law.values) for law in laws))
        rows = []
        for law in laws:
            at = np.minimum(places, len(law.values) - 1)
            rows.append((law.values[at] / scale, law.masses[at] * (at == places), law.off[at] / scale + 1e-15, law.users))
        return cls(*map(np.array, zip(*rows, strict=True)))

    def some(self, rows: NDArray[np.intp]) -> Self:
        """Some of the laws."""
        return type(self)(self.values[rows], self.masses[rows], self.off[rows], self.users[rows])

    def cumulants(self, theta: Floats | float) -> Floats:
        """Upper bounds of the logarithms of their moments, per value; on each contour, where these are several."""
        at = np.asarray(theta)[..., None, None]
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite one may have no probability
            room = np.exp(at * (self.values + self.off)) * (_ROOM + at * self.off)
            parts = self.masses * (np.expm1(at * self.values) + room)
        moved = np.where(self.masses > 0, parts, 0.0).sum(axis=-1)
        return np.asarray(np.log1p(np.maximum(moved, -1 + 2.0**-50)) / self.users, dtype=np.float64)

    def heights(self, theta: Floats | float, m: int) -> Floats:
        """The logarithms of the integrands where they are largest."""
        return np.asarray(m * self.cumulants(theta) - 2 * np.log(np.asarray(theta)[..., None]), dtype=np.float64)

    def levels(self, theta: Floats | float, m: int) -> Floats:
        """About the logarithms of the integrals on each contour, as if the tilted laws were normal."""
        from scipy.special import erfcx  # here: it takes a while to import

        at = np.asarray(theta)[..., None]
        narrowed = at * erfcx(at * self.deviations(self.tilted(theta)) * math.sqrt(m / 2))
        return np.asarray(self.heights(theta, m) + np.log(narrowed), dtype=np.float64)

    def deviations(self, tilted: Floats) -> Floats:
        """About the standard deviations of the tilted laws, per value."""
        squares = (self.values - (tilted * self.values).sum(axis=-1, keepdims=True)) ** 2
        return np.asarray(np.sqrt((tilted * squares).sum(axis=-1) / self.users), dtype=np.float64)

    def saddles(self, m: int) -> list[float]:
        """The saddle points of those that have a positive value."""
        rows = ((v, p, p > 0, n) for v, p, n in zip(self.values, self.masses, self.users, strict=True) if (v > 0).any())
        return [Tilt(v[kept], np.log(p[kept]), max(1, m // n)).saddle() for v, p, kept, n in rows]

    def turns(self, theta: float, tilted: Floats) -> Floats:
        """See `phases.turning`."""
        left = self.values - (tilted * self.values).sum(axis=1, keepdims=True)
        return turning(self.values, self._sizes(theta), tilted, left, self.users)

    def bounds(self, levels: Floats, theta: float, tilted: Floats, numbers: Sequence[int]) -> Floats:
        """See `quotient_integrals.by_moments`; of hundreds of nats by which something falls, a part is not known, as of masses."""
        wrong = _NATS * self._wrong(theta)[:, 0]
        return by_moments(levels + wrong, self.values, self._sizes(theta), tilted, theta, numbers, self.users)

    def _sizes(self, theta: float) -> Floats:
        """Of which the values are wrong by a part."""
        return np.asarray(np.abs(self.values) + (self.off + self._wrong(theta)) / WRONG, dtype=np.float64)

    def _wrong(self, theta: float) -> Floats:
        """The part of the tilted masses that is not known; of what they add up to it is no more."""
        return np.asarray(4 * theta * self.off.max(axis=1, keepdims=True) + 4 * _ROOM, dtype=np.float64)

    def tilted(self, theta: Floats | float) -> Floats:
        """The tilted masses."""
        found = self.masses * np.exp(np.asarray(theta)[..., None, None] * (self.values - self.values.max(axis=1, keepdims=True)))
        return np.asarray(found / found.sum(axis=-1, keepdims=True), dtype=np.float64)


_Level: TypeAlias = Callable[[_Floats, Floats | float, int], Floats]
"""About the logarithm of each law's part in the integral on each contour."""
_Integral: TypeAlias = Callable[..., float]
"""What is left of the integrand between two edges at most, and from each of the later ones on, to an upper bound of the logarithm
of its integral."""


def largest_positive_parts(
    laws: Sequence[Law], m: int, numbers: Sequence[int], most: float = math.inf, least: Sequence[flint.arb] = ()
) -> list[flint.arb]:
    """Upper bounds of the expected positive part of a sum of independent values, whatever law each has of the given ones.

    For each number of values, or for 1 alone, on one contour that is made for about m: of an integral that is log-convex in the
    number. A law may be that of the sum of several values, of which the number is at least twice as large. Laws of very different
    means cost time; mixtures of them are covered, too. Too large by about 1e-3 of itself where it is far out in a tail, and more
    where a bound is below each number's of `least`; infinite where floats do not hold the values, or more than `most` laws may be
    the largest. The precision must exceed their bits by 64.
    """
    if not any((law.values > -law.off).any() for law in laws) and all(v <= 0 for law in laws for v, _ in law.exact()):
        return [flint.arb(0)] * len(numbers)
    if 1 in numbers:
        means = (sum((p * v.max(flint.arb(0)) for v, p in law.exact()), flint.arb(0)) for law in laws)
        return [reduce(flint.arb.max, means).upper()] * len(numbers)
    scale = max(float(np.abs(law.values).max()) for law in laws)  # exact as a ball, whatever it is
    if not 1 / _FLOATS < scale < _FLOATS:
        return [flint.arb("inf")] * len(numbers)
    floats = _Floats.of(laws, scale)
    first = _Integrand(laws, floats, scale, m, _contour(floats, m, _Floats.levels), least)
    if len(laws) > most and first.likely(numbers[0]) > most:
        return [flint.arb("inf")] * len(numbers)
    found, is_normal = first.ends(numbers)
    if not is_normal:
        other, _ = _Integrand(laws, floats, scale, m, _contour(floats, m, _Floats.heights)).ends(numbers)
        found = min(found, other, key=lambda each: float(each[0]))
    return found


class _Integrand:
    """The transforms of the laws that matter for about m values, on one contour."""

    def __init__(
        self, laws: Sequence[Law], floats: _Floats, scale: float, m: int, theta: float, least: Sequence[flint.arb] = ()
    ) -> None:
        self._least = np.array([float((each / scale).log()) if each > 0 else -math.inf for each in least] or [-math.inf])
        self.m, self.unit, self.theta = m, flint.arb(scale), theta
        self._laws, self._floats, self._nats = laws, floats, floats.cumulants(self.theta)
        self._transforms: dict[int, _Transform] = {}
        self._tilted = floats.tilted(theta)
        deviation = floats.deviations(self._tilted).max() or 1.0
        self._edges = {even: _edges(deviation, theta, m, even) for even in (_FIRST, _FINE)}

    def ends(self, numbers: Sequence[int]) -> tuple[list[flint.arb], bool]:
        """Upper bounds for as many values, m or a little below; and whether these are about what the contour was chosen by."""
        found, integrals = self.by_moduli(numbers)
        gaps = (found.max(axis=1)[:, None] - found).min(axis=0)
        here = np.array([i for i, each in self._transforms.items() if gaps[i] <= GAINED and each.even == _FINE], dtype=np.int64)
        if not len(here):
            return [(self.unit * flint.arb(nats).exp()).upper() for nats in found.max(axis=1)], True

        def closer(cosines: Cosines) -> Floats:
            part = cosines(self._edges[_FINE])
            return np.array([[own[i](part) for i in here] for own in integrals])

        turns = self._floats.turns(self.theta, self._tilted)
        for i, each in self._transforms.items():
            turns[:, [i]] = each.turns
        less = turned(found, here, closer, turns, self.theta, numbers)
        less = min(less, self._with_noise(found, integrals), key=lambda each: float(each.sum()))
        is_normal = bool(found[0].max() < self._about(numbers[0]) + _ABOUT or (less <= self._least).all())
        return [(self.unit * flint.arb(nats).exp()).upper() for nats in less], is_normal

    def _with_noise(self, found: Floats, integrals: list[dict[int, _Integral]]) -> Floats:
        """Upper bounds of each number, without phases, where noise is added."""
        best = self._transforms[max(self._transforms, key=lambda i: float(found[0, i]))]
        order = np.argsort(best.masses)
        a = _NOISE * abs(float(best.values[order[-1]] - best.values[order[0 if len(order) < 2 else -2]]))
        x = a * self.theta
        if not 1e-4 < x < 10:  # none, or far too much
            return np.full(len(found), math.inf)
        less, parts = found.copy(), {}
        for even, edges in self._edges.items():
            y = a * edges
            above = np.minimum(1, x * math.sqrt(1 + 1 / math.sinh(x) ** 2) / np.hypot(x, y) * (1 + _ROOM))
            falls = np.hypot(x, y[1:]) < math.pi * (1 - _ROOM)
            near = np.minimum(1, x * np.sqrt(1 + (np.sin(y) / math.sinh(x)) ** 2) / np.hypot(x, y) * (1 + _ROOM))
            parts[even] = np.where(falls, near[:-1], above[:-1]), above[even:]
        for i, each in self._transforms.items():
            for j, own in enumerate(integrals):
                less[j, i] = own[i](*parts[each.even])
        return np.asarray(less.max(axis=1) + math.log(math.sinh(x) / x) + _ROOM, dtype=np.float64)

    def _about(self, m: int) -> float:
        """About the logarithm of the largest integral."""
        return float(self._floats.levels(self.theta, m).max()) - math.log(2)

    def likely(self, m: int) -> int:
        """How many laws may have it, or nearly."""
        return int((m * self._nats - math.log(2 * self.theta) > self._about(m) - GAINED).sum())

    def by_moduli(self, numbers: Sequence[int]) -> tuple[Floats, list[dict[int, _Integral]]]:
        """Of each number and law the logarithm of the bound without phases, and the integrals of those that may be the largest."""
        found = self._floats.bounds(np.multiply.outer(numbers, self._nats) + 1e-9, self.theta, self._tilted, numbers)
        integrals: list[dict[int, _Integral]] = [{} for _ in numbers]
        best, left = self._least, sorted((-level, i) for i, level in enumerate(found[0].tolist()))
        while left and not (found[:, left[0][1]] < best - GAINED).all():
            _, i = heappop(left)
            is_first = i not in self._transforms and len(self._laws) > _FEW
            even = _FIRST if is_first else _FINE
            if i in self._transforms:
                each = replace(self._transforms[i], edges=self._edges[even], even=even)
            else:
                each = _Transform.of(self._laws[i], self.unit, self.theta, self._edges[even], even)
            self._transforms[i] = each
            for j, m in enumerate(numbers):
                integrals[j][i] = each.integral(m)
                found[j, i] = min(found[j, i], integrals[j][i](1.0))
            if is_first:
                heappush(left, (-float(found[0, i]), i))
            else:
                best = np.maximum(best, found[:, i])
        return found, integrals


def _contour(laws: _Floats, m: int, level: _Level) -> float:
    """Where the largest of the laws' levels is about least."""
    squares = (laws.masses * laws.values**2).sum(axis=1) * np.where((laws.values > 0).any(axis=1), 1, 1e-300)
    (theta,) = laws.some(squares.argmax(keepdims=True)).saddles(m) or [1.0]
    rows = np.array([], dtype=np.intp)
    for _ in range(_ROUNDS):
        order = np.argsort(-level(laws, theta, m))
        if order[0] in rows:
            break
        rows = np.union1d(rows, order[:_LIKELY])
        theta = _lowest(laws.some(rows), m, level, theta)
    return theta


def _lowest(laws: _Floats, m: int, level: _Level, theta: float) -> float:
    """Where the largest level of these few is about least; next to theta where nothing is positive."""
    saddles = laws.saddles(m) or [theta]
    low, high = math.log(min(saddles)) - _LOWER, math.log(max(saddles))
    while high - low > _CLOSE:  # it is at first: see `_LOWER`
        tried = np.linspace(low, high, _TRIED)
        at = np.exp(tried)
        levels = level(laws, at, m) if laws.values.size <= _TOGETHER else np.array([level(laws, each, m) for each in at])
        best = int(np.nan_to_num(levels.max(axis=1), nan=math.inf).argmin())
        low, high = float(tried[max(best - 1, 0)]), float(tried[min(best + 1, _TRIED - 1)])
    return math.exp(float(tried[best]))


@dataclass(frozen=True, eq=False)
class _Transform:
    """That of one law, tilted by theta."""

    values: Floats  # less their mean
    masses: Floats
    moment: flint.arb  # by which the law was divided
    theta: float
    edges: Floats  # from 0 on, between which chords are taken
    even: int  # intervals that are alike, the first ones
    mean: float = 0.0
    users: int = 1

    @classmethod
    def of(cls, law: Law, unit: flint.arb, theta: float, edges: Floats, even: int) -> Self:
        """Of values that are divided by the unit."""
        values, masses = zip(*((value / unit, p) for value, p in law.exact() if not p == 0), strict=True)
        weights = [p * (theta * value).exp() for value, p in zip(values, masses, strict=True)]
        moment = sum(weights, flint.arb(0))
        mean = (sum((v * p for v, p in zip(values, weights, strict=True)), flint.arb(0)) / moment).mid()
        left, tilted = np.array([float(v - mean) for v in values]), np.array([float(p / moment) for p in weights])
        return cls(left, tilted, moment, theta, edges, even, float(mean), law.users)

    @property
    def turns(self) -> Floats:
        """See `phases.turning`."""
        w, a = self.values + self.mean, np.abs(self.values) + abs(self.mean)
        return turning(w[None], a[None], self.masses[None], self.values[None], self.users)

    @cached
    def variance(self) -> float:
        """Of one value, a little too large."""
        return float(self.masses @ self.values**2) * (1 + _ROOM)

    @cached
    def fallen(self) -> Floats:
        """Lower bounds of 1 minus the squared modulus, at the edges."""
        return np.concatenate([self._fallen(self.edges[i : i + _ROWS]) for i in range(0, len(self.edges), _ROWS)])

    def _fallen(self, u: Floats) -> Floats:
        halves = np.multiply.outer(u / 2, self.values)
        tangents = np.tan(halves)  # one function where there would be a sine and a cosine
        squares = tangents**2
        scale = 2 / (1 + squares)
        versed, sines = scale * squares, scale * tangents  # the transform is 1 - a + ib
        a, b, angles = sums(versed, self.masses), sums(sines, self.masses), 2 * np.abs(halves)
        # An angle is wrong by a relative 1e-15; so are sines up to a right angle, and beyond they are by that of the angle.
        blur = _ROOM * (a + np.abs(b) * sums(np.abs(sines), self.masses))
        blur += _ROOM * 1e-3 * sums(angles * (angles > 1), self.masses)
        return np.asarray(np.clip(2 * a - a**2 - b**2 - 4 * blur, 0.0, 1.0 - 1e-16), dtype=np.float64)

    def heights(self, m: float) -> tuple[Floats, Floats, Floats]:
        """Upper bounds of the modulus to the m: at the edges; between each two; and of minus its second derivative there."""
        least = np.minimum(self.fallen[:-1], self.fallen[1:]) - self.variance * np.diff(self.edges) ** 2 / 4 * (1 + _ROOM)
        between = np.log1p(-np.clip(least, 0.0, 1.0 - 1e-16))
        bent = m * self.variance * np.exp((m / 2 - 1) * between)
        return np.exp(m / 2 * np.log1p(-self.fallen)), np.exp(m / 2 * between), bent

    def tail(self, end: Floats, m: float) -> Floats:
        """Upper bounds of the integral of the modulus to the m over u squared, from each end on."""
        from scipy.special import i0e  # here: it takes a while to import

        r = int(self.masses.argmax())
        gaps = np.abs(self.values - self.values[r])[:, None]
        kappas = (m * self.masses[r] * self.masses * (1 - _ROOM))[:, None]
        with np.errstate(divide="ignore"):  # a value's own gap says nothing
            found = (i0e(kappas) * (1 / end + 2 * math.pi / gaps / end**2)).min(axis=0)
        return np.asarray(np.minimum(1 / end, found), dtype=np.float64)

    def integral(self, number: int) -> _Integral:
        """Upper bounds of the logarithm of the integral of this many values that have this law, over pi."""
        m = number / self.users
        heights, tops, bent = self.heights(m)
        weights, widths = 1 / (self.theta**2 + self.edges**2), np.diff(self.edges)
        near, far, w, v = heights[:-1], heights[1:], weights[:-1], weights[1:]
        chords = widths / 6 * (near * (2 * w + v) + far * (w + 2 * v))
        with np.errstate(over="ignore", invalid="ignore"):  # of values that are equal but for rounding intervals are very wide
            chords += widths**3 / 12 * (bent * w + 2 * self.theta**2 * w**3 * np.maximum(near, far))
            areas, beyond = np.fmin(chords, widths * tops * w), self.tail(self.edges[self.even :], m)
        level = float((m * self.moment.log()).upper())

        def nats(part: Floats | float, last: Floats | float = 1.0) -> float:
            totals = np.cumsum(areas * part)[self.even - 1 :] + beyond * last
            least = float(np.fmin.reduce(totals, initial=math.inf)) * (1 + 4 * _ROOM)
            return level + _ROOM * (1 + abs(level)) + math.log(min(least / math.pi, 1 / (2 * self.theta)))

        return nats


def _edges(deviation: float, theta: float, m: int, even: int) -> Floats:
    """For about m values of this standard deviation, of whose intervals this many are alike."""
    reach, ratio = min(_DEVIATIONS / (deviation * math.sqrt(m)), _DEVIATIONS * theta), _RATIO ** (_FINE / even)
    steps = max(1, math.ceil(math.log(max(_FAR / deviation, 2 * reach) / reach) / math.log(ratio)))
    return np.concatenate([np.linspace(0, reach, even + 1), reach * ratio ** np.arange(1, steps + 1)])
