r"""One coordinate of a sum: two laws on the same integers, in floats with a bound of their error.

User 1's report adds a coin of probability p, or one of probability q, to what the others' reports add. For a relative
error e of all masses, every event S has :math:`P(S) - xQ(S) \le (1+e)\tilde P(S) - x(1-e)\tilde Q(S)` and the opposite
with e exchanged for -e. The best event of the right side collects the integers at which the ratio of the floats is
largest, so that sorting them once gives both bounds at every x.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import round_down, round_up
from ldpaudit.profile import Number

Floats: TypeAlias = NDArray[np.float64]
_GROUPS = 2048
"""Most integers of a pair that is only wanted from below: 2,048 groups of neighbours in the order of the ratio lose less
than 1e-6 of delta, for they are a hundredth of a standard deviation wide."""
_FACTORS = 512
"""Most groups of each of two coordinates that are multiplied out."""
ROOM = 8 * UNIT
"""Relative; an exponential of the standard library is right to a unit or two."""
FAR = 700.0
"""Nats, the largest whose exponential is surely a float."""
_STEPS = 60
"""Most steps of Newton's method; from 1 up, each is at least as large as the one before."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two laws P and Q of a coordinate, by decreasing likelihood ratio."""

    p: Floats
    q: Floats
    error: float  # relative, of each mass
    outside: float  # upper bound of the probability of what is not listed, under either law, of any integers

    @classmethod
    def of(cls, first: Masses, second: Masses) -> Pair:
        """Of two laws, on the integers of both."""
        low = min(first.first, second.first)
        high = max(each.first + len(each.values) for each in (first, second))
        p, q = (np.pad(each.values, (each.first - low, high - each.first - len(each.values))) for each in (first, second))
        return sorted_pair(p, q, max(first.error, second.error), max(first.outside, second.outside))

    @property
    def reversed(self) -> Pair:
        """The pair (Q, P)."""
        return Pair(self.q[::-1], self.p[::-1], self.error, self.outside)

    @cached
    def ratios(self) -> Floats:
        """P over Q, decreasing; infinite where Q is 0."""
        return _ratios(self.p, self.q)

    @cached
    def falling(self) -> Floats:
        """The ratios below 0, which increase: to search in."""
        return -self.ratios

    @cached
    def sums(self) -> tuple[Floats, Floats]:
        """P and Q of the first integers, none to all."""
        return tuple(np.concatenate([[0.0], np.cumsum(masses)]) for masses in (self.p, self.q))  # type: ignore[return-value]

    @property
    def slack(self) -> float:
        """Relative error of an event's probability, with that of the sums and of some roundings more."""
        return self.error + (len(self.p) + 32) * UNIT

    def high(self, x: Floats) -> Floats:
        """Upper bounds of the divergence, the largest P(S) - x Q(S) over events S, at several ``x > 0``."""
        p, q = self._events(x * ((1 - self.slack) / (1 + self.slack)))
        found: Floats = np.clip(p * (1 + self.slack) - x * q * (1 - self.slack), 0.0, 1.0) + self.outside
        return found

    def low(self, x: Floats) -> Floats:
        """Lower bounds of the divergence at several ``x > 0``."""
        p, q = self._events(x)
        found: Floats = np.maximum(p * (1 - self.slack) - x * q * (1 + self.slack) - x * self.outside, 0.0)
        return found

    def fall(self, x: Floats) -> Floats:
        """About by how many nats the divergence falls per nat of epsilon, at several ``x > 0``; infinite where it is 0."""
        p, q = self._events(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = x * q / np.maximum(p - x * q, 0.0)
        return found

    def _events(self, x: Floats) -> tuple[Floats, Floats]:
        """P and Q of all integers whose ratio exceeds x."""
        count = np.searchsorted(self.falling, -x, side="left")
        return self.sums[0][count], self.sums[1][count]

    def coarse(self, groups: int = _GROUPS) -> Pair:
        """A pair of at most this many groups of integers: post-processing, so that it serves for lower bounds."""
        if len(self.p) <= groups:
            return self
        starts = np.linspace(0, len(self.p), groups, endpoint=False).astype(int)
        return Pair(np.add.reduceat(self.p, starts), np.add.reduceat(self.q, starts), self.slack, self.outside)

    def log_moment_low(self, order: float) -> float:
        r"""Lower bound of :math:`\ln \sum P^\alpha Q^{1 - \alpha}`; views that Q lacks add nothing to it."""
        seen = (self.p > 0) & (self.q > 0)
        logs = np.log(self.ratios[seen])
        total = float((self.p[seen] * np.exp(np.minimum((order - 1) * logs, FAR))).sum())
        # Each P may be less and each Q more; a logarithm's error grows with it, and is multiplied by the order.
        rounding = len(self.p) + 64 + 8 * order * (1 + float(np.abs(logs).max(initial=0.0)))
        off = 2 * order * self.error + rounding * UNIT
        return max(0.0, math.log(total * (1 - off))) * (1 - 4 * UNIT) if off < 1 and total > 0 else 0.0

    def spread(self, groups: int = _GROUPS, levels: int = _GROUPS // 2) -> Pair:
        r"""A pair of at most twice as many integers as `groups` and `levels` that dominates this one: serves for upper bounds.

        Groups begin after as many integers each, and at levels of the ratio, which many integers may share. Ratios of a group lie
        from r to R. Its masses, taken for :math:`M \ge P` and :math:`N \le Q`, become two integers of
        ratios R and r: as the divergence is convex in x, its chord :math:`(R - x)(M - rN)/(R - r)` lies above it between the
        two, and to the left both are :math:`M - xN`. What floats round goes to the integer of ratio R.
        """
        if len(self.p) <= 2 * groups:
            return self
        starts = np.linspace(0, len(self.p), groups, endpoint=False).astype(int)
        infinite = np.flatnonzero(self.q == 0)[-1:] + 1  # their end: a group has either such ratios or finite ones
        seen = self.ratios[(self.p > 0) & (self.q > 0)]
        steps = np.searchsorted(self.falling, -np.geomspace(seen[0], seen[-1], levels)) if len(seen) else infinite
        starts = np.unique(np.concatenate([starts, infinite, steps]))
        starts = starts[starts < len(self.p)]
        m, n = np.add.reduceat(self.p, starts) * (1 + self.slack), np.add.reduceat(self.q, starts) * (1 - self.slack)
        room = 64 * (UNIT + self.slack)  # so that the bounds M and N, too, are apart by a ratio from r to R
        high, low = self.ratios[starts] * (1 + room), self.ratios[np.append(starts[1:], len(self.p)) - 1] * (1 - room)
        finite = np.isfinite(high)
        with np.errstate(invalid="ignore", divide="ignore"):
            up = np.where(finite & (high > low), (m - low * n + 8 * UNIT * m) / (high - low), 0.0)
            p = np.concatenate([np.where(finite, up * high, m), np.where(finite, (n - up) * low, 0.0)])
        return sorted_pair(p, np.concatenate([up, n - up]), 8 * UNIT, self.outside)

    def product(self, other: Pair) -> Pair:
        """Two independent coordinates together: all pairs of their integers."""
        p, q = (np.outer(a, b).ravel() for a, b in ((self.p, other.p), (self.q, other.q)))
        error = (1 + self.error) * (1 + other.error) * (1 + 2 * UNIT) - 1 + 4 * UNIT
        return sorted_pair(p, q, error, self.outside + other.outside)

    def times(self, other: Pair) -> Pair:
        """A lower bound of two independent coordinates together: all pairs of their groups, grouped again."""
        return self.coarse(_FACTORS).product(other.coarse(_FACTORS)).coarse()

    def power(self, rounds: int) -> Pair:
        """A lower bound of this many independent ones together, at least one: by squaring, since each product loses something."""
        if rounds == 1:
            return self
        half = self.power(rounds // 2)
        return half.times(half).times(self) if rounds % 2 else half.times(half)


def sorted_pair(p: Floats, q: Floats, error: float, outside: float) -> Pair:
    """The pair of laws whose masses these are, in any order; an integer that neither has is left out."""
    order = np.argsort(-_ratios(p, q), kind="stable")
    order = order[(p[order] > 0) | (q[order] > 0)]
    return Pair(p[order], q[order], error, outside)


def _ratios(p: Floats, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found: Floats = np.where(q > 0, p / q, np.inf)
    return found


NOTHING = Pair(np.ones(1), np.ones(1), 0.0, 0.0)
"""Of a coordinate that nobody changes."""


@dataclass(frozen=True, eq=False)
class TwoCoordinates:
    r"""Two independent coordinates of the sum at one data set; the second may be `NOTHING`.

    The best event at x is a staircase: all (a, b) with :math:`r_1(a)\, r_2(b) > x`, so for each a the first b in the order
    of their ratio.
    """

    first: Pair
    second: Pair = NOTHING

    @cached
    def _by_length(self) -> list[Pair]:
        return sorted((self.first, self.second), key=lambda pair: len(pair.p))

    @property
    def _slack(self) -> float:
        return self.first.slack + self.second.slack + (len(self._by_length[0].p) + 8) * UNIT

    @property
    def _outside(self) -> float:
        return self.first.outside + self.second.outside

    def _event(self, x: float) -> tuple[float, float]:
        """P and Q of the event: for each integer of the shorter list, those of the other that come first."""
        short, long = self._by_length
        with np.errstate(divide="ignore", over="ignore"):
            count = np.searchsorted(long.falling, -x / short.ratios, side="left")
        p, q = long.sums
        return float((short.p * p[count]).sum()), float((short.q * q[count]).sum())

    def low(self, x: float) -> float:
        """Lower bound of delta at ``log x``."""
        p, q = self._event(x)
        return max(0.0, p * (1 - self._slack) - x * (q * (1 + self._slack) + self._outside))

    def high(self, x: float) -> float:
        """Upper bound of delta at ``log x``."""
        p, q = self._event(x * (1 - self._slack) / (1 + self._slack))
        return max(0.0, p * (1 + self._slack) - x * q * (1 - self._slack)) + self._outside

    def renyi_low(self, order: Fraction) -> float:
        """Lower bound of the Renyi divergence: those of independent coordinates add up."""
        below = round_down(order)  # the divergence grows with the order
        logs = self.first.log_moment_low(below) + self.second.log_moment_low(below)
        return logs / (below - 1) * (1 - 4 * UNIT) if below > 1 else 0.0

    def epsilon(self, delta: float) -> float:
        """Lower bound of epsilon(delta), by Newton's method: every event S needs ``e**epsilon >= (P(S) - delta) / Q(S)``."""
        x = 1.0
        for _ in range(_STEPS):
            p, q = self._event(x)
            if not p * (1 - self._slack) > delta:
                break
            found = (p * (1 - self._slack) - delta) / (q * (1 + self._slack) + self._outside)
            if not found > x * (1 + UNIT):
                break
            x = found
        return math.log(x) * (1 - 4 * UNIT)


def largest_low(sets: Iterable[TwoCoordinates], epsilon: Number) -> float:
    """Lower bound of delta, which one of these pairs of laws attains; 0 where there is none, or ``e**epsilon`` is no float."""
    if epsilon > FAR:
        return 0.0
    x = math.exp(round_up(epsilon)) * (1 + ROOM)
    return max((each.low(x) for each in sets), default=0.0)


def below_exp(epsilon: Number) -> float:
    """A float below ``e**epsilon``, at which a divergence is an upper bound of what it is there."""
    return math.exp(min(round_down(epsilon), FAR)) * (1 - ROOM)
