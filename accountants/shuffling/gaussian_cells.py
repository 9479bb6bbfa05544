"""Where to cut reports that are numbers plus Gaussian noise into cells. In floats: nothing rests on it but time and width.

Cells are the closer, the more what a ratio is within them adds to the variance of the sum's tilted law: as the cube root of its
density there, times the ratio's slope squared (Panter and Dite 1951). The tilt is that of the epsilon at which a sum of as many
as there are users has the delta that is looked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, ndtri

from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.core.cached import cached

Floats: TypeAlias = NDArray[np.float64]

_MERGED, _TOLD = 0.1, 0.05
"""Parts of delta that may lie in a tail that is merged in a data set, and of which the blanket's adversary is told."""
_CAPS = 0.3, 0.1, 0.03, 1e-2, 1e-3
"""Parts of delta that may be added for the values of replacement's laws beyond their last cell; the best one is chosen."""
_FAR = 7.5
"""Deviations beyond which nothing is cut into cells, where delta is not much smaller than usual."""
_POINTS, _FLOOR = 300, 0.03
"""Cells in floats from which those in balls are made, and the least density of these, relative to the largest."""
_FIRST, _LARGEST, _HALVINGS, _NEAR, _LEVELS = 1.0, 200.0, 30, 1e-5, 1e4
"""First and largest epsilon that are looked at, halvings of an interval, how near a tilt's epsilon is, and nats of a level that is
none."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Of one law of W, at the epsilon at which a sum of as many has the delta."""

    edges: Floats  # of many narrow cells
    importance: Floats  # of each cell: see `_importance`
    epsilon: float

    @classmethod
    def of(cls, edges: Floats, laws: tuple[Floats, Floats, Floats], users: int, delta: float) -> Spread:
        """Of user 1's two laws and another user's, on cells with these inner edges; those of the last law may leave some silent."""
        from scipy.optimize import brentq  # here: it takes a while to import

        first, second, others = laws
        goal, silence = math.log(delta), 1 - float(others.sum())
        logs = np.log(np.append(others, max(silence, 1e-300)))

        def sum_at(epsilon: float) -> tuple[Floats, float, float]:
            values = np.append((first - second - math.expm1(epsilon) * second) / others, 0.0)
            unit = float(np.abs(values).max())
            tilt = Tilt(values / unit, logs, users)
            level = tilt.level() + math.log(unit / users) if values.max() > 0 else -math.inf
            return values[:-1], level, tilt.saddle() / unit

        low, high = 0.0, _FIRST
        while sum_at(high)[1] > goal:
            low, high = high, 4 * high

        def excess(epsilon: float) -> float:
            return max(-_LEVELS, sum_at(epsilon)[1]) - goal  # nothing where it is not a number

        high = brentq(excess, low, high, xtol=high * _NEAR) if excess(low) > 0 else high * _NEAR
        values, _, theta = sum_at(high)
        return cls(edges, np.maximum(_importance(values, others, theta)[1:-1], _FLOOR), high)

    def cuts(self, cells: int) -> list[Fraction]:
        """Where as many cells end."""
        return _cuts(self.edges, self.importance, cells)

    def density(self, places: Floats) -> Floats:
        """Of cells, relative to the largest."""
        return np.interp(places, (self.edges[1:] + self.edges[:-1]) / 2, self.importance, left=_FLOOR, right=_FLOOR)


def _cuts(edges: Floats, importance: Floats, cells: int) -> list[Fraction]:
    shares = np.concatenate([[0.0], np.cumsum(importance)])
    return [Fraction(each) for each in np.interp(np.linspace(0, shares[-1], cells + 1), shares, edges).tolist()]


@dataclass(frozen=True)
class Guide:
    """Of two ends, these many deviations apart."""

    s: float
    users: int
    delta: float

    def _sum(self, low: float, high: float, first: float, second: float, others: float | None) -> Spread:
        edges = np.linspace(low, high, _POINTS + 1)

        def law(x: float) -> Floats:
            middles = (edges[1:] + edges[:-1]) / 2 - x
            inner = np.exp(-(middles**2) / 2) * ((high - low) / _POINTS / math.sqrt(2 * math.pi))
            return np.concatenate([[ndtr(low - x)], inner, [ndtr(x - high)]])

        laws = law(first), law(second)
        return Spread.of(edges, (*laws, np.minimum(*laws) if others is None else law(others)), self.users, self.delta)

    def _gains(self, epsilon: float) -> tuple[Floats, Floats]:
        """Places, and what it tells whether a report is beyond: others hold what user 1 holds then."""
        places = np.linspace(self.s / 2, self.s + self._reach, _POINTS)
        own, other = ndtr(self.s - places), ndtr(-places)
        none, some = np.exp((self.users - 1) * np.log1p(-other)), -np.expm1(self.users * np.log1p(-other))
        return places, np.asarray(none * (own - other) - math.expm1(min(epsilon, _LARGEST)) * some)

    def level(self, epsilon: float) -> float:
        """The logarithm of the most that is told so."""
        most = float(self._gains(epsilon)[1].max())
        return math.log(most) if most > 0 else -math.inf

    def place(self, epsilon: float) -> Fraction:
        """From where on a report tells most so."""
        places, gains = self._gains(epsilon)
        return Fraction(float(places[gains.argmax()]))

    @cached
    def far(self) -> float:
        """Epsilon of a report far out."""
        low, high = 0.0, _LARGEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.level(middle) > math.log(self.delta) else (low, middle)
        return low

    @property
    def epsilon(self) -> float:
        """Of the better one of two data sets."""
        return max(self.kept.epsilon, self.far)

    @property
    def _reach(self) -> float:
        """Deviations beyond which nothing is cut into cells."""
        return max(_FAR, self._tail(_CAPS[-1] / 10))

    def _tail(self, part: float) -> float:
        """Beyond which a normal number has this part of delta."""
        return -float(ndtri(min(self.delta * part, 0.25)))

    @cached
    def kept(self) -> Spread:
        """Others hold what user 1 holds first."""
        return self._sum(-self._reach, self.s + self._reach, 0.0, self.s, 0.0)

    @cached
    def changed(self) -> Spread:
        """Others hold what user 1 holds then."""
        return self._sum(-self._reach, self.s + self._tail(_MERGED), self.s, 0.0, 0.0)

    @cached
    def hidden(self) -> Spread:
        """Others hold the middle."""
        far = self._tail(_MERGED)
        return self._sum(-far, self.s + far, 0.0, self.s, self.s / 2)

    def blanket_cuts(self, cells: int) -> list[Fraction]:
        """Of the blanket, below the middle, on either side of which there are as many cells."""
        far = self._tail(_TOLD)
        found = self._sum(-far, self.s + far, 0.0, self.s, None)
        both = np.maximum(found.importance, found.importance[::-1])
        half = len(both) // 2
        return _cuts(found.edges[: half + 1], both[:half], cells // 2)[:-1]  # the last one is the middle only in floats

    def all_cuts(self, cells: int) -> list[Fraction]:
        """Of the laws of W for user 1's inputs 0 and s among others who hold any number, from where the largest are cut off."""
        s, e = self.s, math.exp(self.epsilon)

        def value(y: float) -> float:
            return math.exp(s * y - s * s / 2) - e

        def cost(part: float) -> tuple[float, float, Floats]:
            """About the bound where others hold what user 1 holds then, where the line ends, and how to cut it."""
            most, ends = part * self.delta, (s / 2, s + self._reach)
            high = bisect(lambda y: bool(ndtr(s - y) - (value(y) + e) * ndtr(-y) > most), *ends, _HALVINGS)
            edges = np.linspace(-self._reach, high, _POINTS + 1)
            values, masses = np.exp(s * edges - s * s / 2) - e, np.diff(ndtr(edges), append=1.0)
            unit = float(np.abs(values).max())
            tilt = Tilt(values / unit, np.log(np.maximum(masses, 1e-300)), self.users)
            theta = tilt.saddle()
            spread = theta * math.sqrt(self.users * tilt.mean_and_variance(theta)[1] / 2)
            level = self.users * tilt.cumulant(theta) + math.log(unit * float(erfcx(spread)) / (2 * theta * self.users))
            return math.exp(min(level, 0.0)) + part * self.delta, high, _importance(values, masses, theta / unit)[:-1]

        _, end, importance = min(map(cost, _CAPS), key=lambda each: each[0])
        edges, own = np.linspace(s - end, s + self._reach, _POINTS + 1), np.linspace(-self._reach, end, _POINTS + 1)
        middles = (edges[1:] + edges[:-1]) / 2
        both = self.kept.density(middles), np.interp(s - middles, (own[1:] + own[:-1]) / 2, importance)
        return _cuts(edges, np.maximum(np.maximum(*both), _FLOOR), cells)


def _importance(values: Floats, masses: Floats, theta: float) -> Floats:
    """Of cells, at most 1: how many there should be (Panter and Dite 1951), from what they add to the tilted law's variance."""
    slopes = np.abs(np.gradient(values))
    nats = np.log(masses + 1e-300) + 2 * np.log(slopes + 1e-300) + np.minimum(theta * values, 1e3)
    return np.asarray(np.exp(np.minimum(nats - nats[1:-1].max(), 0.0) / 3), dtype=np.float64)
