r"""A binary user among N others: which numbers t of others who hold 1 may be the worst, thousands at a time.

With the notation of `binary_data_set`, D_t depends on t through a level that falls geometrically, through U, which changes
slowly, and through :math:`\psi_t`, the distance from the tilted mean to the nearest integers, which jumps about. Over a
range of t, U is first bounded by a parabola in :math:`\psi`; for the t that this leaves, U is computed in floats with a
bound of their error. What exceeds the number asked for survives.
"""

from __future__ import annotations

from collections.abc import Callable

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import floor
from ldpaudit.accountants.shuffling.binary_data_set import Comb, TiltedResponse

LONGEST = 1 << 20
"""The longest range."""
_PLACE, _FLOAT = 1e-9, 1e-12
"""How far off a mean's fractional part may be after 2**20 steps in floats; and, relative, few products and sums."""
_SHIFTS = (-1, 0, 1, 2)
"""Integers next to the mean, from the one below it: two of them, or where the mean is about an integer, three."""
_UNIT = 2.0**-51
"""Relative; two roundings of a float, real and imaginary."""
_WORK = 1 << 20
"""Terms of sums in floats; as many take the time of a few values of D_t."""
_LONG, _EACH, _MUCH = 1 << 16, 64, 2
"""Range from which on each 64th t shows first whether the parabola leaves so many times `_WORK` that it is better halved."""


def survivors(tilt: TiltedResponse, ts: range, others: int, most: flint.arb) -> tuple[NDArray[np.int64], float] | None:
    """The t of a range at which D_t may exceed a number, the largest bound first; and a bound for all others, over the number.

    None where the range is too wide for bounds of its t, or leaves too many to look at.
    """
    comb = Comb.of(tilt, ts[0], ts[-1], others)
    if comb is None:
        return None
    curve = comb.u(flint.arb(0, 1), 2)
    if not curve < 0:
        return None
    level = tilt.level(flint.arb(ts[-1]), others) / most
    rest = float((tilt.weights[1] * comb.aliased / most).upper())
    start = tilt.mean(ts[0], others)
    (one, zero), (one_kl, zero_kl) = tilt.heads, tilt.divergences

    def places(k: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.remainder(float(start - floor(start)) + k * float(one - zero), 1.0)
        return found

    def bounds(heights: NDArray[np.float64], k: NDArray[np.int64]) -> NDArray[np.float64]:
        levels = np.exp(-float(zero_kl - one_kl) * (len(ts) - 1 - k))  # they fall away from the range's end
        found: NDArray[np.float64] = levels * np.maximum(heights, 0.0) * (1 + _FLOAT) + rest
        return found

    parabola = _parabola(tilt, comb, (ts[0] + ts[-1]) // 2, others, curve, level)
    sample = np.arange(0, len(ts), _EACH)
    if len(ts) > _LONG and np.mean(bounds(parabola(places(sample)), sample) > 1) * len(ts) * len(comb.terms) > _MUCH * _WORK:
        return None
    k = np.arange(len(ts))
    place = places(k)
    heights = parabola(place)
    bound = bounds(heights, k)
    left, sifted = np.flatnonzero(bound > 1), float(bound.max(initial=0.0, where=bound <= 1))
    heights = heights[left]
    if len(left) and len(left) * len(comb.terms) <= _WORK:
        heights = np.minimum(heights, _in_floats(tilt, comb, ts[0] + left, others, level, place[left]))
        bound = bounds(heights, left)
        sifted = float(bound.max(initial=sifted, where=bound <= 1))
        left, heights = left[bound > 1], heights[bound > 1]
    return left[np.argsort(-bounds(heights, left))] + ts[0], sifted


def _near(psi: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether this may be the distance from the mean to an integer next to it."""
    return np.abs(psi) <= 1 + _PLACE


def _parabola(
    tilt: TiltedResponse, comb: Comb, t: int, others: int, curve: flint.arb, level: flint.arb
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Upper bounds of U, times `level`, for any t of the range by its place: by Taylor's theorem around about the top."""
    at = tilt.top(t, others)
    top = float((level * (comb.u(flint.arb(at)) + comb.error)).upper())
    slope, bend = level * comb.u(flint.arb(at), 1), float((level * curve / 2).upper())
    up, down = float(slope.upper()), float(slope.lower())
    slack = _PLACE * max(up, -down) + _FLOAT * (top + 2 * max(up, -down) - 4 * bend)

    def bounds(place: NDArray[np.float64]) -> NDArray[np.float64]:
        highest = np.zeros(len(place))
        for shift in _SHIFTS:
            psi = shift - place
            d = psi - at
            fall = bend * np.maximum(np.abs(d) - _PLACE, 0.0) ** 2
            np.maximum(highest, top + np.maximum(d * up, d * down) + fall + slack, out=highest, where=_near(psi))
        return highest

    return bounds


def _in_floats(
    tilt: TiltedResponse, comb: Comb, ts: NDArray[np.int64], others: int, level: flint.arb, place: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Upper bounds of U, times `level`, for given t: the sum itself, and what floats may add to it."""
    middle = int(ts[len(ts) // 2])
    y = np.array([float(node.y) for node in comb.nodes])
    terms = np.array([complex(z) for z in comb.at(middle, others)])
    steps = np.array([complex(node.one - node.zero) for node in comb.nodes])
    turns = np.outer(ts - middle, steps)
    sizes = np.exp(turns.real) @ np.abs(terms)
    off = (sizes * (len(y) + np.abs(turns).max(axis=1) + 16) * _UNIT + float(comb.left_out.upper())) * (1 + _FLOAT)
    slope, c = float((level * comb.u(flint.arb(0, 1 + 2 * _PLACE), 1)).abs_upper()), float(tilt.c)
    error = float((level * comb.error).upper())
    turned = np.exp(turns + 1j * np.outer(place, y))
    highest = np.zeros(len(ts))
    for shift in _SHIFTS:
        psi = shift - place
        total = (turned @ (terms * np.exp(-1j * shift * y))).real
        u = np.exp(-c * (psi + 0.5)) * (2 * (total + off) / comb.parts)
        height = float(level.upper()) * u * (1 + np.sign(u) * _FLOAT) + error + slope * _PLACE
        np.maximum(highest, height, out=highest, where=_near(psi))
    return highest
