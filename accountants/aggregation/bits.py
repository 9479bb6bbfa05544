r"""Sums of independent bits.

User 1 moves from coordinate i to coordinate j. Each of them is a coin of user 1's and the others' sum, independent of each other;
all other coordinates have the same law on both sides. So the loss is a sum of two, one of which grows with its count and one of
which falls: the best event is a staircase, and its probability is a sum over one coordinate (`coordinate.TwoCoordinates`).

Lower bounds are attained by data sets: how many others hold what user 1 holds first, and how many what it holds then. Which data
set is the worst no theorem says: with few users all of them are looked at, with more those whose counts are worst for a
coordinate alone. Upper bounds compose curves above each coordinate's divergence over all data sets (`envelope`).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, pairwise

from ldpaudit.accountants.aggregation.coordinate import FAR, NOTHING, ROOM, Pair, TwoCoordinates, below_exp, largest_low
from ldpaudit.accountants.aggregation.envelope import Bits, Curve, Envelope, Move, Others, envelope
from ldpaudit.accountants.aggregation.exchanged import TINY
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.pld.curve import lower_hull
from ldpaudit.accountants.pld.distribution import Groups
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.profiles import SummedLosses, UpperEnd
from ldpaudit.accountants.pld.renyi import of_pairs
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.plan import Aggregate
from ldpaudit.profile import DataSet, Number, PrivacyProfile, Witness, bracket, require_delta, require_epsilon

_SEEN = "many ones in the bits that user 1's first value sets, few in those that its second sets"
EVENT = f"{{the sum of all reports: {_SEEN}}}"
EVENT_OF_ABSENCE = f"{{the sum of all reports, an absent user's among them: {_SEEN}}}"
_FEW = 32
"""Others up to whom every data set of two coordinates is looked at: 561 of them, of a twentieth of a millisecond each."""
_CANDIDATES = 3
"""Counts of a coordinate that are tried with each other beside the two corners, which are nearly always the worst."""
_COINS = 1 << 10
"""Largest group whose coins are added one by one."""
_WAYS = 16
"""Ways that a user may move in all rounds together, up to which each is looked at alone."""
_COMPOSED = 512
"""Groups of the integers of a coordinate that is composed: with 2,048, epsilon of ten sums grows by 1e-4 of itself."""
_USUAL = 1e-6
"""Delta at half of whose epsilon data sets are compared that are composed."""


@dataclass(frozen=True)
class BitsProfile(SummedLosses):
    """Profile of sums of independent bits."""

    plan: Aggregate  # of at least 2 users
    bits: Bits
    local: PrivacyProfile  # of one report
    added: tuple[Masses, ...] = ()  # laws of the aggregators' noise
    rounds: int = 1  # that are summed one by one
    _known: dict[tuple[bool, int, int, bool], Pair] = field(default_factory=dict, compare=False)

    def delta(self, epsilon: Number) -> Enclosure:
        """From what a data set attains to what the envelope of every coordinate allows."""
        alone = self.local.delta(require_epsilon(epsilon))
        if alone.high == 0 or math.isinf(epsilon):
            return Enclosure(0.0, alone.high, alone.rigour, "a sum is computed from the reports")
        return self._enclosure(largest_low(self._data_sets(), epsilon), min(self._high(below_exp(epsilon)), alone.high), 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 the local epsilon; else by bisection from above, and by Newton's method at data sets from below."""
        top = self.local.epsilon(0)
        if require_delta(delta) == 0:
            if self.plan.noise:
                return self._enclosure(self.epsilon(TINY).low, top.high, math.inf)
            why = f"a sum hides nothing at delta = 0: where its coordinates are at their ends, it has the local ratio; {top.source}"
            return Enclosure(top.low, top.high, top.rigour, why)
        low = max(each.epsilon(round_up(Fraction(delta))) for each in self._data_sets())
        return self._enclosure(low, self._least(delta, top.high), math.inf)

    def upper_end(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""

        def deltas(epsilon: Number) -> float:
            alone = self.local.delta(epsilon).high
            return alone if alone == 0 or math.isinf(epsilon) else min(self._high(below_exp(epsilon)), alone)

        return UpperEnd(deltas, lambda delta: self._least(delta, self.local.epsilon(0).high))

    def renyi(self, order: Number) -> Enclosure:
        """From the worst of the data sets to the envelopes' pairs, coordinate by coordinate, or to that of a known report."""
        at, alone = Fraction(order), self.local.renyi(order)
        moves = [[n * self.rounds for n in move] for move in self.bits.possible]
        moved = [tuple((pair, n) for pair, n in zip(self._pairs, move, strict=True) if n) for move in moves]
        high = of_pairs(moved, at, "").high
        low = max(each.renyi_low(at) for each in self._data_sets())
        return self._enclosure(low, min(high, alone.high), math.inf)

    def witness(self, epsilon: Number) -> Witness | None:
        """The worst of the data sets, and the staircase; None where it shows nothing."""
        if self.local.delta(require_epsilon(epsilon)).high == 0 or math.isinf(epsilon):
            return None
        x = math.exp(min(epsilon, FAR)) * (1 + ROOM)
        value, (move, first, second) = max((self._coordinates(*each).low(x), each) for each in self._tried())
        if not value > 0:
            return None
        own, rest = self.bits.values[move], self.plan.users - 1 - first - second
        others = Counter({own[0]: first}) + Counter({own[1]: second}) + Counter({self.bits.other: rest})
        pair = [DataSet.of(others + Counter([x] if x is not None else [])) for x in own]
        return Witness(self.plan, (pair[0], pair[1]), EVENT_OF_ABSENCE if None in own else EVENT, epsilon)

    @property
    def _is_small(self) -> bool:
        """Whether every data set is looked at."""
        bits = self.bits
        one_hot = bits.spare is not None and max(map(max, bits.possible)) == self.rounds == 1
        return one_hot and self.plan.users - 1 <= _FEW and bits.attained == bits.possible

    def _least(self, delta: Number, top: float) -> float:
        """Upper end of epsilon, which is `top` at delta = 0."""
        if delta == 0:
            return top
        goal = round_down(Fraction(delta))
        return min(top, bracket(lambda e: e >= top or self._high(below_exp(e)) <= goal)[1])

    def _high(self, x: float) -> float:
        """Upper bound of delta at ``log x``, over all data sets and all moves that are possible."""
        if self._is_small:
            return max(each.high(x) for each in self._data_sets(above=True))
        if self.rounds == 1 and self.bits.possible == {(1, 1)}:
            return self._envelope.moved(x)
        return max(one.value(x) if rest is None else rest.together(one, x) for one, rest in self._wholes)

    @cached
    def _wholes(self) -> tuple[tuple[Curve, Curve | None], ...]:
        """Of one round and of all others, for each way that user 1 moves, which may be another one in each round."""
        moves = [self._envelope.curve(*move) for move in self.bits.possible]
        if math.comb(self.rounds + len(moves) - 1, self.rounds) > _WAYS:
            moves = [self._curve]

        def whole(first: Curve, *rest: Curve) -> tuple[Curve, Curve | None]:
            powers = [each.power(n) for each, n in Counter(rest).items()]
            return first, reduce(Curve.times, powers) if powers else None

        return tuple(whole(*way) for way in combinations_with_replacement(moves, self.rounds))

    @cached
    def _curve(self) -> Curve:
        """Of one round, whichever way user 1 moves."""
        return reduce(Curve.above, (self._envelope.curve(*move) for move in self.bits.possible))

    @cached
    def _others(self) -> Others:
        return Others(self.plan.users - 1, self.bits.one, self.bits.zero, self.added)

    @cached
    def _envelope(self) -> Envelope:
        return envelope(self._others, self.bits.spare if self.bits.possible == {(1, 1)} else None)

    def _data_sets(self, above: bool = False) -> Iterator[TwoCoordinates]:
        """Those that are tried."""
        return (self._coordinates(*each, above) for each in self._tried())

    def _coordinates(self, move: Move, first: int, second: int, above: bool = False) -> TwoCoordinates:
        a, b = (times * self.rounds for times in move)
        return TwoCoordinates(self._pair(True, a, first, above), self._pair(False, b, second, above))

    def _tried(self) -> Iterator[tuple[Move, int, int]]:
        """Each move, and how many others hold what user 1 holds first, and then: all of few users; else corners, the envelope's."""
        n = self.plan.users - 1
        best = () if n <= _FEW else self._envelope.best[:_CANDIDATES]
        counts = range(n + 1) if n <= _FEW else dict.fromkeys((n, 0, *best, *(n - m for m in best)))
        for a, b in self.bits.attained:
            for first in counts if a else (0,):
                for second in counts if b else (0,):
                    if first + second <= n if self.bits.spare else first + second == n:
                        yield (a, b), first, second

    def _pair(self, up: bool, times: int, held: int, above: bool = False) -> Pair:
        """The laws of this many coordinates, in each of which the same number of others hold a one; from above, of at most one."""
        if (key := (up, times, held, above)) not in self._known:
            pair = self._others.holding(held)
            whole = (pair if up else pair.reversed).power(times) if times else NOTHING
            self._known[key] = whole.spread() if above else whole.coarse()
        return self._known[key]

    def _enclosure(self, low: float, high: float, most: float) -> Enclosure:
        above = "every data set" if self._is_small else "the envelope of all data sets, coordinate by coordinate"
        noise = f" and {' and '.join(map(str, self.plan.noise))}" if self.plan.noise else ""
        source = f"the sum of {self.plan.users} reports{noise}; above: {above}; below: the worst data set found"
        return Enclosure.met(low, high, Rigour.INTERVAL, source).clamp(0.0, most)

    @property
    def dominating(self) -> Groups:
        """Of the envelopes of all coordinates of the largest move; of a single coordinate, of both directions at once.

        Of two coordinates of which the others cannot hold both, that of the two together.
        """
        bits = max(map(sum, self.bits.possible))
        if bits == 1 or self._envelope.split:
            ratio = self._others.largest_ratio
            return ((_pair_of(self._curve, None if ratio is None else ratio**bits), self.rounds),)
        most = (max(times) for times in zip(*self.bits.possible, strict=True))
        return tuple((pair, times * self.rounds) for pair, times in zip(self._pairs, most, strict=True) if times)

    @cached
    def _pairs(self) -> tuple[ExactPLD, ExactPLD]:
        """Of the envelopes of both directions."""
        largest = self._others.largest_ratio
        return _pair_of(self._envelope.ups, largest), _pair_of(self._envelope.downs, largest)

    @cached
    def occurring(self) -> tuple[Groups, ...]:
        """Of the data sets that are the worst at half of a usual epsilon, in both orders."""
        x = math.exp(min(self.epsilon(_USUAL).low / 2, FAR)) * (1 + ROOM)
        (a, b), first, second = max(self._tried(), key=lambda each: self._coordinates(*each).low(x))
        pairs = [(self._pair(True, 1, first), a), (self._pair(False, 1, second), b)]
        orders = pairs, [(pair.reversed, times) for pair, times in pairs]
        return tuple(tuple((pair_within(pair), times * self.rounds) for pair, times in order if times) for order in orders)


class OneBitProfile(BitsProfile):
    """Profile of the sum of one bit, equally noisy for zeros and ones: what shuffling it costs, which `local` is here."""

    def delta(self, epsilon: Number) -> Enclosure:
        """Of the shuffle."""
        return self.local.delta(epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Of the shuffle."""
        return self.local.epsilon(delta)

    def renyi(self, order: Number) -> Enclosure:
        """Of the shuffle."""
        return self.local.renyi(order)

    def gdp(self) -> Enclosure:
        """Of the shuffle."""
        return self.local.gdp()

    def about(self) -> Callable[[float], float] | None:
        """Of the shuffle."""
        return self.local.about()


@dataclass(frozen=True)
class GroupProfile(PrivacyProfile):
    r"""Profile of a sum where k users are replaced.

    .. math:: \delta_k(k \varepsilon) \le \sum_{j < k} e^{j \varepsilon}\, \delta_1(\varepsilon)

    One user after the other is replaced, and the events of a divergence add up. Not tight, but within a percent where many users
    are summed: below, all k users make the same move, so that their bits are k coins each way.
    """

    one: PrivacyProfile  # of one user who is replaced
    group: int  # k, at least 2
    users: int  # whose reports are summed

    def delta(self, epsilon: Number) -> Enclosure:
        """From what the same move of all attains."""
        step = float(require_epsilon(epsilon)) / self.group * (1 - ROOM)
        return self._enclosure(largest_low(self._data_sets(), epsilon), self._high(step), 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 at most k times that of one user."""
        high = self.one.epsilon(require_delta(delta)).high * self.group
        if delta:
            goal = round_down(Fraction(delta))
            high = bracket(lambda e: self._high(e) <= goal)[1] * self.group * (1 + ROOM)
        low = max((each.epsilon(max(round_up(Fraction(delta)), TINY)) for each in self._data_sets()), default=0.0)
        return self._enclosure(max(low, self.one.epsilon(delta).low), high, math.inf)

    def _high(self, step: float) -> float:
        """Upper bound of delta at k times the step."""
        one = self.one.delta(step).high
        if not one or step * self.group > FAR:
            return 1.0 if one else 0.0
        return min(1.0, sum(math.exp(j * step) for j in range(self.group)) * one * (1 + self.group * ROOM))

    def _data_sets(self) -> Iterator[TwoCoordinates]:
        """All others hold what the group holds first, or then, or neither."""
        if not isinstance(self.one, BitsProfile) or self.one.bits.possible != {(1, 1)} or self.group > _COINS:
            return
        rest = replace(self.one._others, users=self.users - self.group)
        n = rest.users
        sets = [(n, 0), (0, n), *([(0, 0)] if self.one.bits.spare else [])]
        for first, second in sets:
            pairs = rest.holding(first, self.group), rest.holding(second, self.group).reversed
            yield TwoCoordinates(*(pair.power(self.one.rounds).coarse() for pair in pairs))

    def _enclosure(self, low: float, high: float, most: float) -> Enclosure:
        source = f"{self.group} users among {self.users}; above: replaced one after the other; below: the same move of all"
        return Enclosure.met(low, high, Rigour.INTERVAL, source).clamp(0.0, most)


def pair_within(pair: Pair) -> ExactPLD:
    """A pair of laws with at most the masses of P and at least those of Q, by groups of integers."""
    groups = pair.coarse(_COMPOSED)
    p, q = groups.p * (1 - groups.slack), groups.q * (1 + groups.slack) + groups.outside
    atoms = [(Fraction(a), Fraction(b)) for a, b in zip(p.tolist(), q.tolist(), strict=True) if a > 0]
    room = min(Fraction(1), *(1 / sum(masses) for masses in zip(*atoms, strict=True)))
    return ExactPLD.of((a * room, b * room) for a, b in atoms)


def _pair_of(curve: Curve, largest: Fraction | None) -> ExactPLD:
    """The pair of laws whose divergence the curve is up to the largest ratio: a change of slope at a ratio is Q's mass there."""
    points = [(Fraction(x), Fraction(y)) for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)]
    hull = lower_hull(points if largest is None else [*points, (largest, Fraction(0))])
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(hull)] + [Fraction(0)]
    changes = zip(hull[1:], pairwise(slopes), strict=True)
    return ExactPLD(tuple((x, x * (after - before)) for (x, _), (before, after) in changes)[::-1], hull[-1][1])
