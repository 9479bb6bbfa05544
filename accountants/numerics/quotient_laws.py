r"""The largest expected positive part of a sum of quotients of probabilities: for many laws at once, by their moments.

The quotients are those of `shuffling.replaced`, :math:`W = (R_1(Y) - e^\varepsilon R_2(Y))/R(Y)` with Y of law R, all of the mean
:math:`1 - e^\varepsilon`. As in `largest_positive_part`, for every :math:`\theta > 0` and all laws x of one group,

.. math:: E\Bigl[\Bigl(\sum_{k \le m} W_{x_k}\Bigr)_+\Bigr]
          \le \frac1\pi \int_0^\infty \max_x \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du, \qquad
          |M_x(\theta + iu)|^m \le M_x(\theta)^m \exp\Bigl(-\frac m2 \Bigl(u^2 V - \frac{u^4}{24} F\Bigr)\Bigr)

where V is the variance of W under the law tilted by :math:`\theta`, and F the mean of :math:`(W - W')^4` for two of them: the
squared modulus of the tilted transform is the mean of :math:`\cos u(W - W') \le 1 - u^2 (W - W')^2/2 + u^4 (W - W')^4/24`. That
loses one part in m, or less. So three moments of each law do, which floats give for thousands of laws in some milliseconds.

As a function of :math:`u^2`, and up to the least :math:`u^2 = 12 V/F`, each bound over :math:`\theta^2 + u^2` is convex and falls,
and so is the largest: chords are above it, and are integrated exactly. Beyond, two values at the distance d, of the probabilities p
and q, give :math:`e^{-\kappa (1 - \cos du)}` with :math:`\kappa = mpq` as in `largest_positive_part`: up to :math:`u = \pi/d` that
falls, and each period from there on has the mean :math:`e^{-\kappa} I_0(\kappa)`.

*Rounding.* Values are computed from differences :math:`R_1 - R_2`, which do not cancel, to within 1e-15 of
:math:`a = (|R_1 - R_2| + (e^\varepsilon - 1) R_2)/R`, and their mean is known: what is summed is :math:`e^t - 1 - t`, of one sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import i0e

Floats: TypeAlias = NDArray[np.float64]

_ROOM = 1e-11
"""Relative error of sums of positive floats, some thousands of them, and of their exponentials, with room."""
_WRONG = 1e-14
"""Error of a value over its a, with room: six roundings."""
_LEAST, _MOST = 1e-280, 1e280
"""Sizes between which floats and their fourth powers' ratios are not rounded to a few digits; else nothing is said."""
_SLIGHT = 2.0**-40
"""Least ``e**epsilon - 1``: times `_WRONG` it is far above the differences' errors."""
_STEEPEST = 100.0
"""Largest exponent for which the errors above were counted."""
_DEVIATIONS = 8.0
"""Standard deviations of the integrand that are cut evenly; beyond, in equal ratios."""
_COARSE, _FINE, _BEYOND = 48, 384, 160
"""Intervals. With 384 and 160 the chords add 1e-5 to the integral."""
_REFINED = 48
"""Groups whose contour is settled by Newton's method; the others have that of their second moments, good for a few percent."""
_CELLS = 1 << 20
"""Values that are looked at together, for memory."""


@dataclass(frozen=True, eq=False)
class QuotientLaws:
    """Groups of laws, in floats: shape ``(groups, laws, cells)``, or what broadcasts to it.

    They are wrong by 1e-15 of themselves, the differences also by 2**-100 of R2. Of one group's laws, any may be that of any of the
    values that are added. Cells of 0 are padding.
    """

    differences: Floats  # R1 - R2, which sum to 0
    seconds: Floats  # R2, which sum to 1
    others: Floats  # R, which sum to 1

    @classmethod
    def of(cls, differences: Floats, seconds: Floats, others: Floats) -> Self | None:
        """None where floats do not hold them."""
        for each in (differences, seconds, others):
            sizes = np.abs(each[each != 0])
            if not (np.isfinite(each).all() and (sizes > _LEAST).all()):
                return None
        return cls(differences, seconds, others)

    def drawn(self, rate: Fraction) -> QuotientLaws:
        """Of R1 and R2 which, but for this probability, are R."""
        seconds = float(rate) * self.seconds + float(1 - rate) * self.others
        return QuotientLaws(float(rate) * self.differences, seconds, self.others)

    def log_largest(self, growth: flint.arb, m: int) -> float:
        """Upper bound of the logarithm of the largest of the groups' expectations; inf where none is known.

        ``growth``: ``e**epsilon - 1``, at least 0; ``m``: how many values are added, at least 1.
        """
        rise = float(growth)
        if not _SLIGHT < rise < _MOST:
            return math.inf
        groups = np.broadcast_shapes(self.differences.shape, self.others.shape)[0]
        with np.errstate(all="ignore"):
            found = np.concatenate([self._bounds(rows, rise, m, False) for rows in self._parts(groups)])
            best = -math.inf
            for rank, i in enumerate(np.argsort(-found).tolist()):
                if found[i] <= best or rank == _REFINED:
                    best = max(best, float(found[i]))
                    break
                best = max(best, min(float(found[i]), float(self._bounds(slice(i, i + 1), rise, m, True)[0])))
        return best

    def _parts(self, groups: int) -> Sequence[slice]:
        _, laws, cells = np.broadcast_shapes(self.differences.shape, self.others.shape)
        step = max(1, _CELLS // (laws * cells))
        return [slice(start, start + step) for start in range(0, groups, step)]

    def _bounds(self, rows: slice, rise: float, m: int, fine: bool) -> Floats:
        """Of each of some groups."""
        d, r2, b = (each[rows] if len(each) > 1 else each for each in (self.differences, self.seconds, self.others))
        b = np.broadcast_to(b, np.broadcast_shapes(b.shape, d.shape))
        inverse = np.where(b > 0, 1 / b, 0.0)
        w, a = (d - rise * r2) * inverse, (np.abs(d) + rise * r2) * inverse
        second = ((b * w * w).sum(axis=2)).max(axis=1)
        theta = (rise + np.sqrt(rise**2 + 8 * second / m)) / (2 * second)
        if fine:
            theta = _settled(w, b, rise, theta, m)
        slopes = theta[:, None, None]
        found = _integrals(w, a, b, theta, rise, m, _FINE if fine else _COARSE)
        # Without a positive value no sum has one.
        found = np.where((w + _WRONG * a <= 0).all(axis=(1, 2)), -math.inf, found)
        usable = np.isfinite(theta) & ((slopes * a).max(axis=(1, 2)) < _STEEPEST) & (a.max(axis=(1, 2)) < _MOST**0.25)
        return np.asarray(np.where(usable & ~np.isnan(found), found, math.inf), dtype=np.float64)


def _settled(w: Floats, b: Floats, rise: float, theta: Floats, m: int) -> Floats:
    """The contour at the saddle point of the law that is largest there; any contour gives a bound."""
    for _ in range(4):
        weights = b * np.exp(theta[:, None, None] * w)
        totals = weights.sum(axis=2)
        top = totals.argmax(axis=1)
        at = np.arange(len(theta)), top
        tilted = weights[at] / totals[at][:, None]
        values = w[at]
        mean = (tilted * values).sum(axis=1)
        variance = (tilted * values**2).sum(axis=1) - mean**2
        step = (m * mean - 2 / theta) / (m * variance + 2 / theta**2)
        theta = np.where(np.isfinite(step), np.clip(theta - step, theta / 2, theta * 2), theta)
    return theta


def _integrals(w: Floats, a: Floats, b: Floats, theta: Floats, rise: float, m: int, count: int) -> Floats:
    """Logarithms of upper bounds."""
    t = theta[:, None, None] * w
    growth = np.exp(t)
    series = t * t / 2 * (1 + t / 3 * (1 + t / 4 * (1 + t / 5 * (1 + t / 6 * (1 + t / 7)))))
    risen = np.where(np.abs(t) < 0.01, series, np.expm1(t) - t)
    blur = _WRONG * (theta[:, None, None] * a) ** 2 * np.maximum(growth, 1)
    moved = (b * (risen + blur)).sum(axis=2) * (1 + _ROOM) - (theta * rise)[:, None] * (1 - _ROOM)
    levels = float(m) * np.log1p(moved)
    levels += _ROOM * np.abs(levels)
    top = levels.max(axis=1)

    weights = b * growth
    tilted = weights / weights.sum(axis=2, keepdims=True)
    left = w - (tilted * w).sum(axis=2, keepdims=True)
    squares = (tilted * left**2).sum(axis=2)
    variance = np.maximum(squares * (1 - _ROOM) - 10 * _WRONG * (tilted * a**2).sum(axis=2), 0)
    fourth = 2 * (tilted * left**4).sum(axis=2) + 6 * squares**2
    fourth = fourth * (1 + _ROOM) + 100 * _WRONG * (tilted * a**4).sum(axis=2)

    end = np.sqrt((12 * variance / fourth).min(axis=1)) * (1 - _ROOM)
    wide = np.take_along_axis(variance, levels.argmax(axis=1)[:, None], axis=1)[:, 0]
    reach = np.minimum(np.minimum(_DEVIATIONS / np.sqrt(float(m) * wide), 256 * theta), end)
    beyond = np.exp(np.multiply.outer(np.log(end / reach), np.arange(1, _BEYOND + 1) / _BEYOND))
    edges = np.concatenate([np.multiply.outer(reach, np.linspace(0, 1, count + 1)), reach[:, None] * beyond], axis=1)
    edges = np.minimum(edges, end[:, None])
    v = edges**2
    falls = fallen(v[:, None], variance[:, :, None], fourth[:, :, None])
    logs = (levels[:, :, None] - float(m) / 2 * falls * (1 - _ROOM)).max(axis=1) - top[:, None]
    heights = np.exp(logs) / (theta[:, None] ** 2 + v)
    near, far = edges[:, :-1], edges[:, 1:]
    share = (far + 2 * near) / (3 * (far + near))  # of the further end, in the integral of a chord
    chords = ((far - near) * (heights[:, :-1] * (1 - share) + heights[:, 1:] * share)).sum(axis=1)

    largest = tilted.argmax(axis=2)[:, :, None]
    gaps = np.abs(w - np.take_along_axis(w, largest, axis=2)) - _WRONG * (a + np.take_along_axis(a, largest, axis=2))
    kappas = float(m) * np.take_along_axis(tilted, largest, axis=2) * tilted * (1 - _ROOM)
    reached = end[:, None, None]
    first = np.exp(-2 * kappas * (gaps * reached / np.pi) ** 2) / reached + i0e(kappas) * gaps * np.pi / 4
    later = i0e(kappas) * (1 / reached + 2 * np.pi / gaps / reached**2)
    periods = np.where(gaps > 0, np.where(gaps * reached < np.pi * (1 - _ROOM), first, later), math.inf)
    tails = np.minimum(periods.min(axis=2), 1 / end[:, None]) * np.exp(levels - top[:, None])
    # Nothing at all is known of a transform but that its modulus is at most that at 0.
    integral = np.minimum(chords + tails.sum(axis=1), np.pi / (2 * theta))
    return np.asarray(top + np.log(integral * (1 + _ROOM) / np.pi), dtype=np.float64)


def fallen(v: Floats, variance: Floats, fourth: Floats) -> Floats:
    """Lower bound of what the logarithm of a transform's squared modulus loses from 0 to the root of `v`."""
    return v * (variance - v * fourth / 24)
