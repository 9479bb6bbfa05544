r"""What the nodes of a trapezoidal sum hold that are left out (`positive_part`).

The transform of a discrete law returns to modulus almost 1 again and again. For every reference value r and gaps
:math:`\Delta_b = |w_b - w_r|`,

.. math:: |\varphi(t)|^2 = 1 - 2 \sum_{a<b} \pi_a \pi_b \bigl(1 - \cos t(w_a - w_b)\bigr)
          \quad\Rightarrow\quad |\varphi(t)|^n \le \prod_{b \ne r} e^{-\kappa_b (1 - \cos t \Delta_b)}, \qquad
          \kappa_b = n \pi_r \pi_b

One gap cuts the line into cells of length :math:`2\pi/\Delta`, with a peak in the middle of each; the other gaps say
how high that peak is, which for most cells is nothing. Between peaks and nodes stands a factor 1/t**2.

Floats are safe here: only an upper bound of an error is wanted, and the slacks below exceed every rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0e

SLACK = 1e-6
"""Relative; the inputs are right to 1e-11, for tilted weights are exponentials of at most some hundreds."""
_PHASE_SLACK = 2.0**-48
"""Of a phase, relative to itself or to the node: gaps, of values up to 1, are right to 2**-52."""
_SINES = 1e-14
"""Radians; what sines and remainders add."""
_RINGS = (4.0, 16.0, 60.0)
"""Nats by which the transform has fallen where the rings of a peak end, and the last of them the peak."""
_CELLS = (1 << 10, 1 << 17)
"""How many cells are looked at one by one: at first, and where the crude remainder is what counts, at most."""
_WORTHWHILE = 0.8
"""More cells that leave a larger share than this of the bound are not worth their time."""
_ATTEMPTS = 3
_ENOUGH = 25.0
"""Nats by which a peak is lower than the highest possible if it is not worth a closer look."""


@dataclass(frozen=True)
class Pairs:
    """The reference value paired with each of the others.

    Parameters
    ----------
    kappas : ndarray
        :math:`n \\pi_r \\pi_b`, a little too small.
    gaps : ndarray
        :math:`\\Delta_b`, positive.
    """

    kappas: NDArray[np.float64]
    gaps: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.float64], tilted: NDArray[np.float64], n: int) -> Pairs:
        """Pairs with the likeliest value, which wastes least of the variance; the one with the sharpest cells first."""
        r = int(tilted.argmax())
        gaps = np.abs(values - values[r])
        kappas = n * tilted[r] * tilted * (1 - SLACK)
        keep = (gaps > 0) & (kappas > 0)
        order = np.argsort(gaps[keep] * i0e(kappas[keep]))
        return cls(kappas[keep][order], gaps[keep][order])

    def falls(
        self, t: NDArray[np.float64], enough: float, width: float | NDArray[np.float64] = 0.0, chosen: int | None = None
    ) -> NDArray[np.float64]:
        """By how many nats, at least, the transform has fallen wherever one is within a width of these points.

        Parameters
        ----------
        t : ndarray
            Points, above 0: multiples of ``2*pi`` over a gap, or of a float.
        enough : float
            Nats from which on it is not asked by how many more.
        width : float or ndarray
            In the unit of `t`; one, or one for each.
        chosen : int or None
            Whose multiples they are; that gap tells nothing there.
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
        """By how many nats, at least, the transform has fallen everywhere between t and the end of the first cell."""
        rising = self.gaps <= self.gaps[chosen]  # the others may have turned back before the cell ends
        return float(np.sum(self.kappas[rising] * 2 * np.sin(t * self.gaps[rising] / 2) ** 2))


@dataclass(frozen=True, slots=True)
class Bound:
    """What is left out from some node on, at most.

    Parameters
    ----------
    value : float
        The bound.
    crude : float
        The part of it that is due to the cells that were not looked at.
    chosen : int
        Whose cells were looked at.
    cells : int
        How many of them.
    """

    value: float
    crude: float
    chosen: int
    cells: int

    @property
    def promise(self) -> float:
        """About what it would be if as many cells as are ever looked at were."""
        return self.value - self.crude * (1 - self.cells / _CELLS[1])


def glance(pairs: Pairs, h: float, first: int, allowed: float) -> Bound:
    r"""Upper bound of :math:`2h \sum_{k \ge first} |\varphi(kh)|^n / (\sigma^2 + k^2 h^2)` from few cells.

    Parameters
    ----------
    pairs : Pairs
        Of the tilted law.
    h : float
        Step.
    first : int
        First node that is left out.
    allowed : float
        What would be small enough; a bound at most this large is not improved.

    Returns
    -------
    Bound
        The most promising one, unless one is small enough.
    """
    if not len(pairs.gaps):  # all other values are too unlikely for floats
        start = first * h * (1 - SLACK)
        return Bound(2 * (1 + SLACK) * (1 / start + h / start**2), 0.0, 0, _CELLS[1])
    best = _tail(pairs, 0, h, first, _CELLS[0])
    for each in range(1, min(_ATTEMPTS, len(pairs.gaps))):
        if best.promise <= allowed / 2:
            break
        best = min(best, _tail(pairs, each, h, first, _CELLS[0]), key=lambda found: found.promise)
    return best


def tail(pairs: Pairs, h: float, first: int, allowed: float) -> float:
    """The same from as many cells as are worth it."""
    found = glance(pairs, h, first, allowed)
    best = found.value
    while best > allowed and found.promise < best * _WORTHWHILE and found.cells < _CELLS[1]:
        # What is left to the crude remainder falls as the cells grow, and the rest hardly.
        wanted = found.cells * found.crude / max(allowed, (found.value - found.crude) / 4, found.crude / found.cells)
        cells = min(_CELLS[1], max(4 * found.cells, math.ceil(wanted)))
        found = _tail(pairs, found.chosen, h, first, cells)
        best = min(best, found.value)
    return best


def _tail(pairs: Pairs, chosen: int, h: float, first: int, cells: int) -> Bound:
    """By one gap's cells."""
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
    high = np.flatnonzero(heights > math.exp(-_ENOUGH))  # the others are no higher where one looks closer
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
    return Bound(slack * (total + beyond), slack * beyond, chosen, cells)
