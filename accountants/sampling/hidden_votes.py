r"""Several rounds of a trie where the votes for the user's own prefix stay hidden: it is released, or it is not.

Round by round, backwards, for the likelihood ratio c that remains, one user more costs at most

.. math:: V_\ell(c) = \max_w \; g'(w)\, V_{\ell-1}\Bigl(c \frac{g}{g'}\Bigr) + (1 - g'(w))\, N\Bigl(c \frac{1-g}{1-g'}\Bigr),
          \qquad V_0 = N

where w others hold the prefix, and N bounds :math:`E(X - c)_+` of what all other prefixes tell in all rounds together, an X of
mean 1 at most (`crowd`): with its moments, and the chords from N(0) = 1,

.. math:: N(c) = \min_s \max_x \frac{(x - c)_+}{x^s} E X^s = \min_s \frac1s \Bigl(\frac{s-1}{s c}\Bigr)^{s-1} E X^s

Poisson samples have independent votes, and X = 1. One user less costs the same with g and g' exchanged, and :math:`E(1 - cX)_+`
from the moments of 1/X.

Given c, a round is a convex function of (g, g'), and so largest at a vertex of a polygon that holds those of all w. From w to w +
1 the step of g' over that of g is :math:`(1-q)(w+1)/(w-\theta+2)` (`thresholded`), which falls with w: between two w that are
looked at, the points lie below the lines through both. N and all V are convex in c, and lie below the chords between points.

Where many users hold the prefix, it counts as one for which the user does not vote, unless it has theta votes or fewer: the
chance of that is charged to delta. So is what `crowd` loses, and the chance that own votes leave too few for other users.

Tight for Poisson samples, where the worst w fall from round to round; else X costs some percent of epsilon.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_upper
from ldpaudit.accountants.sampling import crowd
from ldpaudit.accountants.sampling.crowd import Crowd
from ldpaudit.accountants.sampling.rounds import Curve, Grid, Row
from ldpaudit.accountants.sampling.thresholded import FixedBatch, Sampling
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_down, round_up

_RATES = (0.07, 0.11, 0.17, 0.27, 0.4, 0.6, 0.8, 1.05, 1.4, 2.0, 2.8)
"""lambda of the moments, in the root of the number of thresholds in a sample; any is valid."""
_DENSITIES = (1.3, 1.45, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
"""kappa that are tried, from the least on."""
_NEGLIGIBLE = 1e-3
"""Part of delta that is charged, at most, for each thing that all but never happens."""
_HOLDERS, _POINTS = 200, 256
"""Numbers of holders that are looked at, and points up to the epsilon that is asked for."""
_OCTAVE, _SIZES = 4, (1e-5, 1e-10, 1e-15, 1e-20, 1e-30, 1e-60, 1e-100, 1e-300)
"""Curves are made for epsilons that are this root of 2 apart, and for these sizes of delta."""
_LONGEST = 600.0
"""Largest epsilon of a curve, whose exponential is a float."""
_SURE, _FLOATS = 1e-6, 1e40
"""What a chance lacks to 1 where its complement is not looked at; and the largest factor of c."""
_ROUNDS = 2
"""Epsilon of the shortest curve, in those of a round in which the user is not drawn."""
_MEANS = 8
"""Expected votes in thresholds up to which holders are looked at, where no number of them counts as large."""
_BITS = 128
_ROOM = 1e-11
"""Relative error of a round in floats: some dozen operations, each right to 1e-15."""


@dataclass(frozen=True, slots=True)
class Crowded:
    """What holds of all other users: the moments, the prefixes that count as large, and what is charged to delta."""

    moments: tuple[tuple[float, float], ...]  # s, and the logarithm of a bound of E X^s; none where X is 1
    inverses: tuple[tuple[float, float], ...]  # the same of X^-s
    large: int  # holders from which a prefix counts as large
    lost: float


@lru_cache(maxsize=64)
def crowded(sampling: Sampling, threshold: int, rounds: int, goal: float) -> Crowded | None:
    """For a delta of about this size; None where the users, or the draws, are too few."""
    if not isinstance(sampling, FixedBatch):
        return Crowded((), (), sampling.users + 1, 0.0)
    n, m = sampling.users, sampling.batch
    if threshold < 2 or 3 * m > n:
        return None
    small = goal * _NEGLIGIBLE / rounds
    with working_precision(_BITS):
        def missed(w: int) -> float:
            return round_up(1 - hypergeometric_upper(n, w, m - 1, threshold + 1))

        high = threshold + 1 + bisect_left(range(threshold + 1, n), True, key=lambda w: missed(w) <= small)
        unseen = missed(high)
        if unseen > small:
            return None

        def more(j: int) -> float:
            return round_up(hypergeometric_upper(n, high, m, j + 1)) / (1 - unseen)

        most = threshold + 1 + bisect_left(range(threshold + 1, m), True, key=lambda j: more(j) <= small)
        charged = (1 + float(sampling.rate)) * unseen + more(most)
    found = Crowd(threshold, m, max(threshold, m - most), n - high, high * m / n)
    if 2 * found.fewest < m or found.users < 2 * m:
        return None
    q = float(sampling.rate)
    enough = (k for k in _DENSITIES if found.is_enough(k) and q * crowd.lost(found, found.fewest, k) < small)
    if (kappa := next(enough, None)) is None:
        return None
    each = q / (1 - q) * (1 + _ROOM)
    rates = [rate for x in _RATES if (rate := x * math.sqrt(m / threshold)) > 2 * each]
    moments = ((rate / each, crowd.log_moment(found, rate, rounds, kappa)) for rate in rates)
    # log(1 + z) is at least z - z**2/2(1 - q')**2 from -q' on, for q' = q/(1 - q) below 1
    bend = each * max(1.0, 2 / (1 - found.verge) - 1) ** 2 / (2 * (1 - each) ** 2) * rounds
    inverses = ((rate / each, crowd.log_moment_back(found, rate, rounds) + rate * bend) for rate in rates[4:])
    there, back = (tuple((s, nats) for s, nats in some if math.isfinite(nats)) for some in (moments, inverses))
    lost = rounds * (charged + q * crowd.lost(found, found.fewest, kappa)) * (1 + _ROOM)
    return Crowded(there, back, high, lost) if there else None


def _told(found: Crowded, c: Row) -> Row:
    """N at some ratios."""
    return _chords(found, c, [(s - 1) * (math.log1p(-1 / s) - np.log(c)) - math.log(s) + nats for s, nats in found.moments])


def _told_back(found: Crowded, c: Row) -> Row:
    r"""The same if a user is removed: :math:`E(1 - cX)_+ \le \frac{1}{s+1} \bigl(\frac{s}{(s+1) c}\bigr)^s E X^{-s}`."""
    return _chords(found, c, [nats - math.log1p(s) - s * (math.log1p(1 / s) + np.log(c)) for s, nats in found.inverses])


def _chords(found: Crowded, c: Row, logs: list[Row]) -> Row:
    """The least of some bounds, and the chords from 1 at 0."""
    if not found.moments:
        return np.asarray(np.maximum(0.0, 1 - c) * (1 + _ROOM))
    values = np.exp(np.minimum(0.0, np.minimum.reduce(logs) + _ROOM)) if logs else np.ones_like(c)
    slopes = np.minimum.accumulate(((values - 1) / c)[::-1])[::-1]
    return np.asarray(np.minimum(values, 1 + slopes * c) * (1 + _ROOM))


@lru_cache(maxsize=16)
def _outer(sampling: Sampling, threshold: int, last: int) -> tuple[Row, Row]:
    """Vertices (g, g') of a polygon that holds those of all numbers of holders below the last."""
    q, n = float(sampling.rate), sampling.users
    end = min(last, n, max(threshold, math.ceil(_MEANS * threshold / q)))
    chosen = np.unique(np.round(np.concatenate([[threshold - 1], np.geomspace(threshold, max(threshold, end), _HOLDERS)])))
    holders = [int(w) for w in chosen if w <= n]
    with working_precision(_BITS):
        pairs = [sampling.release(w, threshold) for w in holders]
        own = np.array([round_down(fewer) for _, fewer in pairs]), np.array([round_up(more) for more, _ in pairs])
    x, y = [0.0], [0.0]
    slopes = [(1 - q) * (w + 1) / (w - threshold + 2) for w in holders]
    for i, (g, more) in enumerate(zip(*own, strict=True)):
        if i:
            a, b = slopes[i - 1] * (1 + _ROOM), (1 - q) * holders[i] / (holders[i] - threshold + 1) * (1 - _ROOM)
            over = g - x[-1]
            step = min(max((more - y[-1] - b * over) / (a - b) if a > b else 0.0, 0.0), over)
            x.append(x[-1] + step)
            y.append(min(1.0, max(y[-1] + a * step, more - b * (over - step)) * (1 + _ROOM)))
        x.append(float(g))
        y.append(float(more))
    if holders[-1] < min(last - 1, n):  # more holders: below the last line, and below that of slope 1 - q through (1, 1)
        slope = slopes[-1] * (1 + _ROOM)
        x.append(min(1.0, max(x[-1], (q - y[-1] + slope * x[-1]) / (slope - 1 + q))))
        y.append(min(1.0, 1 - (1 - q) * (1 - x[-1])))
    return np.array([*x, 1.0]), np.array([*y, 1.0])


def _at(nodes: Row, values: Row, c: Row) -> Row:
    """Chords between the nodes, a little to the left, for rounding; beyond them the last value."""
    return np.interp(c * (1 - 4 * _ROOM), nodes, values)


def curves(sampling: Sampling, threshold: int, rounds: int, epsilon: Fraction, goal: float) -> tuple[Curve, Curve] | None:
    """Upper bounds of delta if a user is added, and if one is removed, at epsilons up to the given one and some more.

    ``goal``: about the delta in question. None where too few users are drawn, or too few are not.
    """
    silence = -math.log1p(-float(sampling.rate))
    width = min(_LONGEST, silence * 2 ** (math.ceil(_OCTAVE * math.log2(max(float(epsilon) / silence, _ROUNDS))) / _OCTAVE))
    size = next((size for size in _SIZES if goal >= size), _SIZES[-1])
    added = _curve(sampling, threshold, rounds, width, size, True)
    removed = _curve(sampling, threshold, rounds, min(width, 2 * rounds * silence), size, False)
    return None if added is None or removed is None else (added, removed)


@lru_cache(maxsize=32)
def _curve(sampling: Sampling, threshold: int, rounds: int, width: float, goal: float, is_added: bool) -> Curve | None:
    found = crowded(sampling, threshold, rounds, goal)
    if found is None:
        return None
    grid = Grid(Fraction(width) / _POINTS, -_POINTS, _POINTS)
    ratios = np.exp(width / _POINTS * np.arange(-_POINTS, _POINTS + 1)) * (1 - _ROOM)
    fewer, more = _outer(sampling, threshold, found.large)
    # Where nearly nothing is left to 1, floats do not hold the quotient (1 - g)/(1 - g'), which is from 1 to 1/(1 - q).
    sure = more > 1 - _SURE
    down = np.where(sure, 1.0, (1 - fewer) / np.where(sure, 1.0, 1 - more)).clip(1.0)
    up = np.maximum(fewer / np.where(more > 0, more, 1.0), 1 / _FLOATS)
    if is_added:
        values = _backwards(_told(found, ratios), ratios, (more, np.where(fewer > 0, up, 0.0), down), rounds)
    else:
        back = np.where(sure, 1 - float(sampling.rate), 1 / down)
        values = _backwards(_told_back(found, ratios), ratios, (fewer, 1 / up, back), rounds)
    return Curve(grid, values, _ROOM, found.lost)


def _backwards(told: Row, ratios: Row, vertices: tuple[Row, Row, Row], rounds: int) -> Row:
    """The last V, from the vertices' chances, and the factors of c where the prefix is released, and where it is not."""
    chances, up, down = vertices
    nodes = np.concatenate([[0.0], ratios])
    told = values = np.concatenate([[1.0], told])
    dead = (1 - chances)[:, None] * _at(nodes, told, np.outer(down, ratios))
    for _ in range(rounds):
        alive = chances[:, None] * _at(nodes, values, np.outer(up, ratios))
        before, values = values, np.concatenate([[1.0], np.minimum(1.0, (alive + dead).max(axis=0) * (1 + _ROOM))])
        if np.array_equal(values, before):
            break  # every further round changes nothing
    return values[1:]
