r"""Upper bound of the nodes that a trapezoidal sum leaves out (`positive_part`).

The characteristic function of a discrete law returns to modulus almost 1 infinitely often, so it needs a bound that
holds everywhere. For every reference value r and gaps :math:`\Delta_b = |w_b - w_r|`,

.. math:: |\varphi(t)|^2 = 1 - 2 \sum_{a<b} \pi_a \pi_b \bigl(1 - \cos t(w_a - w_b)\bigr)
          \quad\Rightarrow\quad |\varphi(t)|^n \le \prod_{b \ne r} e^{-\kappa_b (1 - \cos t \Delta_b)}, \qquad
          \kappa_b = n \pi_r \pi_b

One gap cuts the line into cells of length :math:`2\pi/\Delta`, with a peak in the middle of each; the other gaps bound
the height of that peak, which for most cells is negligible. A factor 1/t**2 weighs the cells.

Floats are safe here: the result is an upper bound of an error, and the slacks below exceed every rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0e

SLACK = 1e-6
"""Relative rounding allowance; the inputs are right to 1e-11, because tilted weights are exponentials of some hundreds
at most. With 1e-5 or 1e-7 shuffle bounds at n = 200 to 1e6 come out the same."""
_PHASE_SLACK = 2.0**-48
"""Rounding allowance of a phase, relative to itself or to the node. Values are at most 1, so gaps are right to 2**-52,
and phases to a few units of it."""
_SINES = 1e-14
"""Radians that sines and remainders may be off: some units of 2**-53 of a phase below 2 pi."""
_RINGS = (4.0, 16.0, 60.0)
"""Nats by which the characteristic function has fallen at the outer ends of a peak's rings. With twice as many rings
shuffle bounds at n = 200 take 1.5 times as long, without the first one the time is the same; the width does not
change."""
_CELLS = (1 << 10, 1 << 17)
"""Cells that get their own bound: at first, and at most, where the remaining cells make up the bound. With 2**12 at
first a shuffle bound at n = 1e3 takes 1.4 times as long; with 2**19 at most one at n = 1e5 takes 1.6 times as long. The
width is the same."""
_WORTHWHILE = 0.8
"""More cells must leave at most this share of the bound; with 0.95 shuffle bounds at n = 200 and 1e3 take twice as long
or more, with 0.4 one at n = 1e5 takes two thirds of the time, and the width does not change."""
_SECOND = 1 << 13
"""Cells at most when a gap is tried with more of them, before all that seem to be wanted; with 2**11 or 2**17 shuffle
bounds at n = 300 and 500 take twice as long, and the width does not change."""
_ATTEMPTS = 3
"""Gaps that are tried; with 1 a shuffle bound at n = 1e5 is 9 % wider in two thirds of the time, with 6 nothing
changes."""
_ENOUGH = 25.0
"""Nats by which a peak is lower than the highest possible one if its rings are not bounded again; with 12 or 50 shuffle
bounds at n = 200 to 1e6 come out the same."""


@dataclass(frozen=True)
class Pairs:
    """The reference value paired with each of the others."""

    kappas: NDArray[np.float64]  # :math:`n \\pi_r \\pi_b`, a little too small
    gaps: NDArray[np.float64]  # :math:`\\Delta_b`, positive

    @classmethod
    def of(cls, values: NDArray[np.float64], tilted: NDArray[np.float64], n: int) -> Pairs:
        """Pairs with the likeliest value, which gives the largest kappas; the pair with the least peaks first."""
        r = int(tilted.argmax())
        gaps = np.abs(values - values[r])
        kappas = n * tilted[r] * tilted * (1 - SLACK)
        keep = (gaps > 0) & (kappas > 0)
        order = np.argsort(gaps[keep] * i0e(kappas[keep]))
        return cls(kappas[keep][order], gaps[keep][order])

    def falls(
        self, t: NDArray[np.float64], enough: float, width: float | NDArray[np.float64] = 0.0, chosen: int | None = None
    ) -> NDArray[np.float64]:
        """Lower bound, in nats, of minus the logarithm of the transform's modulus within a width of these points.

        ``t``: points, above 0: multiples of ``2*pi`` over a gap, or of a float; ``enough``: a bound of at least this
        many nats is not improved; ``width``: in the unit of `t`; one for all points, or one for each; ``chosen``:
        index of the gap whose multiples the points are; that gap contributes nothing there.
        """
        found, left, width = np.zeros(len(t)), np.arange(len(t)), np.broadcast_to(width, len(t))
        for b in np.argsort(-self.kappas):
            if b == chosen or not len(left):
                continue
            gap, points = self.gaps[b], t[left]
            ratio = 1.0 if chosen is None else gap / self.gaps[chosen]
            off = width[left] * gap + points * (1 + ratio) * _PHASE_SLACK + _SINES
            nearest = np.abs(np.remainder(points * gap + math.pi, 2 * math.pi) - math.pi) - off
            found[left] += self.kappas[b] * 2 * np.sin(np.maximum(nearest, 0.0) / 2) ** 2
            left = left[found[left] < enough]
        return found

    def fall(self, chosen: int, t: float) -> float:
        """The same bound for all points between t and the end of the first cell."""
        rising = self.gaps <= self.gaps[chosen]  # the others may have turned back before the cell ends
        return float(np.sum(self.kappas[rising] * 2 * np.sin(t * self.gaps[rising] / 2) ** 2))


@dataclass(frozen=True, slots=True)
class TailBound:
    """Upper bound of the nodes that are left out from some node on."""

    value: float  # the bound
    crude: float  # the part of it that is due to the cells that were not bounded one by one
    chosen: int  # index of the gap that made the cells
    cells: int  # number of cells that were bounded one by one

    @property
    def promise(self) -> float:
        """About the bound with the largest number of cells."""
        return self.value - self.crude * (1 - self.cells / _CELLS[1])


def glance(pairs: Pairs, h: float, first: int, allowed: float) -> TailBound:
    r"""Upper bound of :math:`2h \sum_{k \ge first} |\varphi(kh)|^n / (\sigma^2 + k^2 h^2)` from few cells.

    ``pairs``: of the tilted law; ``h``: step; ``first``: first node that is left out; ``allowed``: a bound at most
    this large is not improved. Returns the most promising one, unless one is small enough.
    """
    return min(_tries(pairs, h, first, allowed), key=lambda found: found.promise)


def _tries(pairs: Pairs, h: float, first: int, allowed: float) -> list[TailBound]:
    """Bounds from few cells of some gaps each, until one is promising enough; at least one."""
    if not len(pairs.gaps):  # all other values are too unlikely for floats
        start = first * h * (1 - SLACK)
        return [TailBound(2 * (1 + SLACK) * (1 / start + h / start**2), 0.0, 0, _CELLS[1])]
    found: list[TailBound] = []
    for each in range(min(_ATTEMPTS, len(pairs.gaps))):
        found.append(_tail(pairs, each, h, first, _CELLS[0]))
        if found[-1].promise <= allowed / 2:
            break
    return found


def tail(pairs: Pairs, h: float, first: int, allowed: float) -> float:
    """The bound of `glance`, with more cells as long as these reduce it enough; parameters as there."""
    tried = _tries(pairs, h, first, allowed)
    while (best := min(found.value for found in tried)) > allowed:
        i, found = min(enumerate(tried), key=lambda each: each[1].promise)
        if found.promise >= best * _WORTHWHILE or found.cells >= _CELLS[1]:
            break
        # The crude part falls in proportion to the number of cells, the rest hardly, or it grows: no promise is kept for long.
        wanted = found.cells * found.crude / max(allowed, (found.value - found.crude) / 4, found.crude / found.cells)
        most = _CELLS[1] if found.cells > _CELLS[0] else _SECOND
        tried[i] = _tail(pairs, found.chosen, h, first, min(most, max(4 * found.cells, math.ceil(wanted))))
    return best


def _tail(pairs: Pairs, chosen: int, h: float, first: int, cells: int) -> TailBound:
    """The bound from one gap's cells."""
    kappa, gap = float(pairs.kappas[chosen]), float(pairs.gaps[chosen])
    start, half = first * h * (1 - SLACK), math.pi / gap
    total = 0.0
    if start < half:
        # The bound of the transform falls up to the cell's end, and 1/t**2 sums to at most this.
        total = math.exp(-pairs.fall(chosen, start)) * (1 / start + h / start**2)
    j = np.arange(cells, dtype=np.float64) + max(1, math.floor((start / half + 1) / 2 * (1 - SLACK)))
    # A sum over nodes of something that rises to a peak and falls is at most its integral and one node at the top.
    full = 2 * math.pi / gap * float(i0e(kappa)) + h
    rings = [min(2 * math.asin(min(1.0, math.sqrt(nats / (2 * kappa)))), math.pi) / gap for nats in _RINGS]
    middles = 2 * j * half
    heights = np.exp(-pairs.falls(middles, _ENOUGH, rings[-1], chosen))
    high = np.flatnonzero(heights > math.exp(-_ENOUGH))  # the others keep this bound: it holds in every ring
    widths = np.repeat(rings, len(high))
    closer = np.exp(-pairs.falls(np.tile(middles[high], len(rings)), _ENOUGH, widths, chosen)).reshape(len(rings), -1)
    inner, share, mass = 0.0, 1.0, full
    for outer, peaks in zip(rings, closer, strict=True):
        mass = min(mass, share * (2 * (outer - inner) + 2 * h))
        nearest = np.maximum((2 * j - 1) * half, middles - outer)
        heights[high] = peaks
        total += float(np.sum(mass * heights / nearest**2))
        inner, share, mass = outer, math.exp(-kappa * 2 * math.sin(outer * gap / 2) ** 2), math.inf
        if outer * gap >= math.pi:
            share = 0.0
            break
    valley = share * (2 * half + h)
    total += float(np.sum(valley / ((2 * j - 1) * half) ** 2))
    # Beyond the last cell, every peak at full height: the sum over j > m of 1/(2j-1)**2 is below 1/(2(2m-1)).
    beyond = (full + valley) / half**2 / (2 * (2 * float(j[-1]) - 1))
    slack = 2 * (1 + SLACK)
    return TailBound(slack * (total + beyond), slack * beyond, chosen, cells)
