r"""From above: many runs of one plan, in each of which any of several pairs of laws may be the one that is told apart.

With :math:`h_t` for the largest divergence of t runs, as a function of :math:`x = e^\varepsilon`, and L for the loss of a run,

.. math:: h_0(x) = (1 - x)_+, \qquad h_{t+1}(x) = \max_j E_{P_j}\bigl[h_t(x\, e^{-L})\bigr]

is the delta of an adversary who chooses each run's pair by all views before, and inputs that are fixed before have none larger.
Proof: given a view of loss L, the other t runs are asked for their delta at :math:`x e^{-L}`. It is less than that of t pairs each
of which dominates all: such a pair is the worst at every x at once, which none of the pairs may be.

Every :math:`h_t` is convex and falls from 1, a mixture of functions :math:`(1 - cx)_+` and a constant. So its mean for a pair is at
most that for a pair which dominates it (Zhu, Dong, Wang 2022, Theorem 10). Pairs are put into a few groups, each with the pair
whose divergence is the polygon through the group's largest divergences at powers of one rational: its ratios are such powers, too,
so that h is known where it is asked for, and a run is a convolution.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.pld.curve import lower_hull
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile

Floats = NDArray[np.float64]
_GROUPS, _MOST_PAIRS = 6, 1 << 11
"""Most groups of pairs, and most pairs."""
_NODES, _POWERS = 1 << 14, 1 << 8
"""Most places at which h is known, and about as many powers of the rational from one end of a run's losses to the other."""
_WORK = 1 << 32
"""Most products of masses: some two seconds."""
_UNIT = 2.0**-53
_SLACK = 16 * _UNIT
"""Relative error of a mass, and of its product with a power, in floats; granted to each part of a divergence."""
_BELOW, _DEEP = 16.0, 1e-30
"""Nats below 0 from where on h is taken for 1, which is e**-16 too much; and the delta to which it is followed."""
_LEAST, _LARGEST = 1e-300, 1 << 500
"""What floats below it lose; and the largest ratio, which is a float as its square is."""


@dataclass(frozen=True)
class SeveralPairs(PrivacyProfile):
    """An upper bound of equal runs, by groups of the pairs of one run; from below it is 0."""

    pairs: tuple[ExactPLD, ...]  # all that may be the worst, in both directions
    times: int  # number of runs, at least 1
    source: str  # what is composed

    def __post_init__(self) -> None:
        # Views of the loss 0 may not be listed, such as those of who does not take part.
        object.__setattr__(self, "pairs", tuple(pair.complete() for pair in self.pairs))

    @cached
    def applies(self) -> bool:
        """Whether there are several pairs, with bounded losses, and not too much to compute."""
        if not 1 < len(self.pairs) <= _MOST_PAIRS or any(pair.infinite for pair in self.pairs):
            return False
        ratios = [ratio for pair in self.pairs for ratio in (pair.atoms[0][0], pair.atoms[-1][0])]
        if not 1 < max(ratios) < _LARGEST or min(ratios) < 1 / _LARGEST:
            return False
        return self.times * min(_GROUPS, len(self.pairs)) * (2 * self._reach + 1) * (self._last - self._first) <= _WORK

    def delta(self, epsilon: Number) -> Enclosure:
        """At the power below."""
        place = math.floor(min(round_down(epsilon) / self._step * (1 - 8 * _UNIT), self._last - 1)) - self._first
        return self._enclosed(float(self._curve[place]))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The first power at which it is at most delta."""
        found = np.flatnonzero(self._curve <= round_down(Fraction(delta)))
        return self._enclosed(max(0.0, (self._first + int(found[0])) * self._step * (1 + 24 * _UNIT)) if len(found) else math.inf)

    def _enclosed(self, high: float) -> Enclosure:
        return Enclosure(0.0, high, Rigour.INTERVAL, f"{self.source}, in each of which any pair may be the worst")

    @cached
    def _pure(self) -> float:
        """About the largest loss of one run, either way."""
        ends = [ratio for pair in self.pairs for ratio, _ in (pair.atoms[0], pair.atoms[-1])]
        return max(abs(math.log(ratio)) for ratio in ends)

    @cached
    def _range(self) -> tuple[float, float]:
        """Epsilons between which h is looked at: up to where Chernoff's bound, for the pair of the largest mean loss, is tiny."""
        losses, masses = self._floats[self._order[0]]
        logs = np.log(np.maximum(masses, _LEAST))
        thetas = np.geomspace(1e-3, 1e3, 61) / self._pure
        moments = [float(np.logaddexp.reduce(logs + theta * losses)) for theta in thetas]
        most = min((self.times * k - math.log(_DEEP)) / theta for k, theta in zip(moments, thetas.tolist(), strict=True))
        whole = self.times * self._pure
        return -min(_BELOW, whole), min(2 * most, whole)

    @cached
    def _bits(self) -> int:
        """The rational is ``1 + 2**-bits``."""
        low, high = self._range
        return math.floor(-math.log2(max((high - low) / _NODES, 2 * self._pure / _POWERS)))

    @cached
    def _step(self) -> float:
        """Its logarithm."""
        return math.log1p(2.0**-self._bits)

    @property
    def _reach(self) -> int:
        """Powers from 1 to beyond all ratios."""
        return math.ceil(self._pure / self._step) + 1

    @property
    def _first(self) -> int:
        return math.floor(self._range[0] / self._step)

    @property
    def _last(self) -> int:
        return math.ceil(self._range[1] / self._step) + 1

    @cached
    def _floats(self) -> list[tuple[Floats, Floats]]:
        """Losses of each pair, and their probabilities."""
        return [
            (np.array([math.log(ratio) for ratio, _ in pair.atoms]), np.array([float(mass) for _, mass in pair.atoms]))
            for pair in self.pairs
        ]

    @cached
    def _order(self) -> list[int]:
        """Pairs by falling mean loss."""
        return sorted(range(len(self.pairs)), key=lambda i: -float(self._floats[i][0] @ self._floats[i][1]))

    @cached
    def _curve(self) -> Floats:
        """Upper bounds of h after all runs, from the first power on."""
        kernels, reach = self._kernels, self._reach
        places = np.arange(self._first, self._last)
        at_most_one = np.exp(self._step * np.minimum(places, 0))  # from -16 nats on an exponent is right to 32 units
        h = np.where(places > 0, 0.0, (1 - at_most_one * (1 - 64 * _UNIT)) * (1 + _SLACK))
        for _ in range(self.times):
            # A loss of j powers leads j places down; below the first one h is at most 1, beyond the last at most what it is there.
            around = np.concatenate([np.ones(reach), h, np.full(reach, h[-1])])
            h = np.minimum(1.0, np.maximum.reduce([np.convolve(around, kernel, "valid") for kernel in kernels]))
        lost = self.times * (2 * reach + 8) * 2 * _UNIT
        return np.minimum(1.0, h * (1 + lost) + self.times * _LEAST)

    @cached
    def _kernels(self) -> list[Floats]:
        """Probabilities of each group's losses, in powers from the least one: rounded up."""
        rate = 1 + Fraction(1, 1 << self._bits)
        powers = [rate**k for k in range(-self._reach, self._reach + 1)]
        x = np.array([float(power) for power in powers])
        curves = self._divergences(x)
        found = []
        for group in _groups(x, curves, self._order):
            whole = np.maximum.reduce(curves[group])
            hull = lower_hull([(Fraction(0), Fraction(1)), *zip(powers, map(Fraction, whole.tolist()), strict=True)])
            found.append(_masses(dict(zip(powers, range(len(powers)), strict=True)), hull))
        return found

    def _divergences(self, x: Floats) -> Floats:
        """Upper bounds for each pair: a sum of what masses exceed; at most 1, and 0 from the largest ratio on."""
        found = np.empty((len(self.pairs), len(x)))
        for row, pair in zip(found, self.pairs, strict=True):
            p, q = (np.array([float(each) for each in masses]) for masses in zip(*((m, m / r) for r, m in pair.atoms), strict=True))
            scaled = q[:, None] * x
            row[:] = np.maximum(p[:, None] - scaled + _SLACK * (p[:, None] + scaled), 0.0).sum(axis=0) * (1 + len(p) * _SLACK)
            row[x * (1 - _SLACK) >= float(pair.atoms[0][0])] = 0.0
        return np.minimum(found, 1.0)


def _groups(x: Floats, curves: Floats, order: Sequence[int]) -> list[list[int]]:
    """The pair of the largest mean loss alone, and others together as long as their common mean loss is no larger."""
    largest = _mean(x, curves[order[0]])
    groups, tops = [[order[0]]], [curves[order[0]]]
    for i in order[1:]:
        for place in range(1, len(groups) + 1):
            if place == len(groups):
                groups.append([i])
                tops.append(curves[i])
                break
            joined = np.maximum(tops[place], curves[i])
            if place == _GROUPS - 1 or _mean(x, joined) <= largest:
                groups[place].append(i)
                tops[place] = joined
                break
    return groups


def _mean(x: Floats, curve: Floats) -> float:
    """Float estimate of the mean loss of a pair of this divergence."""
    slopes = np.concatenate([[-1.0], np.diff(curve) / np.diff(x), [0.0]])
    return float((x * np.maximum(np.diff(slopes), 0.0)) @ np.log(x))


def _masses(place: dict[Fraction, int], hull: list[tuple[Fraction, Fraction]]) -> Floats:
    """P's masses at the powers, by the changes of slope at the vertices of a polygon that ends at 0."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(hull)] + [Fraction(0)]
    found = np.zeros(len(place))
    for (x, _), (before, after) in zip(hull[1:], pairwise(slopes), strict=True):
        found[place[x]] = round_up(x * (after - before))
    return found
