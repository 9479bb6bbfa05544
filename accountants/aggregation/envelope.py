r"""From above: a pair of laws that dominates one coordinate of a sum, whatever the other users hold.

Of the N others, m hold a one in this coordinate. The largest divergence over m is, in :math:`x = e^\varepsilon`, a maximum of
convex decreasing functions, so it is the divergence of one pair, and so is every convex curve above it. Here the m are cut into
ranges. In a range from a to b, b - a users are uncertain: with probability :math:`\gamma`, the sum of the smaller ones of the two
probabilities of each count, :math:`1 - |p - q|` for a bit, each reports what does not depend on what it holds, and else we reveal
what it says. At least M of them do the former, but for a chance of :math:`10^{-20}`; to leave out the others' reports only helps
the adversary. What remains is one law, whose divergence is bounded at the nodes of the curve; the range that exceeds the best data
set by most is halved. With many users, noisy bits are shuffled bits, of which replacement (`shuffling.replaced`) knows all ranges
at once, but for its phase where delta is large.

Chords between nodes lie above a convex function. A product of dominating pairs dominates the product of pairs (Zhu, Dong, Wang
2022, Theorem 10), so two curves bound one user's move from one coordinate to another among all data sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from heapq import heappop, heappush
from typing import Any, Self, TypeAlias

import flint
import numpy as np

from ldpaudit.accountants.aggregation.coordinate import Floats, Pair
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses, bernstein_reach
from ldpaudit.accountants.shuffling.binary_bound import BinaryBound
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.replaced import Replacement, quotients
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up

Move: TypeAlias = tuple[int, int]
"""(a, b): bits of which user 1 holds a one first and then a zero, and bits of which it is the other way round."""
CountLaw: TypeAlias = tuple[Fraction, ...]
"""Probability of each count from 0 on that is reported of a bit; of a single noisy bit those of 0 and 1."""

_STEP = 0.25
"""Nats by which the divergence falls from node to node: a chord is at most 0.25**2/8 = 0.8 % above it, so that epsilon is
known to a thousandth at delta = 1e-6. Less where the divergence falls slowly with epsilon."""
_SLOW, _SHORT = 4.0, 0.4
"""Elasticity of the divergence below which steps are shorter, by its root, and the least part of a step."""
_LEAST = 1e-24
"""Divergence at which a curve ends; what is left becomes infinite-loss mass."""
_SHORTEST, _LONGEST = 4e-3, 0.5
"""Steps of epsilon: at least this part of it, and at most half a nat."""
_TOLERANCE = 0.005
"""Excess over the best data set, relative, at which no range is halved: a tenth of that in epsilon, or less."""
_PIECES = 32
"""Ranges to begin with where the first coordinate is the least noisy with many ones, and so is the second: both cannot be."""
_RANGES, _MASSES = 400, 1 << 21
"""Most ranges that are evaluated, of one to three milliseconds each; and most masses in all of them."""
_MANY, _MANY_UNEQUAL, _LONG = 10**4, 6 * 10**4, 1 << 18
"""Others who report what does not depend on what they hold, from whom on replacement is asked: three milliseconds for a node; the
same where ones are not as noisy as zeros, since ranges are quick there; and masses of a law from which on ranges are not halved
beside it."""
_ROUGH, _TOP = 0.02, 0.05
"""Relative width of delta that is enough for the branch and bound of `shuffling.binary`, which lists no masses; and the part of
the largest delta from which on it is asked, and is quick."""
_CHANCE = 1e-20
"""Of fewer than M uncertain users with a bit that tells nothing."""


def coin(p: Fraction) -> CountLaw:
    """Of 1 with probability p."""
    return 1 - p, p


@dataclass(frozen=True)
class Bits:
    """Independent noisy bits, or counts; two inputs of user 1 differ in some of them, and all others have the same law."""

    one: CountLaw  # where the bit is 1
    zero: CountLaw  # where it is 0; of the same counts
    # largest moves between two inputs; (b, a) with every (a, b), for neighbours are symmetric
    attained: frozenset[Move]
    possible: frozenset[Move]  # no two inputs are further apart
    # whether an input sets none of the bits in which two inputs differ; None where no input was looked for
    spare: bool | None
    # of each attained move, what user 1 holds first and what then, None where it is absent; and an input of those that are spare
    values: Mapping[Move, tuple[Any, Any]] = field(default_factory=dict, compare=False)
    other: Any = field(default=None, compare=False)
    length: int = 0  # of a report
    ones: int = 0  # most bits that an input sets

    @property
    def reduced(self) -> Self:
        """Counts in units of what all are multiples of: a sum to which nothing is added tells as much."""
        unit = math.gcd(*(k for law in (self.one, self.zero) for k, p in enumerate(law) if p)) or 1
        return replace(self, one=self.one[::unit], zero=self.zero[::unit])

    @property
    def is_one_symmetric_bit(self) -> bool:
        """Whether user 1's two reports differ in one bit, and zeros are as noisy as ones."""
        return self.possible == {(1, 0), (0, 1)} and len(self.one) == 2 and self.one == self.zero[::-1]


@dataclass(frozen=True, eq=False)
class Curve:
    """A convex decreasing function above a divergence, by its vertices: of a pair that dominates."""

    x: Floats  # increasing, from 0
    y: Floats  # from 1; beyond the last vertex it is constant

    @classmethod
    def through(cls, x: Floats, y: Floats) -> Self:
        """The lower hull of points on or above the divergence, of (0, 1), and of a constant beyond the last."""
        a, b = [0.0], [1.0]
        for c, d in zip(x.tolist(), np.minimum.accumulate(np.minimum(y, 1.0)).tolist(), strict=True):
            # A vertex goes that is not below the chord of its neighbours.
            while len(a) > 1 and (b[-1] - b[-2]) * (c - a[-2]) >= (d - b[-2]) * (a[-1] - a[-2]):
                del a[-1], b[-1]
            a.append(c)
            b.append(d)
        return cls(np.array(a), np.array(b))

    @classmethod
    def of_both(cls, x: Floats, y: Floats) -> Self:
        """The same of divergences from 1 on, if the pairs reversed are among the pairs: that at 1/x is 1 - 1/x plus y/x."""
        x = x * (1 + 4 * UNIT)
        mirrored = (1 / x[:0:-1]) * (1 - 4 * UNIT)
        reversed_ = (1 - mirrored * (1 - y[:0:-1])) * (1 + 8 * UNIT)
        return cls.through(np.concatenate([mirrored, x]), np.concatenate([reversed_, y]))

    def at(self, x: Floats) -> Floats:
        """Its values; rounding is a few units of the vertices next to them."""
        found: Floats = np.interp(x, self.x, self.y)
        return found

    def value(self, x: float) -> float:
        """Upper bound of its value at one x."""
        return float(self.at(np.array([x]))[0]) * _ROUNDED

    @cached
    def atoms(self) -> tuple[Floats, Floats, float]:
        """Likelihood ratios above 0 and their P-masses, of the pair with this divergence; and its infinite-loss mass."""
        slopes = np.append(np.diff(self.y) / np.diff(self.x), 0.0)
        return self.x[1:], self.x[1:] * np.maximum(np.diff(slopes), 0.0), float(self.y[-1])

    def together(self, other: Curve, x: float) -> float:
        """Upper bound of the divergence of both pairs at x: the mean, over the losses of one, of the other's divergence."""
        ratios, masses, infinite = self.atoms
        return float(masses @ other.at(x / ratios) + infinite) * _ROUNDED

    def above(self, other: Curve) -> Curve:
        """A curve above both."""
        x = np.union1d(self.x, other.x)[1:]
        return Curve.through(x, np.maximum(self.at(x), other.at(x)) * _ROUNDED)

    def times(self, other: Curve) -> Curve:
        """A curve above the divergence of both pairs together, with as many nodes as the finer one of them."""
        nodes = self.nodes(other)
        return Curve.through(nodes, np.array([self.together(other, x) for x in nodes]))

    def nodes(self, other: Curve) -> Floats:
        """Those of the finer one of two curves, and their squares."""
        finer = max(self, other, key=lambda curve: len(curve.x)).x[1:]
        squares = finer[(finer > _ROOT) & (finer < 1 / _ROOT)] ** 2
        return np.unique(np.concatenate([finer, squares[squares != 1]]))

    def power(self, times: int) -> Curve:
        """A curve above the divergence of this many such pairs, at least one: by squaring, since each product adds something."""
        if times == 1:
            return self
        half = self.power(times // 2)
        return half.times(half).times(self) if times % 2 else half.times(half)


_ROUNDED = 1 + 1e-11
"""Room for the rounding of a curve's slopes: neighbouring nodes differ by 0.4 % of their distance from 1 or more, and values
by less than a third, so that differences of slopes are right to 1e-12."""

_ROOT = 1e-150
"""Least node whose square, and its inverse, are floats."""


@dataclass(frozen=True)
class Others:
    """The other users' bits of one coordinate, and noise that is added to the sum."""

    users: int  # N
    one: CountLaw  # what a user adds who holds a one
    zero: CountLaw  # and who does not
    noise: tuple[Masses, ...] = ()  # that is added to the sum

    @property
    def largest_ratio(self) -> Fraction | None:
        """Of the two laws of a single bit or count, which no sum exceeds; None where it is infinite."""
        pairs = [(p, q) for p, q in zip(self.one, self.zero, strict=True) if p or q]
        return max(max(p / q, q / p) for p, q in pairs) if all(p and q for p, q in pairs) else None

    @cached
    def added(self) -> Masses:
        """The law of all noise together."""
        return reduce(Masses.plus, self.noise, Masses.point(0))

    def holding(self, m: int, moved: int = 1) -> Pair:
        """User 1's bit, or those of a group, are ones under P, zeros under Q, and m others hold a one."""
        return self._pair(_total(self.one, m).plus(_total(self.zero, self.users - m)), moved)

    def within(self, least: int, most: int) -> Pair:
        """A pair that dominates these of all m of a range."""
        if least == most:
            return self.holding(least)
        parts = [_total(self.one, least), _total(self.zero, self.users - most)]
        if law := hidden((self.one, self.zero), most - least):
            parts.append(law)
        return self._pair(reduce(Masses.plus, sorted(parts, key=lambda law: len(law.values))))

    def _pair(self, others: Masses, moved: int = 1) -> Pair:
        law = others.plus(self.added) if self.noise else others
        return Pair.of(*(reduce(Masses.plus, [Masses.counts(own)] * moved, law) for own in (self.one, self.zero)))


def _total(law: CountLaw, users: int) -> Masses:
    """What this many users add."""
    return Masses.binomial(users, law[1]) if len(law) == 2 else _counted(law, users)


@lru_cache(maxsize=32)  # both ends of a range are those of others
def _counted(law: CountLaw, users: int) -> Masses:
    return _of_one(law).times(users)


_of_one = lru_cache(maxsize=16)(Masses.counts)  # which keeps its powers


def _variance(law: CountLaw) -> Fraction:
    mean = sum((k * p for k, p in enumerate(law)), Fraction(0))
    return sum((k * k * p for k, p in enumerate(law)), Fraction(0)) - mean * mean


def shared_mass(laws: Iterable[CountLaw]) -> Fraction:
    """Probability with which a user of any of these laws reports what does not depend on which it is."""
    return sum(map(min, *laws), Fraction(0))


def hidden(laws: Iterable[CountLaw], users: int) -> Masses | None:
    """What those of this many users add, at least, who report what does not depend on which of the laws they have.

    The chance that they are fewer is a part of what is not listed. None where that may be nobody.
    """
    laws = tuple(laws)
    shared = shared_mass(laws)
    if not (m := _at_least(users, shared)):
        return None
    law = _total(tuple(p / shared for p in map(min, *laws)), m)
    return replace(law, outside=law.outside + _CHANCE)


def _at_least(n: int, p: Fraction) -> int:
    """A number that Bin(n, p) falls short of with a chance of at most 1e-20, by Bernstein's inequality."""
    nats, variance = -math.log(_CHANCE), float(n * p * (1 - p))
    return max(0, math.floor(n * p) - math.ceil(bernstein_reach(variance, nats)) - 2)


@dataclass(frozen=True, eq=False)
class Envelope:
    """Bounds of one coordinate over all data sets."""

    ups: Curve  # above the divergence of (P, Q), whatever others hold
    downs: Curve  # above that of (Q, P)
    best: tuple[int, ...]  # numbers of others with a one that are worst at some node, the most frequent first
    # pairs of curves for two coordinates of which no user holds a one in both, one for each range of the first one's m
    split: tuple[tuple[Curve, Curve], ...] = ()

    def moved(self, x: float) -> float:
        """Upper bound of the divergence at x where user 1 moves from one coordinate to another."""
        return max(first.together(second, x) for first, second in self.split or ((self.ups, self.downs),))

    def curve(self, ups: int, downs: int) -> Curve:
        """Above the divergence of one user's move in this many coordinates each way."""
        if ups == downs == 1 and self.split:
            nodes = self.ups.nodes(self.downs)
            return Curve.through(nodes, np.array([self.moved(x) for x in nodes]))
        powers = [curve.power(times) for curve, times in ((self.ups, ups), (self.downs, downs)) if times]
        return reduce(Curve.times, powers)


@lru_cache(maxsize=64)
def envelope(others: Others, spare: bool | None = None) -> Envelope:
    """The curves of both directions, by halving the range of m that exceeds the best data set by most.

    `spare` is that of `Bits` where user 1 moves from a coordinate to another: if it is False, the others hold a one in just one of
    the two, if it is True, in one at most; if it is None, anybody may hold ones in both.
    """
    n, ratio = others.users, others.largest_ratio
    pure = math.inf if ratio is None else math.log(float(ratio)) * (1 + 4 * UNIT)  # the largest loss of a single bit or count
    corners = {m: others.holding(m) for m in (n, 0)}
    ups = nodes_of(list(corners.values()), pure)
    alike = others.one == others.zero[::-1]
    laws = others.one, others.zero
    many = len(others.one) == 2 and not others.noise and n * shared_mass(laws) >= (_MANY if alike else _MANY_UNEQUAL)
    if many and alike:
        curve = _equally_noisy(others.one[1], others, ups)
        return Envelope(curve, curve, (n, 0))
    downs = nodes_of([pair.reversed for pair in corners.values()], pure)
    x = np.unique(np.concatenate([ups, 1 / downs])), np.unique(np.concatenate([downs, 1 / ups]))

    def values(pair: Pair, bound: Callable[[Pair, Floats], Floats]) -> Floats:
        found = np.concatenate([bound(pair, x[0]), bound(pair.reversed, x[1])])
        return np.where(np.concatenate(x) >= math.exp(pure) * (1 + 8 * UNIT), 0.0, found)

    lows = {m: values(pair, Pair.low) for m, pair in corners.items()}
    highest_low = np.maximum.reduce(list(lows.values()))
    every = np.concatenate([_replaced(laws, n, x[0]), _replaced(laws[::-1], n, x[1])]) if many else np.inf
    queue: list[tuple[float, int, int, Floats]] = []

    def enqueue(least: int, most: int) -> None:
        high = np.minimum(values(others.within(least, most), Pair.high), every)
        seen = highest_low > _LEAST
        excess = float(np.max(high[seen] / highest_low[seen], initial=1.0))
        heappush(queue, (-excess, least, most, high))

    conflict = not alike and (spare is False or _variance(others.one) < _variance(others.zero))
    longest = max(len(pair.p) for pair in corners.values())
    left = 1 if many and not conflict and longest > _LONG else min(_RANGES, _MASSES // longest)
    pieces = min(_PIECES, n + 1, max(left, 1)) if conflict else 1
    for piece in range(pieces):
        enqueue(piece * (n + 1) // pieces, (piece + 1) * (n + 1) // pieces - 1)
    known: list[tuple[float, int, int, Floats]] = []
    while queue and len(queue) + len(known) < left and -queue[0][0] > 1 + _TOLERANCE:
        _, least, most, high = heappop(queue)
        if least == most:
            known.append((1.0, least, most, high))
            continue
        middle = (least + most) // 2
        lows[middle] = values(others.holding(middle), Pair.low)
        np.maximum(highest_low, lows[middle], out=highest_low)
        enqueue(least, middle)
        enqueue(middle + 1, most)
    ranges = sorted([*known, *queue], key=lambda each: each[1])
    high = np.maximum.reduce([each[3] for each in ranges])
    keys = list(lows)
    worst = np.bincount(np.argmax(np.stack([lows[m] for m in keys]), axis=0), minlength=len(keys))
    best = tuple(keys[i] for i in np.argsort(-worst, kind="stable") if worst[i])
    split = tuple(_split(x, ranges, n, not spare)) if conflict and spare is not None else ()
    return Envelope(Curve.through(x[0], high[: len(x[0])]), Curve.through(x[1], high[len(x[0]) :]), best, split)


def _split(
    x: tuple[Floats, Floats], ranges: list[tuple[float, int, int, Floats]], users: int, is_full: bool
) -> Iterator[tuple[Curve, Curve]]:
    """For each range of m in the first coordinate, its curve, and that of all ranges of which the second one's m may be."""
    highs, starts = np.stack([high for *_, high in ranges]), np.array([least for _, least, _, _ in ranges])
    ups = len(x[0])
    for _, least, most, high in ranges:
        first = np.searchsorted(starts, users - most, side="right") - 1 if is_full else 0
        end = np.searchsorted(starts, users - least, side="right")
        yield Curve.through(x[0], high[:ups]), Curve.through(x[1], np.maximum.reduce(highs[first:end, ups:]))


def _replaced(own: tuple[CountLaw, CountLaw], users: int, x: Floats) -> Floats:
    """Upper bounds of the divergence, whatever this many others hold; 1 where replacement says nothing."""
    with working_precision(precision(users)):
        types = quotients([Blanket.of(zip(*own, law, strict=True)) for law in own])
        bound = Replacement((), shared_mass(own), pairs=types)
        return np.array([round_up(bound.delta(flint.arb(node), users + 1)) if node > 1 else 1.0 for node in x.tolist()])


def _equally_noisy(truth: Fraction, others: Others, nodes: Floats) -> Curve:
    """The curve of bits with equal noise, which both directions share: one bit's sum is one bit's shuffle."""
    bound, y = BinaryBound(truth, others.users + 1), _replaced((others.one, others.zero), others.users, nodes)
    near = np.flatnonzero(~(y < _TOP * float(bound.high(Fraction(0), _ROUGH))))
    y[near] = [round_up(bound.high(Fraction(math.log(node)), _ROUGH)) for node in nodes[near].tolist()]
    return Curve.of_both(nodes, y)


def nodes_of(pairs: Iterable[Pair], pure: float) -> Floats:
    """Values of ``e**epsilon`` from 1 on between which the largest of the divergences falls by about `_STEP` nats."""
    epsilon, found = 0.0, [1.0]
    while True:
        x = np.array([math.exp(epsilon)])
        top = max(pairs, key=lambda pair: float(pair.low(x)[0]))
        value = float(top.low(x)[0])
        if value < _LEAST:
            return np.array(found)
        fall = float(top.fall(x)[0])
        step = _STEP * min(1.0, max(_SHORT, math.sqrt(epsilon * fall / _SLOW))) / fall
        epsilon += max(min(step, _LONGEST), _SHORTEST * epsilon)
        if epsilon >= pure:
            return np.array([*found, math.exp(pure) * (1 + 16 * UNIT)])
        found.append(math.exp(epsilon))
