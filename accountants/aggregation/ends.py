r"""Sums of integers whose noise is clamped, from above: of all data sets, those in which the others hold the two ends.

Clamped noise is the least at the ends. So we show that nearly nothing is lost if the others hold just these, whose data sets are
a line. For a law w of what is added to user 1's report, let :math:`D(w)` be the divergence :math:`\sum (w * (p - x q))_+` of user
1's two laws, the largest of all pairs of inputs, and :math:`V(k)` the largest :math:`D(w)` of all data sets of k others.

*A user is replaced.* Of the others besides one who holds y, :math:`m_z` hold some z, if the :math:`m_z` add up to less than k:
their sum has the law :math:`N = p_z^{*m_z}`, which is so smooth that shifts of the two ends' laws :math:`p_0`, :math:`p_B` fit
below that of y, with next to nothing left:

.. math:: p_y * N = R + \sum_s (g_s\, p_0 + h_s\, p_B) * N(\cdot - s)\, 1_W, \qquad R \ge 0

on a window W of nearly all mass. D is subadditive, no larger for a shift or a sum with more, and :math:`D(-v) \le x |v|` for a
negative part. So for the mass r of R and the mass t that the window cuts off the shifts,

.. math:: D(w) \le \max(D(w_0), D(w_B)) + r\, V(k - 1 - m_z) + x\, t

where the user holds an end in :math:`w_0` and :math:`w_B`. After at most k steps all hold ends, so with :math:`V_e(k)` of those

.. math:: V(k) \le V_e(k) + k \max_{y, z} \bigl(r_{yz} V(k - 1 - m_z) + x\, t_{yz}\bigr)

which is found for few others first.

Skewed noise hides less where most hold one end. So it matters that each who is replaced holds either end with some probability,
whatever the others hold: of j users who are replaced each end is held by as many, at least, as j coins of the least such
probability show ones. With :math:`V_e(k, b)` of data sets in which b hold either end at least, V(k) is at most its mean over that
b, and the cost of j.

The weights g and h are those of a linear program, made smaller until they are seen to fit. On the line, users of whom we do not
know which end they hold are left out, which only helps the adversary, and the worst range is halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from heapq import heapify, heappush, heapreplace
from itertools import pairwise, permutations, product
from typing import NamedTuple, TypeAlias

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import Floats, Pair
from ldpaudit.accountants.aggregation.envelope import CountLaw
from ldpaudit.accountants.numerics.float_masses import TRIM, UNIT, Masses
from ldpaudit.core.cached import cached

_END, _BETWEEN = 0.17, 0.65
"""Parts of the others that hold an end, and an integer between the ends, for each of the former and all of the latter together."""
_FEWEST, _MOST = 8, 2 * 10**5
"""Least number of users whose sum is smooth enough to be tried, and most others, whose laws take long."""
_LEVELS = 3
"""Numbers of others at which one is replaced: of all, and of those who are left; fewer are told of by `few`."""
_CUT = 2e-3
"""Mass of either end of a law that the window cuts off, for all others together, as a part of the usual delta."""
_SHIFTS, _SEEN = 4, 100
"""Shifts to either side of equal means, and integers at which the linear program looks."""
_PIECES, _LEFT_OUT, _ROUGH, _MANY = 4, (1e-3, 4e-3), (0.02, 0.05), 10**4
"""Ranges of a line to begin with; the part of the users that may be left out, and that may be where some are left out anyway, each
also of more users than this, whose laws take longer."""
_FALLS = 2.5
"""About by how many nats delta falls if all who hold an end held the other one, at whose ranges one looks as closely."""
_LITTLE = 20.0
"""Factor of delta that others may cost who do not hold an end."""
_REPLACED = 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0
"""Parts of the others who do not hold an end: the more these are, the more hold either one in the end."""
_HELD = 0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08
"""Parts of the others who hold either end at least, in the data sets that are told apart."""
Order: TypeAlias = tuple[int, int]
"""What user 1 holds first, and then."""
Range: TypeAlias = tuple[Order, int, int]
"""That, and from how many of the others to how many are of one kind."""


class Replaced(NamedTuple):
    """What it costs at most to replace a user."""

    left: float  # r
    cut: float  # t
    either: float  # the least share of those who hold one of the ends then, of either

    def cost(self, fewer: Floats, x: Floats) -> Floats:
        """Where V of those who are left is `fewer`."""
        return self.left * fewer + self.cut * x


@dataclass(frozen=True, eq=False)
class Draws:
    """Sums of draws of one law: twice that of half of them, which other sums need, too."""

    law: CountLaw
    rare: float = TRIM  # probability of either end that is left out of each sum
    _known: dict[int, Masses] = field(default_factory=dict)

    def of(self, draws: int) -> Masses:
        """The law of this many."""
        if draws not in self._known:
            if draws <= 1:
                return self._known.setdefault(draws, Masses.counts(self.law) if draws else Masses.point(0))
            half = self.of(draws // 2)
            both = half.plus(half).without_ends(self.rare)
            self._known[draws] = both.plus(self.of(1)).without_ends(self.rare) if draws % 2 else both
        return self._known[draws]


@dataclass(frozen=True, eq=False)
class Moves:
    """The laws of a sum, for what user 1 holds first, and then, and for what the others' reports add."""

    laws: tuple[CountLaw, ...]  # of each input, on 0, 1, ...
    rare: float = TRIM  # see `Draws`
    _known: dict[Hashable, tuple[Masses, dict[Order, Pair]]] = field(default_factory=dict)

    @cached
    def draws(self) -> tuple[Draws, ...]:
        """Sums of reports of one input."""
        return tuple(Draws(law, self.rare) for law in self.laws)

    @property
    def orders(self) -> Iterator[Order]:
        """All pairs of inputs."""
        return permutations(range(len(self.laws)), 2)

    def pair(self, order: Order, key: Hashable, others: Callable[[], Masses]) -> Pair:
        """The two laws, where the others add what the key stands for."""
        if key not in self._known:
            self._known[key] = others(), {}
        rest, known = self._known[key]
        if order not in known:
            known[order] = Pair.of(*(self.draws[x].of(1).plus(rest) for x in order))
            known[order[::-1]] = known[order].reversed
        return known[order]


def halved(bound: Callable[[Range], float], ranges: Iterable[Range], enough: float) -> list[tuple[float, Range]]:
    """Ranges and bounds of them, the largest first: that is halved until it is narrow enough."""
    heap = [(-bound(each), each) for each in ranges]
    heapify(heap)
    while (most := heap[0][1][2]) - (least := heap[0][1][1]) > enough:
        order, middle = heap[0][1][0], (least + most) // 2
        first, second = (order, least, middle), (order, middle + 1, most)
        heapreplace(heap, (-bound(first), first))
        heappush(heap, (-bound(second), second))
    return [(-value, each) for value, each in heap]


@dataclass(frozen=True, eq=False)
class Ends:
    """The bound of a sum, for events that need a likelihood ratio of x."""

    moves: Moves
    others: int  # k
    added: Masses  # noise of aggregators
    few: Callable[[int, float], float]  # an upper bound of V, where others are too few to be replaced
    usual: Floats  # x at which the worst data sets are looked for
    delta: float  # that they have at the last of these, about
    _ranges: dict[int, list[Range]] = field(default_factory=dict)

    def high(self, x: Floats) -> Floats:
        """Upper bounds of V, at most 1."""
        if not self._levels:
            return np.ones_like(x)
        fewer = np.array([self.few(self._fewer(min(self._levels)), each) for each in x.tolist()])
        for k, replaced in sorted(self._levels.items())[:-1]:
            fewer = np.minimum(fewer, self._on_ends(k, x)[0] + k * replaced.cost(fewer, x))
        k = self.others
        on_ends, cost = self._on_ends(k, x), k * self._levels[k].cost(fewer, x)
        found: Floats = on_ends[0] + _REPLACED[1] * cost
        for few, many in pairwise(_REPLACED[1:]):
            found = np.maximum(found, self._spread(on_ends, int(few * k)) + many * cost)
        return np.asarray(np.minimum(found * (1 + 64 * UNIT), 1.0), dtype=np.float64)

    def _spread(self, on_ends: Floats, users: int) -> Floats:
        """The mean of what the worst data set costs in which as many hold either end as do who are replaced."""
        law = Masses.binomial(users, Fraction(self._levels[self.others].either))
        below = np.concatenate([[0.0], np.cumsum(law.values) * (1 + law.error + len(law.values) * UNIT) + law.outside])
        found: Floats = on_ends[-1]
        for (fewer, more), held in zip(pairwise(on_ends), self._held[1:], strict=True):
            chance = 2 * below[np.clip(held - law.first, 0, len(law.values))]
            found = found + np.maximum(fewer - more, 0.0) * min(1.0, chance)
        return found

    @cached
    def are_enough(self) -> bool:
        """Whether it costs little, at the last usual x, to replace those who do not hold an end."""
        x = self.usual[-1:]
        return bool(self._levels and self.high(x)[0] < _LITTLE * self._on_ends(self.others, x)[0, 0])

    @property
    def _held(self) -> list[int]:
        """Users who hold either end at least, of the data sets that are told apart."""
        return [int(part * self.others) for part in _HELD]

    def _sizes(self, k: int) -> tuple[int, int]:
        """Two numbers of users: of k others the first hold some end, or the second some integer between, whatever they hold."""
        return int(_END * k), int(_BETWEEN * k / max(1, len(self.moves.laws) - 2))

    def _fewer(self, k: int) -> int:
        """How many others there are without these and one who is replaced."""
        return k - 1 - max(self._sizes(k))

    @cached
    def _levels(self) -> dict[int, Replaced]:
        """What it costs to replace one of as many others: of all, and of those who are left; nothing where they are too few."""
        found: dict[int, Replaced] = {}
        k, last = self.others, len(self.moves.laws) - 1
        while len(found) < _LEVELS and last > 1 and k <= _MOST and min(self._sizes(k)) >= _FEWEST:
            left, cut, either = zip(*self._all_replaced(k), strict=True)
            found[k] = Replaced(max(left), max(cut), min(either))
            k = self._fewer(k)
        return found

    def _all_replaced(self, k: int) -> Iterator[Replaced]:
        """Whatever is held by one, and by those whom the replacement needs."""
        last = len(self.moves.laws) - 1
        is_even = all(law == other[::-1] for law, other in zip(self.moves.laws, self.moves.laws[::-1], strict=True))
        for held, m in zip(((0, last), range(1, last)), self._sizes(k), strict=True):
            for y, z in product(range(1, last), held):
                if not is_even or (y, z) <= (last - y, last - z):
                    yield self._replacing(y, self.moves.draws[z].of(m))

    def _replacing(self, y: int, smooth: Masses) -> Replaced:
        """Where a user of y is replaced, beside the sum of others."""
        whole = smooth.plus(self.moves.draws[y].of(1))
        rare = _CUT * self.delta / self.others
        low, high = (int((np.cumsum(values) < rare).sum()) for values in (whole.values, whole.values[::-1]))
        at = np.arange(low, len(whole.values) - high)
        means = [float(sum(i * p for i, p in enumerate(law))) for law in self.moves.laws]
        parts, outside, error = [], [], whole.error
        for z in (0, -1):
            end = smooth.plus(self.moves.draws[z].of(1))
            middle, error = round(means[y] - means[z]), max(error, end.error)
            for shift in range(middle - _SHIFTS, middle + _SHIFTS + 1):
                place = at - shift
                listed = (place >= 0) & (place < len(end.values))
                parts.append(np.where(listed, end.values[np.clip(place, 0, len(end.values) - 1)], 0.0))
                before, after = end.values[: max(0, low - shift)], end.values[max(0, low - shift + len(at)) :]
                outside.append(before.sum() + after.sum() + end.outside)
        weights = _packed(np.array(parts), whole.values[at], error)
        rounding = error + (len(at) + len(parts) + 8) * UNIT
        left = 1 - float(weights @ np.array([part.sum() for part in parts])) * (1 - rounding)
        cut = float(weights @ np.array(outside)) + whole.outside + 2 * len(parts) * smooth.outside
        either = min(each.sum() for each in np.split(weights, 2)) / max(weights.sum(), UNIT)
        return Replaced(max(left, 0.0), cut * (1 + rounding), float(either) * (1 - 64 * UNIT))

    def _on_ends(self, k: int, x: Floats) -> Floats:
        """Upper bounds of the worst of all data sets of this many who hold ends, and of all pairs of inputs of user 1.

        One row for each least number of users who hold either end.
        """
        if k not in self._ranges:
            self._ranges[k] = self._searched(k)
        held = np.array(self._held if k == self.others else [0])
        found = np.zeros((len(held), len(x)))
        for each in self._ranges[k]:
            rows = (held <= each[2]) & (held <= k - each[1])
            found[rows] = np.maximum(found[rows], self._pair(k, each).high(x))
        return found

    def _searched(self, k: int) -> list[Range]:
        """Ranges of how many hold 0, in which those who may or may not are left out: the worst at the usual x are narrow."""
        is_all = k == self.others
        enough = (_LEFT_OUT if is_all else _ROUGH)[self.others > _MANY] * self.others
        starts = [piece * (k + 1) // _PIECES for piece in range(_PIECES + 1)]
        found = [(order, start, end - 1) for order in self.moves.orders for start, end in pairwise(starts)]
        for x in self.usual if is_all else self.usual[-1:]:

            def bound(each: Range, x: Floats = x[None]) -> float:
                either = min(each[2], k - each[1], _HELD[-1] * k)
                return float(self._pair(k, each).high(x)[0]) * math.exp(_FALLS * either / k)

            found = [each for _, each in halved(bound, found, enough)]
        return found

    def _pair(self, k: int, each: Range) -> Pair:
        """Where the range says how many hold 0, at least and at most; all others hold the other end."""
        order, least, most = each

        def others() -> Masses:
            held = (self.moves.draws[0], least), (self.moves.draws[-1], k - most)
            return reduce(Masses.plus, [*(law.of(users) for law, users in held if users), self.added], Masses.point(0))

        return self.moves.pair(order, (k, least, most), others)


def _packed(parts: Floats, whole: Floats, error: float) -> Floats:
    """Weights of parts of a law that fit below it together, about the largest; both are right to this relative error."""
    from scipy.optimize import linprog  # here: it takes a while to import

    shares = (parts / whole).T
    seen = np.linspace(0, len(whole) - 1, min(_SEEN, len(whole))).astype(int)
    solved = linprog(-np.ones(len(parts)), A_ub=shares[seen], b_ub=np.ones(len(seen)), bounds=(0, None), method="highs")
    if not solved.success:
        return np.zeros(len(parts))
    weights = np.clip(solved.x, 0.0, 1.0)
    room = float((shares @ weights).max()) * (1 + 2 * error + (len(parts) + 8) * UNIT)
    fitting: Floats = weights / max(room, float(weights.sum()), 1.0) * (1 - 4 * UNIT)
    return fitting
