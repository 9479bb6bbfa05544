r"""Integrals of `quotient_laws`: of many laws in floats, by moments, by pairs of values and by `phases`.

As a function of :math:`u^2`, and up to :math:`u^2 = 12 V/F`, the bound over :math:`\theta^2 + u^2` is convex and falls: chords are
above it, and are integrated exactly. So is, for :math:`m \ge 2`, the power of :math:`1 - u^2 V + u^4 F/24` itself, which is convex.

Beyond, two values at the distance d, of the probabilities p and q, give :math:`e^{-\kappa (1 - \cos du)}` with
:math:`\kappa = mpq` as in `largest_positive_part`: up to :math:`u = \pi/d` that falls, and there another value that is nearer takes
over, with a longer period; each period of the last one has the mean :math:`e^{-\kappa} I_0(\kappa)`. Of many pairs, the integral of
the product is at most the geometric mean of those in which each has the :math:`\kappa` of all together (Hölder). The transform of
values in blocks is that of the blocks' centres, but for u times half a block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.phases import BLUR, GAINED, ROOM, WRONG, Cosines, Floats, turned, turning
from ldpaudit.accountants.numerics.trapezoid import sums

_DEVIATIONS = 8.0  # standard deviations of the integrand that are cut evenly; beyond, in equal ratios
_FIRST, COARSE, FINE, _BEYOND = 24, 96, 384, 192
"""Intervals, of all laws that may be the largest, and of those left. With 384 and 192 the chords add 1e-5 to the integral."""
_STEPS, _FALLEN = 4, 16.0
"""Values that are used one after the other beyond that, and the nats that each has lost where it is first used."""
_CLOSE = 0.99  # part of a number, of which what is beyond does as well
_SEEN = 1e-4  # part of the integral from which on what is beyond is looked at by its values
_BLOCKS, _NARROW, _REACH = 64, 1024, 4  # of values, up to as many standard deviations; of which pairs are added up
_APART = np.tri(_BLOCKS, k=-2)  # of each two blocks, whether others are between them
_INVERSE = _APART / np.maximum(np.subtract.outer(np.arange(_BLOCKS), np.arange(_BLOCKS)) - 1, 1)  # one over how many


def integrals(w: Floats, a: Floats, b: Floats, theta: Floats, rise: float, numbers: Sequence[int], count: int) -> Floats:
    """Logarithms of upper bounds, of each number of values and each group's largest law.

    Each is one of a function that is log-convex between the numbers.
    """
    groups, laws, cells = w.shape
    w, a, b = (np.broadcast_to(each, w.shape).reshape(-1, cells) for each in (w, a, b))
    theta = np.repeat(theta, laws)
    t = theta[:, None] * w
    growth = np.exp(t)
    series = t * t / 2 * (1 + t / 3 * (1 + t / 4 * (1 + t / 5 * (1 + t / 6 * (1 + t / 7)))))
    risen = np.where(np.abs(t) < 0.01, series, growth - 1 - t)
    blur = WRONG * (theta[:, None] * a) ** 2 * np.maximum(growth, 1)
    moved = (b * (risen + blur)).sum(axis=1) * (1 + ROOM) - theta * rise * (1 - ROOM)
    nats = np.log1p(moved)
    nats += ROOM * np.abs(nats)

    weights = b * growth
    tilted = weights / weights.sum(axis=1, keepdims=True)
    left = w - (tilted * w).sum(axis=1, keepdims=True)
    variance, fourth, end = _moments(left, a, tilted)

    # Only laws are looked at further that may be the largest of their group: by all that is known without an integral, and then
    # by more and more of what is beyond the ends. The whole integral is about that of a normal law.
    is_one = groups == 1 and count == FINE
    levels, least = np.multiply.outer(np.array(numbers, dtype=np.float64), nats), np.empty((len(numbers), groups * laws))
    for i, (m, level) in enumerate(zip(numbers, levels, strict=True)):
        top = level.reshape(groups, laws).argmax(axis=1) + laws * np.arange(groups)
        own = chords(variance[top], fourth[top], theta[top], m, count, end[top])
        least[i] = np.repeat(level[top] + np.log(own / np.pi), laws) - is_one * GAINED
    found = levels - np.log(2 * theta)
    kept = np.flatnonzero(~(found < least).all(axis=0))
    fewest = [min(each for each in numbers if each > _CLOSE * m) for m in numbers]
    wholes = dict(zip(fewest, np.tile(1 / end, (len(fewest), 1)), strict=True))  # a row each, which is made smaller
    for looked in _BEYOND_ENDS[not is_one :]:
        for few, whole in wholes.items():
            seen = kept[~(whole[kept] * theta[kept] ** 2 * np.sqrt(float(few) * variance[kept]) < _SEEN)]
            if len(seen):
                whole[seen] = np.fmin(whole[seen], looked(w[seen], a[seen], tilted[seen], few, end[seen]))
        for i, m in enumerate(numbers):
            near = chords(variance[kept], fourth[kept], theta[kept], m, _FIRST, end[kept])
            found[i, kept] = logs(levels[i, kept], theta[kept], near + wholes[fewest[i]][kept])
        kept = kept[~(found[:, kept] < least[:, kept]).all(axis=0)]
    for i, m in enumerate(numbers):
        near = chords(variance[kept], fourth[kept], theta[kept], m, count, end[kept])
        found[i, kept] = logs(levels[i, kept], theta[kept], near + wholes[fewest[i]][kept])
    if is_one:
        apart = np.array([wholes[few] for few in fewest])
        return _by_phases(found, levels, apart, (variance, fourth, theta, end), turning(w, a, tilted, left), numbers)
    return np.asarray(found.reshape(len(numbers), groups, laws).max(axis=2), dtype=np.float64)


def by_moments(
    levels: Floats, w: Floats, a: Floats, tilted: Floats, theta: float, numbers: Sequence[int], users: NDArray[np.int64]
) -> Floats:
    """The same of each law, whose logarithms on the real line are known, by moments and pairs of values: not much too large.

    ``users``: of how many of the values each is the sum.
    """
    with np.errstate(all="ignore"):
        variance, fourth, end = _moments(w - (tilted * w).sum(axis=1, keepdims=True), a, tilted)
        here = np.full(len(w), theta)
        moments = variance / users, fourth / users, here
        parts = [chords(*moments, m, COARSE, end) + np.fmin(1 / end, _far(w, a, tilted, m / users, end)) for m in numbers]
        return logs(levels, here, np.array(parts))


def _moments(left: Floats, a: Floats, tilted: Floats) -> tuple[Floats, Floats, Floats]:
    """Of each law, less its mean, a lower bound of the variance, an upper one of F, and how far chords are above the bound."""
    square, size = left**2, a**2
    squares = (tilted * square).sum(axis=1)
    variance = np.maximum(squares * (1 - ROOM) - 10 * WRONG * (tilted * size).sum(axis=1), 0)
    fourth = 2 * (tilted * square**2).sum(axis=1) + 6 * squares**2
    fourth = fourth * (1 + ROOM) + 100 * WRONG * (tilted * size**2).sum(axis=1)
    return variance, fourth, np.sqrt(12 * variance / fourth) * (1 - ROOM)


def _by_phases(
    found: Floats, levels: Floats, apart: Floats, moments: tuple[Floats, ...], turns: Floats, numbers: Sequence[int]
) -> Floats:
    """Bounds of one group, of each number, from those of its laws by moduli alone.

    ``apart``: of each number and law, infinite where that is not known.
    """
    gaps = (found.max(axis=1)[:, None] - found).min(axis=0)
    here = np.flatnonzero((gaps <= GAINED) & (apart < math.inf).all(axis=0))
    if not len(here):
        return np.asarray(found.max(axis=1)[:, None], dtype=np.float64)
    variance, fourth, theta, end = (each[here] for each in moments)
    edges = _edges(variance.max(keepdims=True), theta[:1], max(numbers), 4 * FINE, end.max(keepdims=True))
    areas = [_areas(edges, variance, fourth, theta, m, end, is_power=m > 1) for m in numbers]

    def closer(cosines: Cosines) -> Floats:
        left = cosines(edges[0])
        return logs(levels[:, here], theta, np.array([sums(each, left) for each in areas]) + apart[:, here])

    return turned(found, here, closer, turns, float(theta[0]), numbers)[:, None]


def _by_blocks(w: Floats, a: Floats, tilted: Floats, m: int, end: Floats) -> Floats:
    """Of each law, the integral of its bound over u squared from its end on, by blocks of values: by the transform of narrow ones,
    as far as these are narrow enough, and then by all pairs in wider blocks that are apart.
    """
    from scipy.special import i0e  # here: it takes a while to import

    blur = 2 * WRONG * a.max(axis=1, initial=0.0)
    values = w - (tilted * w).sum(axis=1, keepdims=True)
    deviation = np.sqrt((tilted * values**2).sum(axis=1, keepdims=True))
    width = deviation * (2 * _REACH / _NARROW)
    with np.errstate(all="ignore"):
        block = np.floor(values / width) + _NARROW // 2
        inside = (block >= 0) & (block < _NARROW)
        places = np.where(inside, block, 0).astype(np.int64) + _NARROW * np.arange(len(w))[:, None]
        parts = np.bincount(places.ravel(), (tilted * inside).ravel(), _NARROW * len(w)).reshape(-1, _NARROW)
        wide = parts.reshape(len(w), _BLOCKS, -1).sum(axis=2)
        total, inverse = (np.einsum("li,ij,lj->l", wide, each, wide) for each in (_APART, _INVERSE))
        inverse = inverse / total / width[:, 0] * (_BLOCKS / _NARROW) * (1 + 1e-6)
        mean = np.where((total > 0) & (blur < 1e-8 * width[:, 0]), i0e(m * total * (1 - ROOM)), math.inf)[:, None]
        # Each point of the transform speaks for all that are nearer to it than to others.
        step = np.pi / 2 / _NARROW / width
        at = np.concatenate([end[:, None], np.maximum(end[:, None], step * (np.arange(2 * _NARROW) + 0.5))], axis=1)
        moduli = np.abs(np.fft.rfft(parts, 4 * _NARROW))[:, : 2 * _NARROW] + (1 - parts.sum(axis=1, keepdims=True))
        moduli += at[:, 1:] * (width + blur[:, None]) / 2 + (deviation + width) * step / 2 + BLUR
        passed = np.exp(m * np.log(np.minimum(moduli, 1))) * (1 / at[:, :-1] - 1 / at[:, 1:])
        beyond = mean / at * (1 + 2 * np.pi * inverse[:, None] / at)
        beyond[:, 1:] += np.cumsum(passed, axis=1)
    return np.asarray(np.fmin.reduce(beyond, axis=1, initial=math.inf), dtype=np.float64)


def _far(w: Floats, a: Floats, tilted: Floats, m: int | Floats, end: Floats) -> Floats:
    """Of each law, the integral of its bound over u squared from its end on, by pairs of values, one of them the likeliest."""
    likeliest = tilted.argmax(axis=1)[:, None]
    blurs = WRONG * (a + picked(a, likeliest))
    gaps = np.abs(w - picked(w, likeliest)) - blurs
    widest = gaps + 2 * blurs
    kappas = np.asarray(m, dtype=np.float64)[..., None] * picked(tilted, likeliest) * tilted * (1 - ROOM)
    # One value after the other takes the bound further, as long as it has fallen; any do.
    reached, passed = end, np.zeros(len(w))
    for _ in range(_STEPS):
        falls = 2 * kappas * (gaps * reached[:, None] / np.pi) ** 2
        usable = (gaps > 0) & (falls > _FALLEN) & (widest * reached[:, None] < np.pi * (1 - ROOM))
        other = np.where(usable, widest, math.inf).argmin(axis=1)[:, None]
        further, fall, gap = (picked(each, other)[:, 0] for each in (usable, falls, widest))
        passed = passed + np.where(further, np.exp(-fall) / reached, 0)
        reached = np.where(further, np.pi / gap * (1 - 3 * ROOM), reached)
    from scipy.special import i0e  # here: it takes a while to import

    # Of the last one its periods are added; it is the one by which these are least.
    from_here, mean = reached[:, None], i0e(kappas)
    first = np.exp(-2 * kappas * (gaps * from_here / np.pi) ** 2) / from_here + mean * widest * np.pi / 4
    later = mean * (1 / from_here + 2 * np.pi / gaps / from_here**2)
    periods = np.where(gaps > 0, np.where(widest * from_here < np.pi * (1 - ROOM), first, later), math.inf).min(axis=1)
    return np.asarray(passed + np.minimum(periods, 1 / reached), dtype=np.float64)


_BEYOND_ENDS = _by_blocks, _far
"""How one looks beyond the ends, one after the other; where there are several groups, by pairs alone."""


def picked(values: NDArray[Any], places: NDArray[np.intp]) -> NDArray[Any]:
    """One value of each row, as `numpy.take_along_axis` picks it, in a third of the time."""
    rows = values.reshape(places.size, values.shape[-1])
    return rows[np.arange(len(rows)), places.ravel()].reshape(places.shape)


def chords(variance: Floats, fourth: Floats, theta: Floats, m: int, count: int, end: Floats) -> Floats:
    """Upper bounds of the integral up to each law's end, from its moments."""
    edges = _edges(variance, theta, m, count, end)
    return np.asarray(_areas(edges, variance, fourth, theta, m, end).sum(axis=1), dtype=np.float64)


def _edges(variance: Floats, theta: Floats, m: int, count: int, end: Floats) -> Floats:
    """The ends of each law's intervals, of which `count` are in the main part."""
    reach = np.minimum(np.minimum(_DEVIATIONS / np.sqrt(float(m) * variance), 256 * theta), end)
    steps = np.arange(1, _BEYOND * count // FINE + 1) * FINE / (_BEYOND * count)
    ratios = np.exp(np.multiply.outer(np.log(end / reach), steps))
    return np.concatenate([np.multiply.outer(reach, np.linspace(0, 1, count + 1)), reach[:, None] * ratios], axis=1)


def _areas(
    edges: Floats, variance: Floats, fourth: Floats, theta: Floats, m: int, end: Floats, is_power: bool = False
) -> Floats:
    """Upper bounds of the integral in each interval, up to each law's end; by a power, or by an exponential that is above it."""
    edges = np.minimum(edges, end[:, None])
    v = edges**2
    lost = (1 - ROOM) * fallen(v, variance[:, None], fourth[:, None])
    heights = np.exp(float(m) / 2 * (np.log1p(-lost) if is_power else -lost)) / (theta[:, None] ** 2 + v)
    near, far = edges[:, :-1], edges[:, 1:]
    share = (far + 2 * near) / (3 * (far + near))  # of the further end, in the integral of a chord
    return np.asarray((far - near) * (heights[:, :-1] * (1 - share) + heights[:, 1:] * share), dtype=np.float64)


def logs(levels: Floats, theta: Floats, integrals: Floats) -> Floats:
    """Logarithms of upper bounds. Of a constant nothing is known but that a modulus is at most that at 0."""
    return np.asarray(levels + np.log(np.fmin(integrals, np.pi / (2 * theta)) * (1 + ROOM) / np.pi), dtype=np.float64)


def fallen(v: Floats, variance: Floats, fourth: Floats) -> Floats:
    """Lower bound of what the logarithm of a transform's squared modulus loses from 0 to the root of `v`."""
    return np.asarray(v * (variance - v * fourth / 24), dtype=np.float64)

