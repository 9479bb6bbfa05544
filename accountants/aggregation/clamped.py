r"""Sums of integers whose noise is clamped to their range, so that the law of a report depends on what its user holds.

*From below*, the others all hold the least, the middle or the largest integer; of few users, all data sets.

*From above*: let H be a law on integers, and H' its mirror image. Every input's law contains shifts of the two,

.. math:: p_x(y) \ge \sum_s w_x(s)\, H(y - s) + w'_x(s)\, H'(y - s), \qquad \sum_s w_x(s) + w'_x(s) \ge \lambda

So a report is drawn in steps: with probability :math:`\lambda` it is a shifted draw from H or H', and we reveal which and the
shift; else we reveal the report. What remains of the sum is user 1's report, and M draws, k of them from H, where M is binomial. An
adversary who knows what M is, and adds draws itself, loses nothing by fewer: delta is at most the mean over M of the largest one
over k and over both inputs of user 1. A range of k is bounded as in `envelope`; the range that is the worst is halved.

All data sets are given the same H, so that what reports add beside it hides nothing. So this is for few users; of more, all can be
replaced by users who hold an end (`ends`), of whom the same bounds only what is left over. Rounds are composed by a curve above
each one's divergence.

Open: a seventh of epsilon is not decided for a few hundred users, a third where reports tell much; more in rounds, which are then
bounded by shuffles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial, reduce
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import Floats, Pair, TwoCoordinates, below_exp, largest_low
from ldpaudit.accountants.aggregation.ends import Draws, Ends, Moves, Range, halved
from ldpaudit.accountants.aggregation.envelope import CountLaw, Curve, hidden, nodes_of
from ldpaudit.accountants.aggregation.exchanged import AtDataSets
from ldpaudit.accountants.numerics.float_masses import TRIM, UNIT, Masses
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.accountants.pld.profiles import SmallestBound, UpperEnd
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour, round_down
from ldpaudit.profile import Number, PrivacyProfile, require_epsilon

_INPUTS, _SETS = 16, 64
"""Integers up to which all pairs of them are looked at from above, and most data sets that are all looked at."""
_BITS = 60
"""Of a probability of H, and of the laws of reports, rounded down."""
_LIKE, _WIDTHS = 3, 8
"""Inputs whose laws H is made like, and numbers of integers that H is tried on."""
_SLICES = 0.03, 0.25, 1e-5
"""Part by which the draws of one slice exceed those that it is bounded by, which is more where they are rare."""
_SPREAD = 3.0
"""Deviations of the number of draws by which a law H is judged."""
_UNSEEN = 1e-15
"""Mass of which no mean is taken, and that is not looked for in a law."""
_PARTS, _MASSES = 16, 1 << 20
"""Part of the draws to which a range of k is halved, and most masses of all these ranges together."""
_LEAST, _NEAR, _NEAREST, _NEXT, _ENOUGH = 1e-9, 1e-4, 1e-9, 1.005, 1.02
"""Least epsilon at which a search begins, its relative width, also where all data sets are listed, and parts of the lower end: the
first place that is tried, and one at which the shuffled reports need not be asked."""
_UNLISTED = 1e-8
"""What is left out of either end of a sum, of a part of the usual delta for each pair of users."""
_POINTS = 96  # of a curve that is composed: each takes a tenth of a second
_POWERS, _RARE, _CURVED = (-30, -3), 1e-7, (1e-8, 1e-10)
"""Powers of ten between which it is the next one to delta at whose epsilon the worst data sets are looked for; the part of it at
which a curve ends that is composed; and where epsilon is given, the delta below which it is another one than usual."""


@dataclass(frozen=True)
class Clamped:
    """What a report adds to the sum: the law of each input, on 0, 1, ..."""

    laws: tuple[CountLaw, ...]


@dataclass(frozen=True)
class Contained:
    """Two laws of which the law of every input contains shifts."""

    laws: tuple[CountLaw, CountLaw]  # H and H', on the same integers
    share: Fraction  # lambda


@dataclass(frozen=True)
class ClampedProfile(AtDataSets):
    """Profile of a sum of integers whose noise is clamped."""

    laws: tuple[CountLaw, ...]  # of each input, on 0, 1, ...
    usual: float = 1e-6  # delta at whose epsilon the worst data sets are looked for
    below = "the others all hold one integer"

    def upper_end(self) -> PrivacyProfile:
        """Of what is known of all data sets, too, at fewer points."""
        above = self.above.upper_end()

        def deltas(epsilon: Number) -> float:
            low = largest_low(self.seen, require_epsilon(epsilon))
            return min(above.delta(epsilon).high, self._for_curves(low)._high(round_down(epsilon)))

        return SmallestBound((UpperEnd(deltas, lambda delta: self.epsilon(delta).high),), _POINTS)

    def from_above(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return self

    def delta(self, epsilon: Number) -> Enclosure:
        """As `AtDataSets`, or from above by what is known of all data sets."""
        found = super().delta(epsilon)
        near = self._for_curves(found.low)
        return near._least(found, near._high(round_down(epsilon)))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`; the shuffled reports are asked where not enough is known without them."""
        low, goal = self._low(delta), round_down(Fraction(delta))
        near = self._near(goal)
        if goal and low and near._high(low * _ENOUGH) <= goal:
            found = Enclosure(low, low * _ENOUGH, Rigour.INTERVAL, "")
        else:
            found = super().epsilon(delta)
            if found.low == found.high or not near._high(found.high) < goal:
                return found
        width = _NEAREST if self._is_small else _NEAR
        return near._least(found, crossing(near._high, goal, max(low, _LEAST) * _NEXT, _NEXT, width)[1])

    def _least(self, found: Enclosure, high: float) -> Enclosure:
        if high > found.high:
            return found
        return self._enclosure(found.low, Enclosure(found.low, high, Rigour.INTERVAL, self._known))

    def _for_curves(self, low: float) -> ClampedProfile:
        """What is made for a delta that is at least this: not as many as for one epsilon."""
        return self if low > _CURVED[0] else self._near(_CURVED[1])

    def _near(self, delta: float) -> ClampedProfile:
        """The same, made for about this delta."""
        least, most = _POWERS
        usual = 10.0 ** max(least, min(most, round(math.log10(delta)))) if delta else self.usual
        if usual == self.usual:
            return self
        if usual not in self._made:
            self._made.clear()
        return self._made.setdefault(usual, replace(self, usual=usual))

    @cached
    def _made(self) -> dict[float, ClampedProfile]:
        """For another delta; of one alone, for of many users each keeps hundreds of megabytes."""
        return {}

    @property
    def _known(self) -> str:
        return "the data sets of the two ends" if self._ends.are_enough else "what all reports contain"

    def _high(self, epsilon: float) -> float:
        x = below_exp(epsilon)
        if self._is_small:
            return max(each.high(x) for each in self._above)
        if self._ends.are_enough:
            return float(self._ends.high(np.array([x]))[0]) if self.rounds == 1 else self._curve.value(x)
        return self._contained_high(x, self.users - 1) if self.rounds == 1 else 1.0

    @cached
    def _curve(self) -> Curve:
        """Above what all rounds together cost."""
        pairs = [each for pair in self._pairs() for each in (pair, pair.reversed)]
        largest = max(p / q for first, second in permutations(self.laws, 2) for p, q in zip(first, second, strict=True))
        x = nodes_of(pairs, math.log(largest) * (1 + 4 * UNIT))
        x = x[np.max([pair.low(x) for pair in pairs], axis=0) > self.usual * _RARE]
        fine = np.exp(np.interp(np.arange(0, len(x) - 1, 0.25), np.arange(len(x)), np.log(x)))
        return Curve.of_both(fine, self._ends.high(fine)).power(self.rounds)

    @cached
    def _ends(self) -> Ends:
        """What is known without the draws that all reports contain, which bound sums of few users."""
        alone = self.rounds == 1
        usual = (self if alone else replace(self, rounds=1))._low(self.usual)
        usual, known = max(usual, _LEAST), dict[tuple[int, float], float]()

        def few(others: int, x: float) -> float:
            part = math.log(x) / usual - _NEAR
            at = below_exp(usual * min(math.floor(part * (steps := 16 if part > 0.5 else 4)) / steps, 1.375))
            if (key := (others, at)) not in known:
                known[key] = self._contained_high(at, others)
            return known[key]

        added = reduce(Masses.plus, self.added, Masses.point(0))
        tried = np.exp(usual * np.array([1.0] if alone else [0.0, 0.4, 1.0]))
        moves = Moves(self.laws, max(TRIM, self.usual / self.users**2 * _UNLISTED))
        return Ends(moves, self.users - 1, added, few, tried, self.usual)

    def _contained_high(self, x: float, others: int) -> float:
        """Of one round, by the draws that the reports of as many others contain."""
        if len(self.laws) > _INPUTS:
            return 1.0
        law = Masses.binomial(others, self._contained.share)
        weights, draws = law.slices(*_SLICES)
        total = sum(weight * self._worst(m, np.array([x])) for weight, m in zip(weights, draws, strict=True))
        return min(1.0, total * (1 + (len(weights) + 4) * UNIT) + law.outside)

    def _worst(self, m: int, x: Floats) -> float:
        """Upper bound of delta with m draws, of k from H for any k, and of all pairs of inputs."""
        first, *rest = ((order, 0, m) for order in self._moves.orders)
        parts = max(2, min(_PARTS, _MASSES // len(self._pair(m, first).p)))
        return halved(lambda each: float(self._pair(m, each).high(x)[0]), [first, *rest], m // parts)[0][0]

    def _pair(self, m: int, each: Range) -> Pair:
        """One that dominates these of all k of a range."""
        order, least, most = each

        def others() -> Masses:
            parts = [law.of(times) for law, times in zip(self._draws_of, (least, m - most), strict=True) if times]
            if law := hidden(self._contained.laws, most - least) if most > least else None:
                parts.append(law)
            return reduce(Masses.plus, [*self.added, *parts], Masses.point(0))

        return self._moves.pair(order, (m, least, most), others)

    @cached
    def _draws_of(self) -> tuple[Draws, ...]:
        return tuple(map(Draws, self._contained.laws))

    @cached
    def _moves(self) -> Moves:
        return Moves(self.laws)

    @property
    def _contained(self) -> Contained:
        return contained(self.laws, self.users - 1)

    @property
    def _is_small(self) -> bool:
        """Whether every data set is looked at."""
        return math.comb(self.users + len(self.laws) - 2, self.users - 1) <= _SETS and self.rounds == 1

    @cached
    def seen(self) -> tuple[TwoCoordinates, ...]:
        return self._repeated(self._pairs())

    @cached
    def _above(self) -> tuple[TwoCoordinates, ...]:
        """The same of few users, from above."""
        return tuple(TwoCoordinates(each.spread()) for pair in self._pairs() for each in (pair, pair.reversed))

    def _pairs(self) -> Iterator[Pair]:
        """The laws of the sum, at all data sets that are tried."""
        last = len(self.laws) - 1
        if self._is_small:
            orders = list(combinations(range(last + 1), 2))
            held = combinations_with_replacement(map(Masses.counts, self.laws), self.users - 1)
            others = (reduce(Masses.plus, laws, Masses.point(0)) for laws in held)
        else:
            orders = [(0, last)]
            others = (self._moves.draws[x].of(self.users - 1) for x in (0, last, (last + 1) // 2))
        rests = [reduce(Masses.plus, self.added, each) for each in others]
        return (self._moves.pair(order, ("all", i), partial(rests.__getitem__, i)) for i in range(len(rests)) for order in orders)


@lru_cache(maxsize=64)
def contained(laws: tuple[CountLaw, ...], users: int) -> Contained:
    """Of some laws H, each like one of an input near its mode, the one whose draws by this many users vary most."""
    size = len(laws)
    floats = [np.array([float(p) for p in law]) for law in laws]
    widths = sorted({max(2, round(size * part / _WIDTHS)) for part in range(1, _WIDTHS + 1)})
    tried = [_rounded(floats[like][:width]) for like in range(min(_LIKE, size)) for width in widths]
    is_even = all(law == other[::-1] for law, other in zip(laws, laws[::-1], strict=True))
    looked_at = range((size + 1) // 2 if is_even else size)

    def varying(law: CountLaw) -> float:
        share = min(1.0, *(sum(_shares(law, floats[x])) for x in looked_at))
        return (share - _SPREAD * math.sqrt(share * (1 - share) / users)) * _variance(law)

    best = max(tried, key=varying)
    exact = [[math.floor(p * (1 << _BITS)) for p in law] for law in laws]
    share = min(_share(best, law, weights) for law, weights in ((exact[x], _shares(best, floats[x])) for x in looked_at))
    return Contained(_overlapping(best), share)


def _rounded(law: Floats) -> CountLaw:
    """A law of dyadic probabilities near these."""
    found = [math.floor(p * (1 << _BITS)) for p in (law / law.sum()).tolist()]
    found[int(np.argmax(law))] += (1 << _BITS) - sum(found)
    return tuple(Fraction(p, 1 << _BITS) for p in found)


def _shares(law: CountLaw, of: Floats) -> list[float]:
    """About the weights of the shifts of H, and then of H', that are contained in a law: as much as there is room for.

    Each weight is told as a part of the most that fits alone, and each probability as a part of what the law has there: so the
    program is right to a relative accuracy.
    """
    from scipy.optimize import linprog  # here: it takes a while to import

    columns = np.array([np.pad(each, (shift, len(of) - len(law) - shift)) for each, shift in _shifts(law, len(of))])
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(columns > 0, of / columns, np.inf).min(axis=1)
        parts = np.where(columns > 0, columns * most[:, None] / of, 0.0)
    seen = most > _UNSEEN
    if not seen.any():
        return [0.0] * len(columns)
    parts[parts < _UNSEEN] = 0.0
    found = linprog(-most[seen], A_ub=parts[seen].T, b_ub=np.ones(len(of)), bounds=(0, 1), method="highs")
    weights = np.zeros(len(columns))
    weights[seen] = most[seen] * np.clip(found.x, 0.0, 1.0) if found.success else 0.0
    return weights.tolist()


def _shifts(law: CountLaw, size: int) -> Iterator[tuple[Floats, int]]:
    half = np.array([float(p) for p in law])
    yield from ((each, shift) for each in (half, half[::-1]) for shift in range(size - len(law) + 1))


def _share(law: CountLaw, of: Sequence[int], weights: Sequence[float]) -> Fraction:
    """A lower bound of what these weights come to, so that a law contains them: its probabilities are in units of 2**-60."""
    width, shifts = len(law), len(of) - len(law) + 1
    units, mass = [int(w * (1 << _BITS)) for w in weights], [int(p * (1 << _BITS)) for p in law]
    needed = [0] * len(of)
    for place, w in enumerate(units):
        shift, kind = place % shifts, mass if place < shifts else mass[::-1]
        if not all(of[shift : shift + width]):
            units[place] = 0
            continue
        for y in range(width):
            needed[shift + y] += w * kind[y]
    room = min((Fraction(p << _BITS, n) for p, n in zip(of, needed, strict=True) if n), default=Fraction(0))
    return Fraction(math.floor(min(Fraction(1), room) * sum(units)), 1 << _BITS)


def _variance(law: Sequence[Fraction | float]) -> float:
    """Of a law, times its mass."""
    p, at = np.array([float(each) for each in law]), np.arange(len(law))
    return float(p @ at**2 - (p @ at) ** 2 / max(p.sum(), _UNSEEN))


def _overlapping(law: CountLaw) -> tuple[CountLaw, CountLaw]:
    """H and a shift of H', on the same integers, so that what they have in common varies most."""
    pad, size = (Fraction(0),), len(law)

    def shifted(by: int) -> tuple[CountLaw, CountLaw]:
        left, right = pad * max(0, -by), pad * max(0, by)
        return left + law + right, right + law[::-1] + left

    def shared(pair: tuple[CountLaw, CountLaw]) -> float:
        both = [float(min(p)) for p in zip(*pair, strict=True)]
        return _variance(both)

    return max(map(shifted, range(1 - size, size)), key=shared)
