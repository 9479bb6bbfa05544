r"""The profile of many laws, any two of which are neighbours: floats with a bound of their errors say which pairs may
be the worst, and these are computed in rationals.

.. math:: \delta(\varepsilon) = \max_{x \ne x'} \sum_y \bigl(P_x(y) - e^\varepsilon P_{x'}(y)\bigr)_+,
          \qquad \varepsilon(0) = \max_y \log \frac{\max_x P_x(y)}{\min_x P_x(y)}
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile, log_fraction
from ldpaudit.accountants.pld.renyi import enclosed, from_above, of_pairs
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile

Pairs: TypeAlias = NDArray[np.int64]  # shape ``(pairs, 2)``: positions of two laws

_CHUNK = 1 << 21  # entries that are sorted at a time: 16 MiB
_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Odd multipliers of a hash of 64 bits. Source: Steele, Lea, Flood 2014, SplitMix."""
_MOST_LISTED = 1 << 16
"""Likelihood ratios, over one pair of each kind, that are computed in rationals, in 0.2 s; these compose."""
_SLACK = 2.0**-40
"""Relative error that probabilities, e**epsilon and their differences are granted; floats are wrong by 2**-50."""
_LEAST, _LARGEST = 1e-290, 600.0  # probabilities and epsilons within which products of floats keep their digits
_LONGEST = 1 << 1000  # a ratio that floats hold, and whose logarithm exceeds the largest epsilon
_BLOCK = 1 << 17  # probabilities that are compared at a time: what fits into a processor's cache
_TRIED = 64  # pairs that are tried first, of the highest chords: the best of them shows which others can be left out
_FEW = 1 / 8  # share of all pairs; where more are left, all are asked about, and the chords get shorter
_APART = 1e-4
"""Nats between two epsilons of a chord, at least. A place on it is then wrong by less than 2e-9, a fifth of its square."""


@dataclass(frozen=True, slots=True)
class CodedLaws:
    """Laws on the same views, each probability by the number that it has among all that occur, so that arrays can be
    compared.

    It tells which pairs of laws are the same up to the names of their views: of each kind, one pair need be looked at.
    What is found is exact: hashes only say early that the kinds are too many.
    """

    codes: NDArray[np.int64]  # equal where probabilities are equal, and nowhere else
    also: NDArray[np.int64]  # what distinguishes views beside the two laws of a pair; zeros where nothing does
    firsts: int  # how many laws, the first ones, stand for all as the first of a pair

    @classmethod
    def of(cls, laws: Sequence[Sequence[Fraction]], also: Sequence[Fraction] | None = None, firsts: int | None = None) -> Self:
        """Of laws in rationals."""
        numbers: dict[Fraction, int] = {}
        table = [[numbers.setdefault(p, len(numbers)) for p in law] for law in laws]
        other: dict[Fraction, int] = {}
        beside = [other.setdefault(p, len(other)) for p in also] if also is not None else [0] * len(table[0])
        return cls(np.array(table, dtype=np.int64), np.array(beside, dtype=np.int64), firsts or len(table))

    def all_pairs(self) -> Pairs:
        """Ordered pairs of different laws, by position."""
        first, second = np.nonzero(~np.eye(self.firsts, len(self.codes), dtype=np.bool_))
        return np.stack([first, second], axis=1)

    def kinds(self, pairs: Pairs) -> Pairs:
        """The first pair of each kind, in order: two pairs are of one kind where their views can be renamed into each other's."""
        known: dict[bytes, int] = {}
        step = max(1, _CHUNK // self.codes.shape[1])
        values, others = int(self.codes.max()) + 1, int(self.also.max()) + 1
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            joint = (self.codes[some[:, 0]] * values + self.codes[some[:, 1]]) * others + self.also
            for i, key in enumerate(np.sort(joint, axis=1), start):
                known.setdefault(key.tobytes(), i)
        return pairs[list(known.values())]

    def few_kinds(self, most: int) -> Pairs | None:
        """As `kinds` of all pairs; None where there are more than `most`."""
        seen: set[int] = set()
        for i in range(self.firsts):
            seen.update(np.delete(self._hashes(i), i).tolist())
            if len(seen) > most:
                return None
        found = self.kinds(self.all_pairs())
        return found if len(found) <= most else None

    def _hashes(self, first: int) -> NDArray[np.uint64]:
        """One number for each second law: equal for pairs of one kind."""
        a, b, c = (np.uint64(m) for m in _MIXERS)
        mixed = self.codes.astype(np.uint64) * b + (self.codes[first].astype(np.uint64) + np.uint64(1)) * a
        mixed ^= (mixed >> np.uint64(29)) + self.also.astype(np.uint64) * c
        mixed *= c
        mixed ^= mixed >> np.uint64(32)
        found: NDArray[np.uint64] = (mixed * b).sum(axis=1, dtype=np.uint64)
        return found


def profile_of(laws: Sequence[Sequence[Fraction]], source: str, firsts: int | None = None) -> PrivacyProfile:
    """Profile of laws on the same views, any two of which are neighbours. Rigour EXACT.

    Some of them, `firsts` from the first one on, may stand for all as the first of a pair: where views can be renamed so that any
    law becomes one of these, and all laws stay among them.
    """
    coded = CodedLaws.of(laws, firsts=firsts)
    few = coded.few_kinds(_MOST_LISTED // len(laws[0]))
    if few is None:
        return AllPairs(tuple(map(tuple, laws)), source, firsts)
    pairs = dict.fromkeys(ExactPLD.of(zip(laws[i], laws[j], strict=True)) for i, j in few.tolist())
    return FiniteProfile(tuple(pairs), source, all_pairs=True)


@dataclass(frozen=True)
class AllPairs(PrivacyProfile):
    """Profile of laws whose pairs are too many to list; EXACT."""

    laws: tuple[tuple[Fraction, ...], ...] = field(repr=False)  # on the same views
    source: str  # what they are
    firsts: int | None = None  # see `profile_of`; all by default

    @cached
    def floats(self) -> NDArray[np.float64]:
        """The laws, rounded to nearest."""
        return np.array([[float(p) for p in law] for law in self.laws])

    @cached
    def floats_hold_them(self) -> bool:
        """Whether no probability is so small that a float of it has fewer digits."""
        return all(p == 0 or number >= _LEAST for law, row in zip(self.laws, self.floats, strict=True)
                   for p, number in zip(law, row.tolist(), strict=True))  # fmt: skip

    @cached
    def coded(self) -> CodedLaws:
        """The laws, to tell which pairs are of one kind."""
        return CodedLaws.of(self.laws, firsts=self.firsts)

    @cached
    def ratio(self) -> Fraction | None:
        """The largest likelihood ratio; None where it is infinite."""
        ends = [(max(column), min(column)) for column in zip(*self.laws, strict=True)]
        if any(high > 0 == low for high, low in ends):
            return None
        found: Fraction = max(high / low for high, low in ends if high > 0)
        return found

    def delta(self, epsilon: Number) -> Enclosure:
        """Relative width below 1e-15, except where delta underflows."""
        if self.ratio is not None and epsilon >= self.epsilon(0).high:
            return Enclosure(0.0, 0.0, Rigour.EXACT, self.source)
        pairs, low, high = self._around(float(epsilon))
        worst = self.coded.kinds(pairs[high >= low.max()])
        return FiniteProfile(tuple(self._pld(i, j) for i, j in worst.tolist()), self.source).delta(epsilon)

    def renyi(self, order: Number) -> Enclosure:
        """From the pairs that tell most to the pair whose curve is the largest in both directions."""
        at = Fraction(order)
        return enclosed(of_pairs([((pair, 1),) for pair in self.telling()], at, self.source), from_above(self, at))

    @cached
    def asked(self) -> dict[float, NDArray[np.float64]]:
        """Upper ends of the divergences of all pairs, at the epsilons where all were asked for."""
        return {}

    def _around(self, epsilon: float) -> tuple[Pairs, NDArray[np.float64], NDArray[np.float64]]:
        """Pairs of which one is the worst, with the bounds of their divergences: all of them, where few can be left out."""
        pairs = self.coded.all_pairs()
        if (most := self._chords(epsilon)) is not None:
            best = np.sort(np.argpartition(most, -min(_TRIED, len(most)))[-_TRIED:])
            left = pairs[most >= self._ends(pairs[best], epsilon)[0].max()]
            if len(left) <= _FEW * len(pairs):
                return left, *self._ends(left, epsilon)
        low, high = self._ends(pairs, epsilon)
        self.asked[epsilon] = high
        return pairs, low, high

    def _chords(self, epsilon: float) -> NDArray[np.float64] | None:
        """Upper bounds of the divergences of all pairs: each is convex in e**epsilon, so below the chord around it.

        None where no two epsilons around it were asked about, or they are too close to each other for floats.
        """
        before = max((e for e in self.asked if e <= epsilon), default=None)
        after = min((e for e in self.asked if e > epsilon), default=None)
        if before is None or after is None or after > _LARGEST or after - before < _APART:
            return None
        place = math.expm1(epsilon - before) / math.expm1(after - before)
        place = max(0.0, place - _APART**2)  # divergences fall: what is nearer to the one before is larger
        return ((1 - place) * self.asked[before] + place * self.asked[after]) * (1 + _SLACK)

    def telling(self) -> tuple[ExactPLD, ...]:
        """Pairs that occur, each and its reversed one: of the largest mean loss, and of the largest single loss."""
        logs = np.log(np.maximum(self.floats, _LEAST))
        means = (self.floats * logs).sum(axis=1)[:, None] - self.floats @ logs.T
        column = int(np.argmax(logs.max(axis=0) - logs.min(axis=0)))
        mean = divmod(int(np.argmax(means)), len(self.laws))
        single = int(np.argmax(logs[:, column])), int(np.argmin(logs[:, column]))
        chosen = dict.fromkeys(each for i, j in (mean, single) for each in ((i, j), (j, i)))
        return tuple(self._pld(i, j) for i, j in chosen)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The logarithm of a rational, enclosed by neighbouring floats; infinite below the infinite-loss mass."""
        if delta == 0:
            return self._log(self.ratio)
        goal, found, pairs = Fraction(delta), Fraction(1), self.coded.all_pairs()
        while True:
            # The divergence falls as epsilon grows: a pair that is within delta here is so from here on.
            # The difference of logarithms of numbers that are thousands of digits long would lose as many digits.
            high = self._ends(pairs, math.log(found) if found < _LONGEST else math.inf)[1]
            pairs, high = pairs[over := high > float(goal) * (1 - _SLACK)], high[over]
            if not len(pairs):
                return self._log(found)
            worst = int(np.argmax(high))
            reached = self._pld(*pairs[worst].tolist()).exp_epsilon(goal)
            if reached is None:
                return self._log(None)
            if reached <= found:
                return self._log(self._largest(pairs, goal, found))
            found, pairs = reached, np.delete(pairs, worst, axis=0)

    def _largest(self, pairs: Pairs, goal: Fraction, found: Fraction) -> Fraction | None:
        """The largest ``e**epsilon`` that any of these pairs needs, or `found`."""
        for i, j in self.coded.kinds(pairs).tolist():
            reached = self._pld(i, j).exp_epsilon(goal)
            if reached is None:
                return None
            found = max(found, reached)
        return found

    def _log(self, ratio: Fraction | None) -> Enclosure:
        if ratio is None:
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        return log_fraction(ratio, self.source)

    @cached
    def known(self) -> dict[tuple[int, int], ExactPLD]:
        """Pairs in rationals: the worst at one epsilon is often the worst at the next."""
        return {}

    def _pld(self, first: int, second: int) -> ExactPLD:
        if (first, second) not in self.known:
            self.known[first, second] = ExactPLD.of(zip(self.laws[first], self.laws[second], strict=True))
        return self.known[first, second]

    def _ends(self, pairs: Pairs, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of the divergence of each pair; 0 and 1 where floats do not hold the numbers."""
        if not self.floats_hold_them or epsilon > _LARGEST:
            return np.zeros(len(pairs)), np.ones(len(pairs))
        alpha, low, high = math.exp(epsilon), np.empty(len(pairs)), np.empty(len(pairs))
        block = max(_BLOCK // self.floats.shape[1], 1)
        for start in range(0, len(pairs), block):
            here = slice(start, start + block)
            law, other = self.floats[pairs[here, 0]], alpha * self.floats[pairs[here, 1]]
            gap, spread = law - other, _SLACK * (law + other)
            low[here], high[here] = np.maximum(gap - spread, 0).sum(axis=1), np.maximum(gap + spread, 0).sum(axis=1)
        summed = 4 * self.floats.shape[1] * 2.0**-53  # a sum of this many numbers at least 0
        return low * (1 - summed), high * (1 + summed)
