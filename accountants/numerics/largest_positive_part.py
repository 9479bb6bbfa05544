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

How these integrals are bounded `transforms` says. The modulus is largest at 0, so that laws whose :math:`M_x(\theta)^m / 2\theta`
is below an integral that is known need none.

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
from functools import lru_cache
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.float_laws import ROUNDED, FloatLaws, Law, normal_levels
from ldpaudit.accountants.numerics.phases import GAINED, Cosines, Floats, turned
from ldpaudit.accountants.numerics.transforms import FINE, Integrals, Transforms, edges

_FIRST, _FEW, _TOGETHER = 32, 4, 16
"""Intervals at first, of which chords are too large by some 1e-3; laws up to which there is no first look; and how many are looked
at together."""
_ROUNDS, _LIKELY = 6, 8  # laws by which the contour is chosen: those that are largest on one that others were
_ABOUT = 0.1  # nats by which integrals may differ from those of normal laws, by which the contour is chosen: else another is tried
_NOISE = 0.4  # largest size of noise, in distances of the two likeliest values: it adds some percent of what it takes away
_REACH, _CLOSE, _CLOSER, _FARTHEST, _TRIED = 0.5, 0.002, 4, 20.0, 33
"""Nats within which contours are tried at first, and at last, by what factor less each time, and in all; and how many."""
_FLOATS = 1e200  # largest value, and inverse of the least one, that floats can scale

_Level: TypeAlias = Callable[[FloatLaws, float, int, Floats | float], Floats]
"""About the logarithm of each law's part in the integral, of a contour and of those that are some nats from there."""


def largest_positive_parts(
    laws: Sequence[Law], m: int, numbers: Sequence[int], least: Sequence[flint.arb] = ()
) -> list[flint.arb]:
    """Upper bounds of the expected positive part of a sum of independent values, whatever law each has of the given ones.

    For each number of values, on one contour that is made for about m: of an integral that is log-convex in the number, or where
    that says more, of the positive parts of all values. A law may be that of the sum of several values, of which the number is at
    least twice as large. Laws of very different means cost time; mixtures of them are covered, too. Too large by about 1e-3 of
    itself where it is far out in a tail, and more where a bound is below each number's of `least`; infinite where floats do not
    hold the values.
    """
    scale, one, floats = _scaled(tuple(laws))
    apart = [flint.arb(one) * number for number in numbers]  # positive parts of sums are at most sums of positive parts
    if 1 in numbers or one == 0 or floats is None:
        return apart
    first = _Integrand(laws, floats, scale, m, _contour(floats, m, FloatLaws.levels), least)
    if all(first.about(number) > math.log(number * one / scale) + _ABOUT for number in numbers):
        return apart
    found, is_normal = first.ends(numbers)
    if not is_normal:
        other, _ = _Integrand(laws, floats, scale, m, _contour(floats, m, FloatLaws.heights, first.theta)).ends(numbers)
        found = min(found, other, key=lambda each: float(each[0]))
    return found


@lru_cache(maxsize=4)
def _scaled(laws: tuple[Law, ...]) -> tuple[float, float, FloatLaws | None]:
    """Of the laws a power of two that is at least all values, the largest positive part of a single one, and all of them divided by
    that power; infinite parts where floats do not hold the values, and none where none is positive."""
    if not any((law.values > 0).any() for law in laws):
        return 0.0, 0.0, None
    scale = max(float(np.abs(law.values).max()) for law in laws)
    if not 1 / _FLOATS < scale < _FLOATS:
        return scale, math.inf, None
    one = max(float(law.masses @ law.values.clip(0)) / law.users for law in laws) * (1 + ROUNDED)
    scale = 2.0 ** math.frexp(scale)[1]
    return scale, one, FloatLaws.of(laws, scale)


class _Integrand:
    """The transforms of the laws that matter for about m values, on one contour."""

    def __init__(
        self, laws: Sequence[Law], floats: FloatLaws, scale: float, m: int, theta: float, least: Sequence[flint.arb] = ()
    ) -> None:
        self._least = np.array([float((each / scale).log()) if each > 0 else -math.inf for each in least] or [-math.inf])
        self.m, self.unit, self.theta = m, scale, theta
        self._laws, self._floats, self._nats = laws, floats, floats.cumulants(theta)
        self._tilted = floats.tilted(theta)
        self._turns = floats.turns(self._tilted)
        self._looks: list[tuple[NDArray[np.intp], Transforms, list[Integrals]]] = []  # at some laws, and later ones at fewer
        self._deviations = floats.deviations(self._tilted)
        self._edges = {even: edges(self._deviations.max() or 1.0, theta, m, even) for even in (_FIRST, FINE)}

    def ends(self, numbers: Sequence[int]) -> tuple[list[flint.arb], bool]:
        """Upper bounds for as many values, m or a little below; and whether these are about what the contour was chosen by."""
        found = self.by_moduli(numbers)
        gaps = (found.max(axis=1)[:, None] - found).min(axis=0)
        fine = [(rows, integrals) for rows, each, integrals in self._looks if each.even == FINE]
        here = np.concatenate([rows for rows, _ in fine] or [np.array([], dtype=np.intp)])
        if not (gaps[here] <= GAINED).any():
            return self._balls(found.max(axis=1)), True

        def closer(cosines: Cosines) -> Floats:
            part = cosines(self._edges[FINE])
            return np.array([np.concatenate([each[j].nats(part) for _, each in fine]) for j in range(len(numbers))])

        less = turned(found, here, closer, self._turns, self.theta, numbers)
        less = min(less, self._with_noise(found), key=lambda each: float(each.sum()))
        is_normal = bool(found[0].max() < self.about(numbers[0]) + _ABOUT or (less <= self._least).all())
        return self._balls(less), is_normal

    def _balls(self, nats: Floats) -> list[flint.arb]:
        return [(flint.arb(self.unit) * flint.arb(each).exp()).upper() for each in nats.tolist()]

    def _with_noise(self, found: Floats) -> Floats:
        """Upper bounds of each number, without phases, where noise is added."""
        best = max(((found[0, i], each, j) for rows, each, _ in self._looks for j, i in enumerate(rows)), key=lambda each: each[0])
        values, masses = best[1].values[best[2]], best[1].masses[best[2]]
        order = np.argsort(masses)
        a = _NOISE * abs(float(values[order[-1]] - values[order[0 if len(order) < 2 else -2]]))
        x = a * self.theta
        if not 1e-4 < x < 10:  # none, or far too much
            return np.full(len(found), math.inf)
        less, parts = found.copy(), {}
        for even, ends in self._edges.items():
            y = a * ends
            above = np.minimum(1, x * math.sqrt(1 + 1 / math.sinh(x) ** 2) / np.hypot(x, y) * (1 + ROUNDED))
            falls = np.hypot(x, y[1:]) < math.pi * (1 - ROUNDED)
            near = np.minimum(1, x * np.sqrt(1 + (np.sin(y) / math.sinh(x)) ** 2) / np.hypot(x, y) * (1 + ROUNDED))
            parts[even] = np.where(falls, near[:-1], above[:-1]), above[even:]
        for rows, each, integrals in self._looks:
            for j, own in enumerate(integrals):
                less[j, rows] = own.nats(*parts[each.even])
        return np.asarray(less.max(axis=1) + math.log(math.sinh(x) / x) + ROUNDED, dtype=np.float64)

    def about(self, m: int) -> float:
        """About the logarithm of the largest integral."""
        heights = m * self._nats - 2 * math.log(self.theta)
        return float(normal_levels(heights, self.theta, self._deviations, m).max()) - math.log(2)

    def by_moduli(self, numbers: Sequence[int]) -> Floats:
        """Of each number and law the logarithm of the bound without phases."""
        levels = np.multiply.outer(numbers, self._nats) + 1e-9
        found = levels - math.log(2 * self.theta)
        near = np.flatnonzero(found[0] > self.about(numbers[0]) - _ABOUT)  # others are left, unless these turn out to be less
        found[:, near] = self._floats.some(near).bounds(levels[:, near], self.theta, self._tilted[near], numbers)
        left, seen = np.ones(len(self._laws), dtype=np.bool_), np.full(len(self._laws), len(self._laws) <= _FEW)
        best = self._least[:, None]
        while (rows := np.flatnonzero(left & ~(found < best - GAINED).all(axis=0))).size:
            order = rows[np.argsort(-found[0, rows])]
            is_fine = seen[order[0]]
            # Of the largest some are looked at together, roughly, or closely while none is far below.
            usable = order[:_TOGETHER]
            usable = usable[(seen[usable] == is_fine).cumprod() > 0]
            if is_fine:
                usable = usable[found[0, usable] >= found[0, usable[0]] - GAINED]
            self._look(usable, FINE if is_fine else _FIRST, found, numbers)
            if is_fine:
                left[usable] = False
                best = np.maximum(best, found[:, usable].max(axis=1, keepdims=True))
            seen[usable] = True
        return found

    def _look(self, rows: NDArray[np.intp], even: int, found: Floats, numbers: Sequence[int]) -> None:
        """Bounds of some laws, by chords of this many intervals that are alike, take the place of what is found."""
        floats, tilted, nats, less = self._floats.some(rows), self._tilted[rows], self._nats[rows], found[:, rows]
        if even == FINE and any(self._laws[i].closer for i in rows):
            floats, less = FloatLaws.of([self._closer(i) for i in rows], self.unit), np.full_like(less, math.inf)
            tilted, nats = floats.tilted(self.theta), floats.cumulants(self.theta)
            self._turns[:, rows] = floats.turns(tilted)
        transforms = Transforms.of(floats, tilted, nats, self.theta, self._edges[even], even, self.m)
        integrals = [transforms.integrals(m) for m in numbers]
        self._looks.append((rows, transforms, integrals))
        found[:, rows] = np.fmin(less, [each.nats() for each in integrals])

    def _closer(self, i: int) -> Law:
        law = self._laws[i]
        return law if law.closer is None else law.closer()


def _normal(laws: FloatLaws, m: int) -> float:
    """Where the integrand would be least on the real line if the widest law were normal."""
    squares, means = ((laws.masses * each).sum(axis=1) for each in (laws.values**2, laws.values))
    widest = int((squares * np.where((laws.values > 0).any(axis=1), 1, 1e-300)).argmax())
    square, mean = float(squares[widest]), float(means[widest])
    return (math.sqrt(mean**2 + 8 * square / m) - mean) / (2 * square)


def _contour(laws: FloatLaws, m: int, level: _Level, near: float | None = None) -> float:
    """Where the largest of the laws' levels is about least, looked for from somewhere near, or as if the widest law were normal."""
    theta, rows = near or _normal(laws, m), np.array([], dtype=np.intp)
    for _ in range(_ROUNDS):
        order = np.argsort(-level(laws, theta, m, 0.0))
        if order[0] in rows:
            break
        rows = np.union1d(rows, order[:_LIKELY])
        theta = _lowest(laws.some(rows), m, level, theta)
    return theta


def _lowest(laws: FloatLaws, m: int, level: _Level, theta: float) -> float:
    """Where the largest level of these few is about least; not far from theta where nothing is positive."""
    first, reach, before = math.log(theta), _REACH, 0.0
    while reach > _CLOSE:
        nats = np.linspace(-reach, reach, _TRIED)
        moved = float(nats[np.nan_to_num(level(laws, theta, m, nats).max(axis=1), nan=math.inf).argmin()])
        theta *= math.exp(moved)
        if abs(moved) < reach or moved * before < 0 or abs(math.log(theta) - first) > _FARTHEST:
            reach /= _CLOSER
        before = moved
    return theta
