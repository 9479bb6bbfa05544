r"""The largest expected positive part of a sum of quotients of probabilities: for many laws at once, by their moments.

The quotients are those of `shuffling.replaced`, :math:`W = (R_1(Y) - e^\varepsilon R_2(Y))/R(Y)` with Y of law R, all of the mean
:math:`1 - e^\varepsilon`. As in `largest_positive_part`, for every :math:`\theta > 0` and all laws x of one group,

.. math:: E\Bigl[\Bigl(\sum_{k \le m} W_{x_k}\Bigr)_+\Bigr]
          \le \max_x \frac1\pi \int_0^\infty \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du, \qquad
          |M_x(\theta + iu)|^m \le M_x(\theta)^m \exp\Bigl(-\frac m2 \Bigl(u^2 V - \frac{u^4}{24} F\Bigr)\Bigr)

where V is the variance of W under the law tilted by :math:`\theta`, and F the mean of :math:`(W - W')^4` for two of them: the
squared modulus of the tilted transform is the mean of :math:`\cos u(W - W') \le 1 - u^2 (W - W')^2/2 + u^4 (W - W')^4/24`. That
loses one part in m, or less. So three moments of each law do, which floats give for thousands of laws in some milliseconds.

As a function of :math:`u^2`, and up to :math:`u^2 = 12 V/F`, the bound over :math:`\theta^2 + u^2` is convex and falls: chords are
above it, and are integrated exactly. Beyond, two values at the distance d, of the probabilities p
and q, give :math:`e^{-\kappa (1 - \cos du)}` with :math:`\kappa = mpq` as in `largest_positive_part`: up to :math:`u = \pi/d` that
falls, and there another value that is nearer takes over, with a longer period; each period of the last one has the mean
:math:`e^{-\kappa} I_0(\kappa)`.

*Rounding.* Values are computed from differences :math:`R_1 - R_2`, which do not cancel, to within 1e-15 of
:math:`a = (|R_1 - R_2| + (e^\varepsilon - 1) R_2)/R`, and their mean is known: what is summed is :math:`e^t - 1 - t`, of one sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.largest_positive_part import Law
from ldpaudit.accountants.numerics.positive_part import PointMass
from ldpaudit.core.cached import cached

Floats: TypeAlias = NDArray[np.float64]

_ROOM = 1e-11  # relative error of sums of positive floats, some thousands of them, and of their exponentials, with room
_WRONG = 1e-14  # error of a value over its a, with room: six roundings
_LEAST, _MOST = 1e-280, 1e280
"""Sizes between which floats and their fourth powers' ratios are not rounded to a few digits; else nothing is said."""
_SLIGHT = 2.0**-40  # least ``e**epsilon - 1``: times `_WRONG` it is far above the differences' errors
_STEEPEST = 100.0  # largest exponent for which the errors above were counted
_DEVIATIONS = 8.0  # standard deviations of the integrand that are cut evenly; beyond, in equal ratios
_FIRST, _COARSE, _FINE, _BEYOND = 24, 96, 384, 192
"""Intervals, of all laws that may be the largest, and of those left. With 384 and 192 the chords add 1e-5 to the integral."""
_STEPS, _FALLEN = 4, 16.0
"""Values that are used one after the other beyond that, and the nats that each has lost where it is first used."""
_SEEN, _DOUBLINGS, _SOME = 1e-4, 24, 0.1
"""Part of the integral from which on what is beyond is looked at in intervals, how many, and the nats that a law must have lost
where one begins."""
_ANCHORS = (0.0, 0.5, 0.999)
"""Where the likeliest value lies in its block: the best of these is taken."""
_SPANS = (2.0, 0.6, 0.2, 0.06)
"""Nats by which contours on either side are tried, one time after the other."""
_LOOKS = 32
"""Looks at groups; the others keep the bound of their second moments, or the contour of these, which are good for a few percent."""
_CELLS = 1 << 15  # values that are looked at together: some milliseconds


@dataclass(frozen=True, eq=False)
class QuotientLaws:
    """Groups of laws, in floats: shape ``(groups, laws, cells)``, or what broadcasts to it.

    They are wrong by 1e-15 of themselves, the differences also by 2**-100 of R2. Of one group's laws, any may be that of any of the
    values that are added. Cells of 0 are padding.
    """

    differences: Floats  # R1 - R2, which sum to 0
    seconds: Floats  # R2, which sum to 1
    others: Floats  # R, which sum to 1
    rate: Fraction = Fraction(1)  # in place of R1 and R2 are mixtures of them, with this probability, and of R

    @classmethod
    def of(cls, differences: Floats, seconds: Floats, others: Floats) -> Self | None:
        """None where floats do not hold them."""
        for each in (differences, seconds, others):
            sizes = np.abs(each[each != 0])
            if not (np.isfinite(each).all() and (sizes > _LEAST).all()):
                return None
        is_lost = (others == 0) & ((differences != 0) | (seconds != 0))  # a probability below all floats, which is no padding
        return None if is_lost.any() else cls(differences, seconds, others)

    def drawn(self, rate: Fraction) -> QuotientLaws:
        """Of R1 and R2 which, but for this probability, are R."""
        return replace(self, rate=self.rate * rate)

    def part(self, rate: Fraction) -> QuotientLaws:
        """Of the same views with this probability, and else of one that all laws have."""
        q, more = float(rate), ((0, 0), (0, 0), (0, 1))
        d, r2, b = (np.pad(q * each, more, constant_values=rest) for each, rest in (
            (self.differences, 0.0), (self.seconds, float(1 - rate)), (self.others, float(1 - rate))
        ))  # fmt: skip
        return replace(self, differences=d, seconds=r2, others=b)

    def log_ends(self, growth: flint.arb, m: int, numbers: Sequence[int]) -> list[float]:
        """Upper bounds of the logarithm of the largest of the groups' expectations; inf where none is known.

        Of integrals that are log-convex in the number of values that are added.

        ``growth``: ``e**epsilon - 1``; ``m``: about how many values the contours are made for; ``numbers``: how many are added.
        """
        rise = max(float(growth), _SLIGHT)
        if not rise < math.sqrt(_MOST):
            return [math.inf] * len(numbers)
        with np.errstate(all="ignore"):
            found = self._ends(rise, m, numbers)
        # Where it is smaller, the values are larger by what the mean is.
        added = -math.inf if float(growth) >= rise else math.log(rise * max(numbers))
        return list(map(float, np.logaddexp(found, added)))

    def _ends(self, rise: float, m: int, numbers: Sequence[int]) -> Floats:
        """Of each number; the bounds of one group are replaced together, as they have one contour."""
        if self.shape[0] == 1:
            return self._bounds(np.zeros(1, dtype=np.int64), rise, m, numbers, True)[:, 0]
        found, steps = self._rough(rise, m, numbers), np.zeros(self.shape[0], dtype=np.int64)
        for _ in range(_LOOKS):
            tops = found.argmax(axis=1)[steps[found.argmax(axis=1)] < 2]
            best = int(tops[0]) if len(tops) else 0
            if not len(tops) or found[:, best].max() == -math.inf:
                break
            # The next groups by their rough bounds are looked at together, and the one that is largest then by itself.
            rows = np.flatnonzero(steps == 0)
            if steps[best] == 0:
                size = max(1, _CELLS // math.prod(self.shape[1:]))
                rows = rows[np.argsort(-found[0, rows])[:size]]
                rows = rows if best in rows else np.append(rows, best)
            else:
                rows = np.array([best])
            steps[rows] += 1
            closer = self._bounds(rows, rise, m, numbers, steps[best] == 2)
            found[:, rows] = np.where(closer.sum(axis=0) < found[:, rows].sum(axis=0), closer, found[:, rows])
        return np.asarray(found.max(axis=1), dtype=np.float64)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Groups, laws of each, and cells."""
        groups, laws, cells = np.broadcast_shapes(self.differences.shape, self.seconds.shape, self.others.shape)
        return groups, laws, cells

    def laws(self, growth: flint.arb, exact: Sequence[Callable[[], Sequence[PointMass]]]) -> list[Law]:
        """Of the first group, each with what makes it in balls."""
        rise, found = float(growth), []
        for d, r2, b, made in zip(self.differences[0], self.seconds[0], self.others[0], exact, strict=True):
            kept = b > 0
            d, r2, b = d[kept], r2[kept], b[kept]
            d, r2 = float(self.rate) * d, float(self.rate) * r2 + float(1 - self.rate) * b
            found.append(Law((d - rise * r2) / b, b, _WRONG * (np.abs(d) + rise * r2) / b, made))
        return found

    def widest(self, count: int) -> list[tuple[int, int]]:
        """Groups, and laws of theirs, whose values are spread most where ``growth`` is 0, for the sums of many."""
        spread = self._products[1][0]
        order = np.argsort(-spread, axis=None, kind="stable")[:count]
        return [(int(i), int(j)) for i, j in zip(*np.unravel_index(order, spread.shape), strict=True)]

    def _rough(self, rise: float, m: int, numbers: Sequence[int]) -> Floats:
        """Of each number and group, by its laws' second moments: exponents are linear in them, and the integral of an exponential
        is convex in its exponent, so that the largest one is enough with the largest one at which the variance may be 0.
        """
        if math.prod(self.shape) <= _CELLS or self.differences.shape[1] > 1 or len(self.others) > 1:
            return np.full((len(numbers), self.shape[0]), math.inf)
        most, (squares, sizes, mixed, alike) = self._products
        d, r2 = self.differences[:, 0], self.seconds[:, 0]
        q, still = float(self.rate), float(1 - self.rate)
        w, a = q * (d - rise * r2), q * (np.abs(d) + rise * r2)
        # Bounds of the values: some of them are negative, for their mean is.
        top, bottom = ((sign * w * most + _WRONG * a * most).max(axis=1) for sign in (1, -1))
        top, bottom = np.maximum(top, 0), bottom + rise * still * (1 + _ROOM)
        # Products with R, over R, have the sums of the differences, 0, and of the laws, 1.
        products = q**2 * squares, q**2 * sizes + 2 * q * still, q**2 * mixed, q**2 * alike + (2 * q + still) * still
        room = _ROOM * (products[0] + 2 * rise * products[1] + rise**2 * products[3])
        second = products[0] - 2 * rise * products[2] + rise**2 * products[3]
        largest = (second + room).max(axis=1)
        theta = (rise + np.sqrt(rise**2 + 8 * largest / m)) / (2 * largest)
        steep = theta * top
        # e^x - 1 - x is at most this many times x^2/2 for x up to `steep`.
        bent = np.where(steep < 1e-3, 1 + steep, 2 * (np.expm1(steep) - steep) / steep**2) * (1 + _ROOM)
        # The variance is at least a part of the second moment, less the square of a bound of the tilted mean.
        part = np.exp(-theta * bottom) / (1 + theta**2 * largest * bent / 2) * (1 - _ROOM)
        mean = np.maximum(rise, theta * largest * np.exp(steep)) / (1 - theta * rise) * (1 + _ROOM)
        ends = np.stack([largest, np.minimum(mean**2 / part, largest)], axis=1)
        variance = np.maximum(part[:, None] * ends - (mean**2)[:, None], 0)
        moved = theta[:, None] ** 2 * ends * bent[:, None] / 2 - (theta * rise)[:, None] * (1 - _ROOM)
        moved += _ROOM * np.abs(moved)
        fourth = 2 * variance * ((top + bottom) ** 2)[:, None] * (1 + _ROOM)
        end = math.sqrt(6) / (top + bottom) * (1 - _ROOM)
        ends, theta_of = np.repeat(end, 2), np.repeat(theta, 2)
        chords = (_chords(variance.ravel(), fourth.ravel(), theta_of, number, _COARSE, ends) for number in numbers)
        found = np.array([
            _logs(float(number) * moved.ravel(), theta_of, each + 1 / ends).reshape(moved.shape).max(axis=1)
            for number, each in zip(numbers, chords, strict=True)
        ])
        usable = np.isfinite(theta) & (theta * rise < 0.5) & (theta * (top + bottom) < _STEEPEST) & ~np.isnan(found).any(axis=0)
        return np.asarray(np.where(usable, found, math.inf), dtype=np.float64)

    @cached
    def _products(self) -> tuple[Floats, Floats]:
        """The largest 1/R of each cell; and sums over cells of products of R1 - R2 and R2, over R, shape ``(4, groups, laws)``."""
        d, r2, b = self.differences[:, 0], self.seconds[:, 0], self.others[0]
        inverse = np.where(b > 0, 1 / b, 0.0)
        return inverse.max(axis=0), np.stack([each @ inverse.T for each in (d * d, np.abs(d) * r2, d * r2, r2 * r2)])

    def _bounds(self, rows: NDArray[np.int64], rise: float, m: int, numbers: Sequence[int], fine: bool) -> Floats:
        """Of each number and each of some groups."""
        d, r2, b = (each[rows] if len(each) > 1 else each for each in (self.differences, self.seconds, self.others))
        if self.rate < 1:
            d, r2 = float(self.rate) * d, float(self.rate) * r2 + float(1 - self.rate) * b
        inverse = np.where(b > 0, 1 / b, 0.0)
        w, a = (d - rise * r2) * inverse, (np.abs(d) + rise * r2) * inverse
        second = ((b * w * w).sum(axis=2)).max(axis=1)
        theta = (rise + np.sqrt(rise**2 + 8 * second / m)) / (2 * second)
        tried = _settled(w, b, theta, m) if fine else (theta,)
        found, *others = (_integrals(w, a, b, each, rise, numbers, _FINE if fine else _COARSE) for each in tried)
        for other in others:
            found = np.where(other.sum(axis=0) < found.sum(axis=0), other, found)
        # Without a positive value no sum has one.
        found = np.where((w + _WRONG * a <= 0).all(axis=(1, 2)), -math.inf, found)
        theta = np.max(tried, axis=0)
        usable = np.isfinite(theta) & ((theta[:, None, None] * a).max(axis=(1, 2)) < _STEEPEST)
        usable &= (a.max(axis=(1, 2)) < _MOST**0.25) & ~np.isnan(found).any(axis=0)
        return np.asarray(np.where(usable, found, math.inf), dtype=np.float64)


def _settled(w: Floats, b: Floats, theta: Floats, m: int) -> tuple[Floats, ...]:
    """Contours: the saddle point of the law that is largest there, and where the largest of all moments, over theta squared, is
    about least, if that is another one. Any contour gives a bound.
    """
    near, least = theta, theta
    for _ in range(4):
        weights = b * np.exp(near[:, None, None] * w)
        totals = weights.sum(axis=2)
        top = totals.argmax(axis=1)
        at = np.arange(len(near)), top
        tilted = weights[at] / totals[at][:, None]
        values = w[at]
        mean = (tilted * values).sum(axis=1)
        variance = (tilted * values**2).sum(axis=1) - mean**2
        step = (m * mean - 2 / near) / (m * variance + 2 / near**2)
        near = np.where(np.isfinite(step), np.clip(near - step, near / 2, near * 2), near)
    for span in _SPANS:
        tried = least[:, None] * np.exp(span * np.linspace(-1, 1, 7))
        moments = np.stack([(b * np.exp(each[:, None, None] * w)).sum(axis=2).max(axis=1) for each in tried.T], axis=1)
        levels = float(m) * np.log(moments) - 2 * np.log(tried)
        least = _picked(tried, np.where(np.isnan(levels), math.inf, levels).argmin(axis=1))
    return (near,) if np.allclose(near, least, rtol=_SPANS[-1] / 3) else (near, least)


def _integrals(w: Floats, a: Floats, b: Floats, theta: Floats, rise: float, numbers: Sequence[int], count: int) -> Floats:
    """Logarithms of upper bounds, of each number of values and each group's largest law."""
    groups, laws, cells = w.shape
    w, a, b = (np.broadcast_to(each, w.shape).reshape(-1, cells) for each in (w, a, b))
    theta = np.repeat(theta, laws)
    t = theta[:, None] * w
    growth = np.exp(t)
    series = t * t / 2 * (1 + t / 3 * (1 + t / 4 * (1 + t / 5 * (1 + t / 6 * (1 + t / 7)))))
    risen = np.where(np.abs(t) < 0.01, series, growth - 1 - t)
    blur = _WRONG * (theta[:, None] * a) ** 2 * np.maximum(growth, 1)
    moved = (b * (risen + blur)).sum(axis=1) * (1 + _ROOM) - theta * rise * (1 - _ROOM)
    nats = np.log1p(moved)
    nats += _ROOM * np.abs(nats)

    weights = b * growth
    tilted = weights / weights.sum(axis=1, keepdims=True)
    left = w - (tilted * w).sum(axis=1, keepdims=True)
    squares = (tilted * left**2).sum(axis=1)
    variance = np.maximum(squares * (1 - _ROOM) - 10 * _WRONG * (tilted * a**2).sum(axis=1), 0)
    fourth = 2 * (tilted * left**4).sum(axis=1) + 6 * squares**2
    fourth = fourth * (1 + _ROOM) + 100 * _WRONG * (tilted * a**4).sum(axis=1)
    end = np.sqrt(12 * variance / fourth) * (1 - _ROOM)

    def largest(m: int) -> Floats:
        # Only laws are looked at further that may be the largest of their group: by all that is known without an integral, then
        # by all but what is beyond the ends. The whole integral is about that of a normal law.
        levels = float(m) * nats
        top = levels.reshape(groups, laws).argmax(axis=1) + laws * np.arange(groups)
        own = _chords(variance[top], fourth[top], theta[top], m, count, end[top])
        least, found = np.repeat(levels[top] + np.log(own / np.pi), laws), levels - np.log(2 * theta)
        kept = np.flatnonzero(~(found < least))
        apart = _far(w[kept], a[kept], tilted[kept], m, end[kept])
        rough = _chords(variance[kept], fourth[kept], theta[kept], m, _FIRST, end[kept])
        found[kept] = _logs(levels[kept], theta[kept], rough + apart)
        left = ~(found[kept] < least[kept])
        kept, apart = kept[left], apart[left]
        near, angle, ends, limit = levels[kept], theta[kept], end[kept], least[kept]
        chords = _chords(variance[kept], fourth[kept], angle, m, count, ends)
        seen = ~(apart * angle**2 * np.sqrt(float(m) * variance[kept]) < _SEEN)
        large = np.flatnonzero(seen & ~(_logs(near, angle, chords + apart) < limit))
        if len(large):
            values, sizes, masses = (each[kept[large]] for each in (w, a, tilted))
            passed, reached = _falling(values, masses, 2 * _WRONG * sizes.max(axis=1), m, ends[large])
            apart[large] = np.minimum(apart[large], passed + _far(values, sizes, masses, m, reached))
        found[kept] = _logs(near, angle, chords + apart)
        return np.asarray(found.reshape(groups, laws).max(axis=1), dtype=np.float64)

    return np.array([largest(m) for m in numbers])


def _far(w: Floats, a: Floats, tilted: Floats, m: int, end: Floats) -> Floats:
    """Of each law, the integral of its bound over u squared from its end on, by pairs of values, one of them the likeliest."""
    likeliest = tilted.argmax(axis=1)[:, None]
    blurs = _WRONG * (a + _picked(a, likeliest))
    gaps = np.abs(w - _picked(w, likeliest)) - blurs
    widest = gaps + 2 * blurs
    kappas = float(m) * _picked(tilted, likeliest) * tilted * (1 - _ROOM)
    # One value after the other takes the bound further, as long as it has fallen; any do.
    reached, passed = end, np.zeros(len(w))
    for _ in range(_STEPS):
        falls = 2 * kappas * (gaps * reached[:, None] / np.pi) ** 2
        usable = (gaps > 0) & (falls > _FALLEN) & (widest * reached[:, None] < np.pi * (1 - _ROOM))
        other = np.where(usable, widest, math.inf).argmin(axis=1)[:, None]
        further, fall, gap = (_picked(each, other)[:, 0] for each in (usable, falls, widest))
        passed = passed + np.where(further, np.exp(-fall) / reached, 0)
        reached = np.where(further, np.pi / gap * (1 - 3 * _ROOM), reached)
    from scipy.special import i0e  # here: it takes a while to import

    # Of the last one its periods are added; it is the one by which these are least.
    from_here, mean = reached[:, None], i0e(kappas)
    first = np.exp(-2 * kappas * (gaps * from_here / np.pi) ** 2) / from_here + mean * widest * np.pi / 4
    later = mean * (1 / from_here + 2 * np.pi / gaps / from_here**2)
    periods = np.where(gaps > 0, np.where(widest * from_here < np.pi * (1 - _ROOM), first, later), math.inf).min(axis=1)
    return np.asarray(passed + np.minimum(periods, 1 / reached), dtype=np.float64)


def _falling(w: Floats, tilted: Floats, blur: Floats, m: int, end: Floats) -> tuple[Floats, Floats]:
    """Of each law, the integral of its bound from its end on, as far as it falls, and how far that is."""
    order = w.argsort(axis=1)
    values, masses = np.take_along_axis(w, order, 1), np.take_along_axis(tilted, order, 1)
    values = values - _picked(values, masses.argmax(axis=1)[:, None])
    passed, reached = np.zeros(len(end)), end
    for _ in range(_DOUBLINGS):
        width = (np.pi / 2 / reached * (1 - _ROOM) - blur).clip(0)
        spread = np.max([_within_blocks(values, masses, width[:, None], at) for at in _ANCHORS], axis=0)
        room = 2 * width * blur  # of all pairs, whose masses are at most 1 together
        falls = 2 * float(m) * (reached / np.pi) ** 2 * (spread - room).clip(0) * (1 - _ROOM)
        further = falls > _SOME
        if not further.any():
            break
        passed = passed + np.where(further, np.exp(-falls) / (2 * reached), 0)
        reached = np.where(further, 2 * reached, reached)
    return passed, reached


def _within_blocks(values: Floats, masses: Floats, width: Floats, at: float) -> Floats:
    """Of each law, the sum over pairs of values in one block of this width, of their masses and squared distance: a lower bound.

    ``values``: rising, less the likeliest one, which lies at this part of its block.
    """
    with np.errstate(all="ignore"):
        block = np.floor(values / width + at)
        begins = np.diff(block, axis=1, prepend=-math.inf) > 0
    begins[:, 0] = True
    within = values - (block - at) * width
    starts = np.flatnonzero(begins)
    mass, first, second = (np.add.reduceat((masses * each).ravel(), starts) for each in (1.0, within, within**2))
    parts = (mass * second * (1 - _ROOM) - first**2).clip(0)
    return np.asarray(np.add.reduceat(parts, np.searchsorted(starts, values.shape[1] * np.arange(len(values)))), dtype=np.float64)


def _picked(values: NDArray[Any], places: NDArray[np.intp]) -> NDArray[Any]:
    """One value of each row, as `numpy.take_along_axis` picks it, in a third of the time."""
    rows = values.reshape(places.size, values.shape[-1])
    return rows[np.arange(len(rows)), places.ravel()].reshape(places.shape)


def _chords(variance: Floats, fourth: Floats, theta: Floats, m: int, count: int, end: Floats) -> Floats:
    """Upper bounds of the integral up to each law's end, from its moments."""
    reach = np.minimum(np.minimum(_DEVIATIONS / np.sqrt(float(m) * variance), 256 * theta), end)
    steps = np.arange(1, _BEYOND * count // _FINE + 1) * _FINE / (_BEYOND * count)
    ratios = np.exp(np.multiply.outer(np.log(end / reach), steps))
    edges = np.concatenate([np.multiply.outer(reach, np.linspace(0, 1, count + 1)), reach[:, None] * ratios], axis=1)
    v = np.minimum(edges, end[:, None], out=edges) ** 2
    heights = np.exp(-float(m) / 2 * (1 - _ROOM) * fallen(v, variance[:, None], fourth[:, None])) / (theta[:, None] ** 2 + v)
    near, far = edges[:, :-1], edges[:, 1:]
    share = (far + 2 * near) / (3 * (far + near))  # of the further end, in the integral of a chord
    return np.asarray(((far - near) * (heights[:, :-1] * (1 - share) + heights[:, 1:] * share)).sum(axis=1), dtype=np.float64)


def _logs(levels: Floats, theta: Floats, integrals: Floats) -> Floats:
    """Logarithms of upper bounds. Of a constant nothing is known but that a modulus is at most that at 0."""
    return np.asarray(levels + np.log(np.fmin(integrals, np.pi / (2 * theta)) * (1 + _ROOM) / np.pi), dtype=np.float64)


def fallen(v: Floats, variance: Floats, fourth: Floats) -> Floats:
    """Lower bound of what the logarithm of a transform's squared modulus loses from 0 to the root of `v`."""
    return np.asarray(v * (variance - v * fourth / 24), dtype=np.float64)
