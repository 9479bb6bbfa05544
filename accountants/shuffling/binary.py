r"""Shuffled binary randomized response: the worst number of ones among the others, by branch and bound.

The worst data set is some t in 0..n-1 of others who hold what user 1 holds in the first of the two neighbours; the other
direction of the divergence at t is this one at n - 1 - t. Most often t is n - 1 or a few less, because reports of like
users are less spread above their mean; but no theorem says so, and near epsilon = 0 it is false. So ranges of t are
bounded from above (`binary_data_set`; or by taking users away), and halved until none can exceed the best t that has
been evaluated; in short ranges each t is held against that by itself (`survivors`).

*The sieve*. With the notation of `binary_data_set`, D_t depends on t through a level that falls geometrically, through U,
which changes slowly, and through :math:`\psi_t`, the distance from the tilted mean to the nearest integers, which jumps
about. Over a range of t, U is first bounded by a parabola in :math:`\psi`; for the t that this leaves, U is computed in
floats with a bound of their error. What exceeds the number asked for survives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import floor
from ldpaudit.accountants.numerics.trapezoid import sums
from ldpaudit.accountants.shuffling.binary_data_set import Comb, TiltedResponse

_EXHAUSTIVE = 32
_PATIENT, _FAIR, _HASTY = 400, 160, 48
"""Evaluations, of one to three milliseconds each: where every t in question can be looked at; where not; and where the
tolerance is `_NARROW` or more."""
_NARROW = 1e-4
_OF_CURVES, _ROUGH = 1e-5, 1e-3
"""From this tolerance on it is not worth while to place each t's mean among the integers, where that makes no more difference than
this: 5e-5 of an epsilon."""
_SAME = 4e-10  # relative width at which two divergences are as good as one
_FEW = 24  # how many t that were not ruled out one by one are looked at
_STEEP = 0.2  # tilt above which so few other reports count that taking some away costs little
_KEPT = 1.2  # times as much of a range is looked at next as is needed for the rest to be ruled out, or half of it
_NEAR_THE_END = 256  # how many t are considered for the lower bound
LONGEST = 1 << 20
"""The longest range."""
_PLACE, _FLOAT = 1e-9, 1e-12
"""How far off a mean's fractional part may be after 2**20 steps in floats; and, relative, few products and sums."""
_SHIFTS = (-1, 0, 1, 2)
"""Integers next to the mean, from the one below it: two of them, or where the mean is about an integer, three."""
_UNIT = 2.0**-51  # relative; two roundings of a float, real and imaginary
_WORK = 1 << 20  # terms of sums in floats; as many take the time of a few values of D_t
_LONG, _EACH, _MUCH = 1 << 16, 64, 2
"""Range from which on every 64th t shows first whether the parabola leaves more than `_MUCH` times `_WORK`: then it is halved."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest divergence over all data sets."""

    low: flint.arb  # the divergence at `t`: attained
    high: flint.arb  # upper bound over all t; the same as `low` up to the tolerance where the search has ended
    t: int  # how many others hold what user 1 holds in the first neighbour


def worst(p: Fraction, exp_epsilon: flint.arb, users: int, tolerance: float) -> Worst:
    """Search the data sets of shuffled binary randomized response.

    Low and high agree within the tolerance or 4e-10, unless the evaluations run out before: none of the parameters tried has shown
    that (epsilon0 from 1 to 12, n from 1e4 to 1e12). From a tolerance of 1e-5 on they may lie 1e-3 further apart, and from 1e-4
    on the search is short. It needs an `exp_epsilon` below p/(1 - p).
    """
    others = users - 1
    search = _Search(TiltedResponse(p, exp_epsilon), others, tolerance)
    if others <= _EXHAUSTIVE:
        for t in range(others + 1):
            search.evaluate(t)
        return search.result(flint.arb(0))
    for t in search.promising():
        search.evaluate(t)
    return search.result(search.branch())


def attained(p: Fraction, exp_epsilon: flint.arb, users: int) -> flint.arb:
    """The divergence of a good data set, though perhaps not of the worst; parameters as for `worst`."""
    search = _Search(TiltedResponse(p, exp_epsilon), users - 1, 0.0)
    for t in search.promising():
        search.evaluate(t)
    return search.best


class _Search:
    def __init__(self, tilt: TiltedResponse, others: int, tolerance: float) -> None:
        self.tilt, self.others, self.tolerance = tilt, others, tolerance
        self.best, self.t = flint.arb(0), -1
        self.evaluations = 0
        self.ruled_out = flint.arb(0)

    def evaluate(self, t: int) -> flint.arb:
        value = self.tilt.value(t, self.others)
        self.evaluations += 1
        if self.t < 0 or value.lower() > self.best.lower():
            self.best, self.t = value, t
        return value

    def result(self, bound: flint.arb) -> Worst:
        return Worst(self.best, self.best.max(bound).abs_upper(), self.t)

    def _slope(self) -> float:
        """Nats by which the level falls with every user who holds the other value."""
        one, zero = self.tilt.divergences
        return float(zero - one)

    def _curvature(self) -> float:
        """About how sharply U is peaked: relative loss is this times half the squared distance."""
        return float(self.tilt.c) ** 2 + 1 / max(self.tilt.moment(self.others, self.others), 1.0)

    def promising(self) -> list[int]:
        """The end, the middle, and near the end the t whose tilted mean is best placed; floats, only a choice."""
        one, zero = self.tilt.heads
        end, variance = self.tilt.mean(self.others, self.others), self.tilt.moment(self.others, self.others)
        mode = -self.tilt.moment(self.others, self.others, third=True) / (2 * max(variance, 1.0))
        curvature, slope = self._curvature(), self._slope()

        back = np.arange(min(self.others, LONGEST, int(curvature / 4 / max(slope, 1e-300)) + _NEAR_THE_END) + 1)
        place = np.remainder(float(end - end.floor()) - back * float(one - zero), 1.0) + mode
        loss = slope * back + curvature / 2 * (place - np.rint(place)) ** 2
        near = np.argpartition(loss, 3)[:3] if len(loss) > 3 else back
        return sorted({self.others // 2, self.others, *(self.others - near).tolist()})

    def branch(self) -> flint.arb:
        """Upper bound over every t."""
        rough = self._curvature() / 8
        in_question = rough / max(self._slope(), 1e-300)
        close = max(self.tolerance / 2, _SAME)
        if is_rough := self.tolerance >= _OF_CURVES and rough < _ROUGH:
            close += rough
        fair = _PATIENT if in_question < _PATIENT / 3 else _FAIR
        heap: list[tuple[float, int, int, flint.arb]] = []
        self._push(heap, 0, self.others)
        while heap:
            _, first, last, bound = heappop(heap)
            gap = float(bound / self.best.lower() - 1)
            most = _HASTY if self.tolerance >= _NARROW else fair
            if gap <= close or self.evaluations >= most:
                return bound.max(self.ruled_out)
            if not is_rough and last - first < LONGEST and self._sieve(first, last):
                continue
            # The bound's gap is about proportional to the range's length: what is far enough below the end is ruled out at once.
            kept = min(1.0, _KEPT / (1 + max(self._slope(), 0.0) * (last - first) / gap))
            middle = max((first + last + 1) // 2, last - int(kept * (last - first)))
            if gap > _NARROW:
                self.evaluate(middle)
            self._push(heap, first, middle - 1)
            self._push(heap, middle, last)
        return self.ruled_out

    def _sieve(self, first: int, last: int) -> bool:
        """Whether all t of a range have been looked at or ruled out one by one."""
        most = self.best.lower() * (1 + flint.arb(max(_SAME, self.tolerance)) / 2)
        found = survivors(self.tilt, range(first, last + 1), self.others, most)
        self.evaluations += 1
        if found is None:
            return False
        left, sifted = found
        if len(left) > _FEW:
            self.evaluate(int(left[0]))
            return False
        self.ruled_out = self.ruled_out.max(most * flint.arb(sifted))
        for t in left.tolist():
            self.evaluate(t)
        return True

    def _push(self, heap: list[tuple[float, int, int, flint.arb]], first: int, last: int) -> None:
        if last - first <= 1:  # looking at both is cheaper than bounding them
            for t in range(first, last + 1):
                self.evaluate(t)
            return
        bound = self._bound(first, last)
        if bound > self.best.lower():
            heappush(heap, (-float(bound.log()), first, last, bound))

    def _bound(self, first: int, last: int) -> flint.arb:
        bound = flint.arb(1)
        if self.tilt.c > _STEEP:
            # Delta does not fall where the users who may hold either value are taken away: t = first, and fewer others.
            bound = self.tilt.value(first, self.others - (last - first)).abs_upper()
            self.evaluations += 1
        if bound > self.best.lower():
            bound = bound.min(self.tilt.bound(first, last, self.others))
            self.evaluations += 1
        return bound


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
    up, down, steep = float(slope.upper()), float(slope.lower()), float(slope.abs_upper())
    slack = _PLACE * steep + _FLOAT * (top + 2 * steep - 4 * bend)

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
    sizes = sums(np.exp(turns.real), np.abs(terms))
    off = (sizes * (len(y) + np.abs(turns).max(axis=1) + 16) * _UNIT + float(comb.left_out.upper())) * (1 + _FLOAT)
    slope, c = float((level * comb.u(flint.arb(0, 1 + 2 * _PLACE), 1)).abs_upper()), float(tilt.c)
    error = float((level * comb.error).upper())
    turned = np.exp(turns + 1j * np.outer(place, y))
    highest = np.zeros(len(ts))
    for shift in _SHIFTS:
        psi = shift - place
        total = sums(turned, terms * np.exp(-1j * shift * y)).real
        u = np.exp(-c * (psi + 0.5)) * (2 * (total + off) / comb.parts)
        height = float(level.upper()) * u * (1 + np.sign(u) * _FLOAT) + error + slope * _PLACE
        np.maximum(highest, height, out=highest, where=_near(psi))
    return highest
