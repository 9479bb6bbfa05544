r"""Phases of integrals of many laws: what is left of the moduli of sums of values, whatever law each has.

The expectation is the real part of an integral of `quotient_integrals` or `largest_positive_part`, and of the integrand only

.. math:: \cos\Bigl(\sum_k \arg M_{x_k}(\theta + iu) - 2 \arctan\frac u\theta\Bigr)

is left where it is positive: to leave out the rest raises it. Where the phases of all assignments of laws lie in one band, its
largest value there, C(u), is one more factor of the weight that all share, and Hölder's inequality holds for any weight from 0
on. With :math:`D = W - \mu_x` under the tilted law, of the moments :math:`V, \mu_3` and :math:`F_5 = E|D|^5`,

.. math:: \arg M_x(\theta + iu) = u \mu_x + r, \quad E\,e^{iuD} = A + iB, \quad A \ge 1 - \frac{u^2 V}2, \quad
          \Bigl|B + \frac{u^3 \mu_3}6\Bigr| \le \frac{u^5 F_5}{120}, \quad |r - B| \le |B| \Bigl(\frac1A - 1\Bigr)

where :math:`A > 0`: r has the sign of B, and :math:`|B| \le |B|/|A + iB| = \sin |r| \le |r| \le \tan |r| = |B|/A`.

Let :math:`f_x` be the logarithm of the bound by moduli, :math:`g_x` what it lacks of the largest, and :math:`\lambda_x` the part of
the values that have the law x. Without phases, the product of norms is less than the largest by the mean gap,
:math:`\sum_x \lambda_x g_x` nats. Assignments are told apart by the interval that it lies in: there the mean of any :math:`q_x` is
at most that of the upper hull of the points :math:`(g_x, q_x)`. So are the means and third moments, and their opposites, that give
the band; and with its weight, the logarithms of integrals, which are at most :math:`f_x` and need phases where :math:`g_x` is small
only. An interval whose bound is the largest is cut in two, again and again.

One band holds for all numbers of values on a chord: the integral is then log-convex in the number, and so are products of norms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Cosines: TypeAlias = Callable[[Floats], Floats]
"""Between each two neighbours of u, what is left of the integrand at most."""

ROOM = 1e-11  # relative error of sums of positive floats, some thousands of them, and of their exponentials, with room
WRONG = 1e-14  # error of a value over its a, with room: six roundings
GAINED = 0.05  # nats below the largest integral down to which laws are looked at for what phases gain
_CUTS, _PART, _SETTLED, _CORNERS = 5, 1 / 8, 1e-4, 8
"""How often an interval of mean gaps is cut, and where, as the worst are next to 0; nats that are not worth a cut; and corners of
hulls that are found."""
BLUR = 1e-9  # error of a cosine, with room


def turned(
    found: Floats,
    here: NDArray[np.int64],
    closer: Callable[[Cosines], Floats],
    turns: Floats,
    theta: float,
    numbers: Sequence[int],
) -> Floats:
    """Bounds of each number, whatever laws values have, from those of each number and law by moduli alone.

    ``here``: laws that are looked at; ``closer``: their bounds with a weight; ``turns``: see `turning`, of all laws.
    """
    best = found.max(axis=1)
    gaps = (best[:, None] - found).min(axis=0)
    some = np.isfinite(gaps)  # no others, where the mean gap is finite

    def within(low: float, high: float) -> Floats:
        """Of each number, where the mean of the values' gaps lies between these."""
        most = _means(gaps[some], turns[:-1, some], low, high)
        less = found.copy()
        less[:, here] = closer(partial(_cosines, most, float(turns[-1].max()), theta, numbers))
        return np.asarray(np.minimum(_means(gaps[some], less[:, some], low, high), best - low), dtype=np.float64)

    least = within(0.0, 0.0)
    gained = float((best - least).max())  # beyond, no bound is larger
    if not gained > _SETTLED:
        return np.asarray(best, dtype=np.float64)
    bands = [(within(0.0, gained), 0.0, gained)]
    for _ in range(_CUTS):
        bands.sort(key=lambda band: float(band[0].sum()))
        if (bands[-1][0] <= least + _SETTLED).all():
            break
        above, low, high = bands.pop()
        middle = low + (high - low) * _PART
        bands += [(np.minimum(above, within(a, b)), a, b) for a, b in ((low, middle), (middle, high))]
    return np.asarray(np.max([least, *(bound for bound, *_ in bands)], axis=0), dtype=np.float64)


def _means(gaps: Floats, values: Floats, low: float, high: float) -> Floats:
    """Of each row of values, one for each law, the largest mean over laws of which the gaps' mean lies between two numbers.

    By lines above all laws: those of the upper hull from the gap 0 on.
    """
    at, start, slopes = np.arange(len(values)), np.zeros(len(values)), [np.zeros(len(values))]
    level = values[:, gaps <= 0].max(axis=1)
    for _ in range(_CORNERS):
        beyond = gaps > start[:, None]
        rises = np.where(beyond, (values - level[:, None]) / np.where(beyond, gaps - start[:, None], 1), -math.inf)
        corner = rises.argmax(axis=1)
        slopes.append(np.where(np.isfinite(rises[at, corner]), rises[at, corner], 0))
        start, level = gaps[corner], values[at, corner]
        if (start >= high).all():
            break
    lines = np.array(slopes)[:, :, None]
    tops = (values - lines * (gaps - np.where(lines > 0, high, low))).max(axis=2)  # where each line is highest in the interval
    return np.asarray(tops.min(axis=0), dtype=np.float64)


def turning(w: Floats, a: Floats, tilted: Floats, left: Floats, users: int | NDArray[np.int64] = 1) -> Floats:
    """Upper bounds, of each law, of what turns its phase: of minus its mean, its mean, minus its third central moment over 6, that
    moment, its modulus, the fifth absolute one over 120, all of these per value; and the second one.

    ``left``: of the values, without their means; ``users``: of how many of the values that are added each law is the sum.
    """
    mean, skew = (tilted * w).sum(axis=1), (tilted * left**2 * left).sum(axis=1) / 6
    off = 4 * ROOM * (tilted * np.abs(w)).sum(axis=1) + 40 * WRONG * (tilted * a).sum(axis=1)
    wrong = WRONG * a + off[:, None]
    size = np.abs(left) + wrong
    square = size**2
    of_square = tilted * square
    second, third, fifth = (each.sum(axis=1) * (1 + ROOM) for each in (of_square, of_square * size, of_square * square * size))
    room = ROOM * third + (of_square * wrong).sum(axis=1)
    each = np.array([off - mean, off + mean, room - skew, room + skew, room + np.abs(skew), fifth / 120])
    return np.array([*(each / users), second])


@np.errstate(over="ignore", invalid="ignore")  # where intervals are very wide, no phase is known
def _cosines(most: Floats, second: float, theta: float, numbers: Sequence[int], u: Floats) -> Floats:
    """Between each two neighbours of u, the largest positive part of the cosine of the phase of any number of values between the
    least and the largest one, whatever laws they have of which the means of `turning` are at most these.

    ``second``: the largest of their second moments.
    """
    slow, fast, low, high, cube, fifth = np.max([float(number) * most for number in numbers], axis=0)
    real, widths = 1 - second * u**2 / 2, np.diff(u)  # a transform's real part is at least that
    usable = np.maximum(real, 0.1)
    blur = u**3 * (cube * (1 / usable - 1) + fifth * u**2 / usable)
    turned, speed = 2 * np.arctan(u / theta), -slow - 2 * theta / (theta**2 + u**2)
    # Without what is beyond, a phase is convex in u: below its chords, and above its tangents.
    first, last = -slow * u - turned, fast * u - turned
    before, after = np.minimum(0, speed[:-1] * widths), np.maximum(0, speed[1:] * widths)
    lowest = np.maximum(first[:-1] + before, first[1:] - after) - _larger(high * u**3) - blur[1:]
    highest = _larger(last) + _larger(low * u**3) + blur[1:]
    nearest = np.clip(np.maximum(lowest, -highest), 0, np.pi)
    is_known = (np.maximum(highest, -lowest) < 1.5 * np.pi - BLUR) & (real[1:] > 0.1)
    return np.asarray(np.where(is_known, np.clip(np.cos(nearest) + BLUR, 0, 1), 1), dtype=np.float64)


def _larger(values: Floats) -> Floats:
    """Of each two neighbours."""
    return np.maximum(values[:-1], values[1:])
