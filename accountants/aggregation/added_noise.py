r"""Noise added to counts of which one user changes several: a pair of shifted laws for each, multiplied out.

One count's two laws are X and X + k. Where X is log-concave the loss grows or falls with the view; nothing here depends on it.
Several counts are independent: the best event is a staircase over one half of them together and the other half (`coordinate`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from typing import TypeVar

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import FAR, NOTHING, Pair, TwoCoordinates, below_exp, largest_low
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.accountants.pld.renyi import enclosed, from_above
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

Noise = TypeVar("Noise", bound=CountNoise)
_PRODUCTS = 1 << 21
"""Views of half of the counts that are listed; beyond them, neighbours in the order of the ratio are taken together."""
_TINY = 1e-290
"""A product that is not below it is a float of full accuracy; what products below it lose counts as left out."""
_CLOSE = 1e-6
"""Relative width of the search for a least variance."""
_STEPS = 40
"""Widths from 2**-40 to 1, relative to the lower end, at which an epsilon is tried from above."""
_LEAST = 1e-6
"""Nats, to which these are relative where the lower end is less."""


@dataclass(frozen=True)
class AddedNoise(PrivacyProfile):
    """Profile of independent counts, of two inputs."""

    # all counts, in each order of the two inputs: of the views themselves or less, and of more than the views tell
    below: tuple[TwoCoordinates, ...]
    above: tuple[TwoCoordinates, ...]
    pure: Enclosure  # epsilon at delta = 0
    source: str
    # of a profile that has a formula for divergences, where there is one
    formula: PrivacyProfile | None = None
    rounded: PrivacyProfile | None = None  # of noise of which this is a function, so that it costs no more

    def delta(self, epsilon: Number) -> Enclosure:
        """Of the best event of either order."""
        low = largest_low(self.below, require_epsilon(epsilon))
        high = max(each.high(below_exp(epsilon)) for each in self.above)
        return self._enclosure(low, 0.0 if epsilon >= self.pure.high else high, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From below by Newton's method on events; from above next to that."""
        if require_delta(delta) == 0:
            return replace(self.pure, source=self.source)
        goal, wanted, top = round_up(Fraction(delta)), round_down(Fraction(delta)), self.pure.high
        if math.isinf(top) and max(each.low(math.exp(FAR)) for each in self.below) > goal:
            return Enclosure(top, top, Rigour.EXACT, self.source)
        low = max(each.epsilon(goal) for each in self.below)

        def holds(epsilon: float) -> bool:
            return max(each.high(below_exp(epsilon)) for each in self.above) <= wanted

        if holds(0.0):
            return self._enclosure(0.0, 0.0, math.inf)
        near = (low + max(low, _LEAST) * 2.0**step for step in range(-_STEPS, 1))
        found = next((epsilon for epsilon in near if holds(epsilon)), math.inf)
        return self._enclosure(low, min(top, found), math.inf)

    def renyi(self, order: Number) -> Enclosure:
        """By the formula; else from what the views that are listed show to what the curve allows."""
        if self.formula is not None:
            return self.formula.renyi(order)
        low = max(each.renyi_low(Fraction(order)) for each in self.below)
        above = from_above(self, Fraction(order)) if self.rounded is None else self.rounded.renyi(order)
        return enclosed(Enclosure(low, math.inf, Rigour.INTERVAL, self.source), above)

    def rho(self) -> Enclosure:
        """By the formula; else by orders, and by what is rounded."""
        if self.formula is not None:
            return self.formula.rho()
        return super().rho() if self.rounded is None else enclosed(super().rho(), self.rounded.rho())

    def gdp(self) -> Enclosure:
        """By some epsilons, and by what is rounded."""
        return super().gdp() if self.rounded is None else enclosed(super().gdp(), self.rounded.gdp())

    def _enclosure(self, low: float, high: float, most: float) -> Enclosure:
        return Enclosure.met(low, high, Rigour.EXACT, self.source).clamp(0.0, most)


class EvenNoise(AddedNoise, OnePairProfile):
    """The same of noise whose law is even: then so is that of the losses, and both orders are alike."""


INFINITE = Enclosure(math.inf, math.inf, Rigour.EXACT, "the losses have no bound")
"""Epsilon at delta = 0 of all noise but Laplace's."""


def noise_profile(noise: Masses, change: Sequence[int], source: str, pure: Enclosure = INFINITE) -> AddedNoise:
    """Profile of noise of one law on counts that change by so much.

    In nats; within 1e-8, but for deltas below 1e-30, and where half of the counts spread over more than two million views
    together: then within about 1e-3.
    """
    if not noise.outside and min(noise.values) ** len(change) < _TINY:
        noise = replace(noise, outside=_TINY)
    same = bool(np.array_equal(noise.values, noise.values[::-1]))
    shifts = sorted((abs(k) if same else k for k in change if k), key=abs)
    most = len(noise.values)  # a longer shift leaves no integer in both lists, either
    pairs = [Pair.of(noise, noise.shifted(max(-most, min(k, most)))) for k in shifts]
    orders = [pairs] if same else [pairs, [pair.reversed for pair in pairs]]
    groups = math.isqrt(_PRODUCTS)  # two integers each, of a pair that dominates
    below, above = (
        tuple(TwoCoordinates(*(reduce(join, half, NOTHING) for half in (order[::2], order[1::2]))) for order in orders)
        for join in (
            partial(_together, grouped=lambda pair: pair.coarse(groups)),
            partial(_together, grouped=lambda pair: pair.spread(groups // 2, 0)),
        )
    )
    return (EvenNoise if same else AddedNoise)(below, above, pure, source)


def least_noise(
    profile: Callable[[Noise], PrivacyProfile], made: Callable[[Fraction], Noise], epsilon: Number, delta: Number
) -> Noise:
    """About the least noise with which a change is certified to be private: of a variance within a millionth of one that is not."""
    target = require_delta(delta)
    if not (require_epsilon(epsilon) > 0 and target > 0):
        raise ValueError(f"for_privacy needs epsilon > 0 and delta > 0, got {epsilon} and {delta}")
    start = 2 * made(Fraction(1)).squared * (1 - math.log(target)) / float(epsilon) ** 2  # as the noise is nearly normal

    def cost(variance: float) -> float:
        return profile(made(Fraction(variance))).delta(epsilon).high

    return made(Fraction(crossing(cost, target, start, 1.1, _CLOSE)[1]))


def _together(first: Pair, second: Pair, grouped: Callable[[Pair], Pair]) -> Pair:
    """Two counts together; of groups of their integers where these are too many."""
    if len(first.p) * len(second.p) > _PRODUCTS:
        first, second = grouped(first), grouped(second)
    return first.product(second)
