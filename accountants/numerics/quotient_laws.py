r"""The largest expected positive part of a sum of quotients of probabilities: for many laws at once, by their moments.

The quotients are those of `shuffling.replaced`, :math:`W = (R_1(Y) - e^\varepsilon R_2(Y))/R(Y)` with Y of law R, all of the mean
:math:`1 - e^\varepsilon`. As in `largest_positive_part`, for every :math:`\theta > 0` and all laws x of one group,

.. math:: E\Bigl[\Bigl(\sum_{k \le m} W_{x_k}\Bigr)_+\Bigr]
          \le \max_x \frac1\pi \int_0^\infty \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du, \qquad
          |M_x(\theta + iu)|^m \le M_x(\theta)^m \exp\Bigl(-\frac m2 \Bigl(u^2 V - \frac{u^4}{24} F\Bigr)\Bigr)

where V is the variance of W under the law tilted by :math:`\theta`, and F the mean of :math:`(W - W')^4` for two of them: the
squared modulus of the tilted transform is the mean of :math:`\cos u(W - W') \le 1 - u^2 (W - W')^2/2 + u^4 (W - W')^4/24`. That
loses one part in m, or less. So three moments of each law do, which floats give for thousands of laws in some milliseconds.

How these are integrated `quotient_integrals` says, and what their phases gain `phases`.

*Rounding.* Values are computed from differences :math:`R_1 - R_2`, which do not cancel, to within 1e-15 of
:math:`a = (|R_1 - R_2| + (e^\varepsilon - 1) R_2)/R`, and their mean is known: what is summed is :math:`e^t - 1 - t`, of one sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.phases import ROOM, WRONG, Floats
from ldpaudit.accountants.numerics.quotient_integrals import COARSE, FINE, chords, integrals, logs, picked
from ldpaudit.accountants.numerics.spread import raised
from ldpaudit.core.cached import cached

_LEAST, _MOST = 1e-280, 1e280
"""Sizes between which floats and their fourth powers' ratios are not rounded to a few digits; else nothing is said."""
_SLIGHT = 2.0**-40  # least ``e**epsilon - 1``: times `WRONG` it is far above the differences' errors
_STEEPEST = 100.0  # largest exponent for which the errors above were counted
_SPANS = (2.0, 0.6, 0.2, 0.06)  # nats by which contours on either side are tried, one time after the other
_HIGHER = 0.1  # nats of an integrand up to which only the first one is taken
_NEARER, _FARTHEST = 0.8, 2.5
"""At a saddle point theta times the mean of a sum is 2. How much less it is next to 0; and thetas, in inverse standard deviations
of the sum, up to which it is."""
_LOOKS = 32
"""Looks at groups; the others keep the bound of their second moments, or the contour of these, which are good for a few percent."""
_CELLS = 1 << 15  # values that are looked at together: some milliseconds


@dataclass(frozen=True, eq=False)
class QuotientLaws:
    """Groups of laws, in floats: shape ``(groups, laws, cells)``, or what broadcasts to it.

    They are wrong by 1e-15 of themselves, the differences also by 2**-98 of R2. Of one group's laws, any may be that of any of the
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

    @classmethod
    def of_types(cls, types: Sequence[Floats]) -> Self | None:
        """One group of laws, each of R1 - R2, R2 and R, shape ``(cells, 3)``."""
        found = np.zeros((3, 1, len(types), max(map(len, types))))
        for i, each in enumerate(types):
            found[:, 0, i, : len(each)] = each.T
        return cls.of(*found)

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

    def laws(self, growth: flint.arb) -> list[Law]:
        """Of the first group."""
        rise, found = float(growth), []
        for d, r2, b in zip(self.differences[0], self.seconds[0], self.others[0], strict=True):
            kept = b > 0
            d, r2, b = d[kept], r2[kept], b[kept]
            d, r2 = float(self.rate) * d, float(self.rate) * r2 + float(1 - self.rate) * b
            values = (d - rise * r2 + WRONG * (np.abs(d) + rise * r2)) / b
            found.append(Law(values, raised(values, b, WRONG)))
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
        top, bottom = ((sign * w * most + WRONG * a * most).max(axis=1) for sign in (1, -1))
        top, bottom = np.maximum(top, 0), bottom + rise * still * (1 + ROOM)
        # Products with R, over R, have the sums of the differences, 0, and of the laws, 1.
        products = q**2 * squares, q**2 * sizes + 2 * q * still, q**2 * mixed, q**2 * alike + (2 * q + still) * still
        room = ROOM * (products[0] + 2 * rise * products[1] + rise**2 * products[3])
        second = products[0] - 2 * rise * products[2] + rise**2 * products[3]
        largest = (second + room).max(axis=1)
        theta = (rise + np.sqrt(rise**2 + 8 * largest / m)) / (2 * largest)
        steep = theta * top
        # e^x - 1 - x is at most this many times x^2/2 for x up to `steep`.
        bent = np.where(steep < 1e-3, 1 + steep, 2 * (np.expm1(steep) - steep) / steep**2) * (1 + ROOM)
        # The variance is at least a part of the second moment, less the square of a bound of the tilted mean.
        part = np.exp(-theta * bottom) / (1 + theta**2 * largest * bent / 2) * (1 - ROOM)
        mean = np.maximum(rise, theta * largest * np.exp(steep)) / (1 - theta * rise) * (1 + ROOM)
        ends = np.stack([largest, np.minimum(mean**2 / part, largest)], axis=1)
        variance = np.maximum(part[:, None] * ends - (mean**2)[:, None], 0)
        moved = theta[:, None] ** 2 * ends * bent[:, None] / 2 - (theta * rise)[:, None] * (1 - ROOM)
        moved += ROOM * np.abs(moved)
        fourth = 2 * variance * ((top + bottom) ** 2)[:, None] * (1 + ROOM)
        end = math.sqrt(6) / (top + bottom) * (1 - ROOM)
        ends, theta_of = np.repeat(end, 2), np.repeat(theta, 2)
        moments = variance.ravel(), fourth.ravel(), theta_of
        found = np.array([
            logs(number * moved.ravel(), theta_of, chords(*moments, number, COARSE, ends) + 1 / ends) for number in numbers
        ]).reshape(-1, *moved.shape).max(axis=2)
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
        found, *others = (integrals(w, a, b, each, rise, numbers, FINE if fine else COARSE) for each in tried)
        for other in others:
            found = np.where(other.sum(axis=0) < found.sum(axis=0), other, found)
        # Without a positive value no sum has one.
        found = np.where((w + WRONG * a <= 0).all(axis=(1, 2)), -math.inf, found)
        theta = np.max(tried, axis=0)
        usable = np.isfinite(theta) & ((theta[:, None, None] * a).max(axis=(1, 2)) < _STEEPEST)
        usable &= (a.max(axis=(1, 2)) < _MOST**0.25) & ~np.isnan(found).any(axis=0)
        return np.asarray(np.where(usable, found, math.inf), dtype=np.float64)


def _settled(w: Floats, b: Floats, theta: Floats, m: int) -> tuple[Floats, ...]:
    """Contours: the saddle point of the law that is largest there, or where a sum's mean is no tail, a little below it, for moduli
    are less there and phases nearer to 0; and where the largest of all moments, over theta squared, is about least, if that is
    less than there. Any contour gives a bound.
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
        aim = 2 - _NEARER * (1 - near * np.sqrt(m * variance) / _FARTHEST).clip(0)
        step = (m * mean - aim / near) / (m * variance + aim / near**2)
        near = np.where(np.isfinite(step), np.clip(near - step, near / 2, near * 2), near)

    def levels(theta: Floats) -> Floats:
        moments = (b * np.exp(theta[:, None, None] * w)).sum(axis=2).max(axis=1)
        return np.asarray(float(m) * np.log(moments) - 2 * np.log(theta), dtype=np.float64)

    for span in _SPANS:
        tried = least[:, None] * np.exp(span * np.linspace(-1, 1, 7))
        found = np.stack([levels(each) for each in tried.T], axis=1)
        least = picked(tried, np.where(np.isnan(found), math.inf, found).argmin(axis=1))
    return (near,) if (levels(near) < levels(least) + _HIGHER).all() else (near, least)
