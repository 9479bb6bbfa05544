r"""Sums of numbers with noise: what the others hold is added on both sides, and tells nothing.

The noise of n reports is one noise, the sum of n independent ones, and user 1 shifts it. Where its law is log-concave, the best
event is a tail, a larger shift never costs less, and the inputs furthest apart are the worst pair. A sum of n log-concave noises
is log-concave.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, reduce
from typing import TypeAlias

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.aggregation.added_noise import noise_profile
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.numerics.laplace_sum import density, upper_tail
from ldpaudit.accountants.numerics.normal import about_epsilon
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.accountants.pld.searched import Quadratic, SearchedProfile
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.plan import Aggregate
from ldpaudit.profile import Number, PrivacyProfile, require_delta

_BITS = 192
_CLOSE = Fraction(1, 1 << 44)
"""Relative distance of the two thresholds between which the best one is enclosed; a tail is known to 1e-13."""
_PARTS = 1 << 10
"""Steps from 0 to the pure epsilon to which a first guess is right."""
_FARTHEST = 96
"""Doublings of a threshold, beyond which a tail is nothing."""


@dataclass(frozen=True)
class NoisyInteger:
    """An integer from 0 to `bound` plus discrete Laplace noise."""

    bound: int
    alpha: Fraction

    def summed(self, plan: Aggregate, changed: int, listed: Callable[[Mechanism], Masses]) -> PrivacyProfile:
        """Profile of the sum, with the noise of aggregators, where this many users change their number by the most."""
        change = (self.bound * changed,)
        law = reduce(Masses.plus, map(listed, plan.noise), Masses.discrete_laplace_sum(plan.users, self.alpha))
        alone = [account(each).epsilon(0) for each in (DiscreteLaplace(self.alpha, change), *changing(plan.noise, change))]
        pure = alone[0]
        if plan.noise:  # of all noises together nothing is known but that it is at most that of each
            pure = replace(pure, low=0.0, high=min(each.high for each in alone), rigour=Rigour.INTERVAL)
        noise = "".join(f" and {each}" for each in plan.noise)
        return noise_profile(law, change, f"the noises of {plan.users} integers{noise}, shifted by {change[0]}", pure)


@dataclass(frozen=True)
class NoisyReal:
    """A number of an interval plus Laplace noise."""

    width: Fraction  # of the interval
    scale: Fraction

    def summed(self, plan: Aggregate, changed: int, listed: Callable[[Mechanism], Masses]) -> PrivacyProfile:
        """The same. Raises Unsupported where aggregators add noise, which is on integers."""
        _require_no_noise(plan)
        shift = self.width * changed / self.scale
        source = f"the Laplace noises of {plan.users} numbers, at {float(shift):g} scales"
        return LaplaceSum(plan.users, shift, Enclosure.of(shift, source=source), source)


@dataclass(frozen=True)
class NoisyNormal:
    """A number of an interval plus Gaussian noise."""

    width: Fraction  # of the interval
    sigma: Fraction

    def summed(self, plan: Aggregate, changed: int, listed: Callable[[Mechanism], Masses]) -> PrivacyProfile:
        """The same: n normal noises are one, of n times the variance."""
        _require_no_noise(plan)
        source = f"the Gaussian noises of {plan.users} numbers, which are one of {plan.users} times the variance"
        return Quadratic((self.width * changed / self.sigma) ** 2 / plan.users, source)


def _require_no_noise(plan: Aggregate) -> None:
    if plan.noise:
        raise Unsupported(plan, "noise of aggregators is accounted for on integers, and these reports are real numbers")


NoisyNumber: TypeAlias = NoisyInteger | NoisyReal | NoisyNormal
"""A report that is a number plus noise of a log-concave law."""


def changing(noise: Iterable[Mechanism], change: tuple[int, ...]) -> Iterator[Mechanism]:
    """Noise, where it alone hides this change."""
    yield from (replace(each, change=change) for each in noise)  # type: ignore[type-var]


@dataclass(frozen=True)
class LaplaceSum(SearchedProfile, OnePairProfile):
    r"""Profile of a sum of n >= 2 Laplace noises, shifted by s scales.

    .. math:: \delta(\varepsilon) = \max_t P[W > t - s] - e^\varepsilon P[W > t]

    The best t is where the ratio of the densities at t - s and t is :math:`e^\varepsilon`; the ratio grows, for the law is
    log-concave. Two thresholds around it bound the maximum. The density is that of a Bessel function, and tails are integrals
    (`numerics.laplace_sum`).
    """

    users: int  # n
    shift: Fraction  # s
    pure: Enclosure
    source: str
    level: Rigour = Rigour.EXACT

    def value(self, epsilon: Fraction) -> flint.arb:
        """Of relative width 1e-12 or so, where it is not below what the tails' difference cancels."""
        if epsilon >= self.shift:
            return flint.arb(0)
        with working_precision(_BITS + self.users.bit_length()):
            low, high = self._thresholds(epsilon)
            factor, near = ball(epsilon).exp(), self._tail(low - self.shift)
            far = flint.arb(0) if high is None else self._tail(high)
            attained = near - factor * self._tail(low)
            return attained.union(near - factor * far).max(flint.arb(0))

    def infinite_loss_mass(self) -> flint.arb:
        """None."""
        return flint.arb(0)

    def estimate(self, goal: Fraction) -> float:
        """Of two normal laws, where these are near; else by halving."""
        guess, top = about_epsilon(self.shift**2 / (2 * self.users), goal), float(self.shift)
        if guess < top / 4:
            return guess
        parts = range(_PARTS)
        last = bisect_left(parts, True, 1, key=lambda i: bool(self.value(self.shift * i / _PARTS) <= ball(goal)))
        return top * (last - 0.5) / _PARTS

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 that of one report, which events far out approach."""
        return self.pure if require_delta(delta) == 0 else super().epsilon(delta)

    def _tail(self, threshold: Fraction) -> flint.arb:
        return upper_tail(((self.users, Fraction(1)),), threshold)

    def _grown(self, threshold: Fraction) -> flint.arb:
        """The logarithm of the ratio of the densities; it grows with the threshold."""
        return (density(self.users, threshold - self.shift) / density(self.users, threshold)).log()

    def _thresholds(self, epsilon: Fraction) -> tuple[Fraction, Fraction | None]:
        """Two between which the best one lies; None for infinity."""
        from scipy.optimize import brentq  # here: it takes a while to import

        slope, goal, grown = epsilon / self.shift, ball(epsilon), cache(self._grown)
        low = self.shift / 2
        # About the saddle point; an integer, of which a float is looked up again.
        high = Fraction(math.ceil(low + 2 * self.users * slope / (1 - slope**2)) + 1)
        for _ in range(_FARTHEST):
            if grown(high) > goal:
                break
            low, high = high, 2 * high
        else:
            return low, None

        def excess(place: float) -> float:
            return float(grown(Fraction(place)) - goal)

        first = max(float(low), float(high) - 3)
        first = first if excess(first) < 0 else float(low)
        best = Fraction(brentq(excess, first, float(high), xtol=1e-15)) if excess(first) < 0 else low
        step = best * _CLOSE
        while (below := best - step) > low:
            if grown(below) <= goal:
                low = below
            step *= 4
        step = best * _CLOSE
        while (above := best + step) < high:
            if grown(above) >= goal:
                high = above
            step *= 4
        return low, high
