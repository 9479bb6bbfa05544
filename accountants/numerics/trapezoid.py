r"""The trapezoidal rule along a vertical line: the widest step, aliasing, the nodes to evaluate, and those left out.

*Aliasing* of step h of an integrand that is analytic in a strip of half-width a is at most :math:`(A_+ + A_-)/(e^{2\pi
a/h} - 1)`, where A bounds the integral of its modulus along either edge. Source: Trefethen and Weideman 2014, Theorem
5.1.

*Nodes left out.* The characteristic function of a discrete law returns to modulus almost 1 infinitely often, so it
needs a bound that holds everywhere. For every reference value r and gaps :math:`\Delta_b = |w_b - w_r|`,

.. math:: |\varphi(t)|^2 = 1 - 2 \sum_{a<b} \pi_a \pi_b \bigl(1 - \cos t(w_a - w_b)\bigr)
          \quad\Rightarrow\quad |\varphi(t)|^n \le \prod_{b \ne r} e^{-\kappa_b (1 - \cos t \Delta_b)}, \qquad
          \kappa_b = n \pi_r \pi_b

Where no value is likely, there are several reference values, and each pair is taken once. One gap cuts the line into cells
of length :math:`2\pi/\Delta`, with a peak in the middle of each; the other gaps bound
the height of that peak, which for most cells is negligible. A factor 1/t**2 weighs the cells. Within a window, nodes
near the peaks are evaluated; beyond it the peaks' cells are bounded as a whole.

Floats are safe here: the result is an upper bound of an error, and the slacks below exceed every rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

EDGES = np.linspace(0.05, 0.95, 19)
"""Half-widths of the strip that are tried, relative to the distance from the nearest singularity."""
SLACK = 1e-6  # relative rounding allowance; tilted weights are exponentials of some hundreds at most, right to 1e-11
_PHASE_SLACK = 2.0**-48  # rounding allowance of a phase, relative to itself or to the node; gaps are right to 2**-52
_SINES = 1e-14  # radians that sines and remainders may be off: some units of 2**-53 of a phase below 2 pi
_SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(4)]
_RINGS = (4.0, 16.0, 60.0)  # nats by which the function has fallen at the outer ends of a peak's rings
_CELLS = (1 << 8, 1 << 17)
"""Cells that get their own bound, at first and at most; 2**12 or 2**19 take 1.4 and 1.6 times as long for the same width."""
_WORTHWHILE = 0.8  # more cells must leave at most this share of the bound; with 0.95 bounds take twice as long or more
_SECOND = 1 << 13
"""Most cells when a gap is first tried with more; 2**11 or 2**17 double the time of shuffle bounds at n = 300."""
_ATTEMPTS = 3  # gaps that are tried; with 1 a shuffle bound at n = 1e5 is 9 % wider, with 6 nothing changes
_AT_ONCE = 1 << 13  # points times gaps whose sines are computed together
_TOGETHER = 1 << 14  # points times values whose tangents are computed together: to allocate larger arrays takes longer than that
_HARDLY = 0.02  # nats that the least likely pairs are left out for
_ENOUGH = 25.0  # nats by which a peak is lower than the highest possible one if its rings are not bounded again
_WINDOWS = (1 << 7, 1 << 13)
"""Windows that are tried, as their last nodes; without the last one a shuffle bound with 200 users is 4 % wider."""
_NEXT = 4  # nodes next to each other that are bounded together, where that is enough
_FEWEST_NODES = 128  # nodes that may be evaluated however many values there are
_MOST_TERMS = 4096  # nodes times values that are evaluated at most, some microseconds each
_REFERENCES, _ENOUGH_NATS, _MORE_TERMS = 8, 64.0, 1 << 15
"""Most reference values, the nats of all pairs together from which on one more is not needed, and terms where there are several:
with one reference value nothing is known of a shuffle of a thousand numbers plus Gaussian noise."""
_MOST_PAIRS = 128  # that are looked at: of a few sums of thousands of values, each says little, and all take minutes
_NOT_NEEDED, _LEFT_OUT = 80.0, 5.0
"""Nats by which the transform has fallen at a node that may be left out at every tolerance, and beyond those at which all nodes
together are as much as is allowed."""
_WIDER_PAYS = 0.7  # a wider window must leave at most this share of the error


def sums(rows: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Of each row, weighted. Not by `@`: BLAS starts threads for that, and to wake them takes longer than to add."""
    return np.asarray(np.einsum("ij,j->i", rows, weights))


def transformed(values: NDArray[np.float64], masses: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the transforms of laws, a row each, at each u: what the real part is less than their mass by, and the imaginary part."""
    found, some = np.empty((2, len(values), len(u))), max(1, _TOGETHER // values.size)
    for i in range(0, len(u), some):
        tangents = np.tan(values[:, None, :] * (u[i : i + some] / 2)[:, None])  # in place of a sine and a cosine
        squares = tangents**2
        scale = 2 / (1 + squares)
        for part, each in zip(found, (scale * squares, scale * tangents), strict=True):
            part[:, i : i + some] = np.einsum("iej,ij->ie", each, masses)
    return found


def widest_step(
    height: Callable[[float], float], sigma: float, reach: float, nats: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> tuple[float, float]:
    """The largest step h, and the strip's half-width a, at which aliasing is negligible.

    ``height``: logarithm of the integrand on the real line; ``sigma``: where the line crosses it; ``reach``: distance
    of the nearest singularity; ``nats``: what the height grows by at the edges, to the nats that aliasing must lose.
    """
    here, a = height(sigma), reach * EDGES
    grown = [max(height(sigma + e), height(sigma - e)) - here for e in a.tolist()]
    steps = 2 * math.pi * a / nats(np.maximum(grown, 0.0))
    best = int(steps.argmax())
    return float(steps[best]), float(a[best])


def aliasing(
    at_edge: Callable[[flint.arb], flint.arb], sigma: float, h: float, a: float, scale: flint.arb | None = None
) -> flint.arb:
    """Upper bound of what the trapezoidal sum differs from the integral, in units of the scale; `at_edge` is the A of an edge."""
    edges = at_edge(flint.arb(sigma) + a) + at_edge(flint.arb(sigma) - a)
    return (edges if scale is None else edges / scale) / ((2 * flint.arb.pi() * a / h).exp() - 1)


def _sine(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower bound, up to rounding, of the sine in [0, pi/2]: its series up to a negative term; a fifth of the time of numpy's."""
    square, found = x * x, np.zeros_like(x)
    for term in reversed(_SERIES):
        found *= square
        found += term
    found *= x
    return found


@dataclass(frozen=True, eq=False)
class Pairs:
    """The reference values paired with each of the others."""

    kappas: NDArray[np.float64]  # :math:`n \\pi_r \\pi_b`, a little too small
    gaps: NDArray[np.float64]  # :math:`\\Delta_b`, positive
    nodes: int = 0  # that may be evaluated, if that is more than the fewest

    @classmethod
    def of(cls, values: NDArray[np.float64], tilted: NDArray[np.float64], n: int) -> Pairs:
        """Pairs with the likeliest values, which give the largest kappas; the pair with the least peaks first."""
        from scipy.special import i0e  # here: it takes a while to import

        likeliest = np.argsort(-tilted, kind="stable")
        most = 1 + int(np.searchsorted(n * np.cumsum(tilted[likeliest]), _ENOUGH_NATS))
        ordered, p = values[likeliest], tilted[likeliest]
        references = range(min(most, _REFERENCES, max(1, len(p) - 1)))
        gaps = np.concatenate([np.abs(ordered[r + 1 :] - ordered[r]) for r in references])
        kappas = np.concatenate([n * p[r] * p[r + 1 :] * (1 - SLACK) for r in references])
        keep = np.flatnonzero((gaps > 0) & (kappas > 0))
        keep = keep[np.argsort(-kappas[keep], kind="stable")[:_MOST_PAIRS]]
        order = np.argsort(gaps[keep] * i0e(kappas[keep]))
        return cls(kappas[keep][order], gaps[keep][order], (_MOST_TERMS if len(references) == 1 else _MORE_TERMS) // len(p))

    def falls(
        self, t: NDArray[np.float64], enough: float, width: float | NDArray[np.float64] = 0.0, chosen: int | None = None
    ) -> NDArray[np.float64]:
        """Lower bound, in nats, of minus the logarithm of the transform's modulus within a width of these points.

        ``t``: points, above 0: multiples of ``2*pi`` over a gap, or of a float; ``enough``: a bound of at least this
        many nats is not improved; ``width``: in the unit of `t`; several have a row each; ``chosen``: index of the gap
        whose multiples the points are; that gap contributes nothing there.
        """
        widths, points, left = np.reshape(width, (-1, 1)), t, np.arange(len(t))
        found = np.zeros((len(widths), len(t)))
        known = found.copy()  # of the points that are left
        order = np.argsort(-self.kappas)
        rest = 2 * self.kappas[order][::-1].cumsum()[::-1]  # nats that these gaps and all later ones are worth at most
        order = order[(rest > _HARDLY) & (order != (-1 if chosen is None else chosen))]
        while len(order) and len(left):
            some = max(1, _AT_ONCE // known.size)
            gaps, kappas, order = self.gaps[order[:some], None], self.kappas[order[:some]], order[some:]
            ratios = 1.0 if chosen is None else gaps / self.gaps[chosen]
            turns = points * (gaps / (2 * math.pi))
            nearest = np.abs(turns - np.rint(turns)) * math.pi - points * ((1 + ratios) * _PHASE_SLACK / 2) - _SINES
            sines = _sine(np.maximum(nearest - widths[:, None] * (gaps / 2), 0.0))
            known += np.einsum("j,ijk,ijk->ik", 2 * kappas, sines, sines)
            lacking = known.min(axis=0) < enough
            if not lacking.all():
                found[:, left] = known
                points, left, known = points[lacking], left[lacking], known[:, lacking]
        found[:, left] = known
        return found.reshape(*np.shape(width), len(t))

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


def glance(pairs: Pairs, h: float, first: int, allowed: float, only: int | None = None) -> TailBound:
    r"""Upper bound of :math:`2h \sum_{k \ge first} |\varphi(kh)|^n / (\sigma^2 + k^2 h^2)` from few cells.

    A bound of at most `allowed` is not improved: returns such a one, or the most promising; ``only``: of this gap.
    """
    return min(_tries(pairs, h, first, allowed, only), key=lambda found: found.promise)


def _tries(pairs: Pairs, h: float, first: int, allowed: float, only: int | None) -> list[TailBound]:
    """Bounds from few cells of some gaps each, until one is promising enough; at least one."""
    if only is not None:
        return [_tail(pairs, only, h, first, _CELLS[0])]
    if not len(pairs.gaps):  # all other values are too unlikely for floats
        start = first * h * (1 - SLACK)
        return [TailBound(2 * (1 + SLACK) * (1 / start + h / start**2), 0.0, 0, _CELLS[1])]
    found: list[TailBound] = []
    for each in range(min(_ATTEMPTS, len(pairs.gaps))):
        found.append(_tail(pairs, each, h, first, _CELLS[0]))
        if found[-1].promise <= allowed / 2:
            break
    return found


def tail(pairs: Pairs, h: float, first: int, allowed: float, only: int | None = None) -> float:
    """The bound of `glance`, with more cells as long as these reduce it enough; parameters as there."""
    tried = _tries(pairs, h, first, allowed, only)
    while (best := min(found.value for found in tried)) > allowed:
        i, found = min(enumerate(tried), key=lambda each: each[1].promise)
        if found.promise >= best * _WORTHWHILE or found.cells >= _CELLS[1]:
            break
        # The crude part falls in proportion to the number of cells, the rest hardly, or it grows: no promise is kept for long.
        wanted = found.cells * found.crude / max(allowed, (found.value - found.crude) / 4, found.crude / found.cells)
        most = _CELLS[1] if found.cells > _CELLS[0] else _SECOND
        tried[i] = _tail(pairs, found.chosen, h, first, min(most, max(4 * found.cells, math.ceil(wanted))))
    return best


@lru_cache(maxsize=64)  # what a glance has found, `tail` begins with
def _tail(pairs: Pairs, chosen: int, h: float, first: int, cells: int) -> TailBound:
    """The bound from one gap's cells."""
    from scipy.special import i0e  # here: it takes a while to import

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
    closer = [*np.exp(-pairs.falls(middles[high], _ENOUGH, np.array(rings[:-1]), chosen)), heights[high]]
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


def chosen_nodes(pairs: Pairs, h: float, saddle: float, allowed: float) -> tuple[list[int], float]:
    """Nodes to evaluate, and an upper bound of the sum over all others, of both signs.

    A bound of the size `allowed` is small enough. Indices of nodes are from 1 up.
    """
    window, least, chosen = 0, np.inf, None
    for wider in _WINDOWS:
        found = glance(pairs, h, wider + 1, allowed / 2, chosen)
        chosen = found.chosen if len(pairs.gaps) else None
        if found.promise <= _WIDER_PAYS * least:
            window, least = wider, found.promise
        if least <= allowed / 4:
            break
    beyond = tail(pairs, h, window + 1, allowed, chosen)
    nodes, missed = _visible(pairs, h, saddle, window, max(allowed / 4, beyond / 64))
    return nodes, beyond + missed


def _visible(pairs: Pairs, h: float, saddle: float, window: int, allowed: float) -> tuple[list[int], float]:
    """Nodes within the window to evaluate, and a bound of the sum over the window's other nodes."""
    k = np.arange(1, window + 1)
    t = np.asarray(k * h, dtype=np.float64)
    whole = 2 * h * window / saddle**2
    enough = min(_NOT_NEEDED, _LEFT_OUT + math.log(whole / allowed)) if allowed > 0 < whole < math.inf else _NOT_NEEDED
    middles = t.reshape(-1, _NEXT).mean(axis=1)
    nats = np.repeat(pairs.falls(middles, enough, h * (_NEXT - 1) / 2 * (1 + SLACK)), _NEXT)
    near = nats < enough
    nats[near] = pairs.falls(t[near], enough)
    shares = 2 * h * np.exp(-nats) / (saddle**2 + t**2) * (1 + SLACK)
    smallest = np.argsort(shares)
    held = np.cumsum(shares[smallest])
    most = max(_FEWEST_NODES, pairs.nodes)
    left = max(int(np.searchsorted(held, allowed, side="right")), window - most)
    return np.sort(k[smallest[left:]]).tolist(), float(held[left - 1]) * (1 + SLACK) if left else 0.0
