"""Profiles whose delta is a certified function of epsilon, and whose epsilon is searched for; of normal noise, or nearly so."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.certified_search import close_in, depth
from ldpaudit.accountants.numerics.normal import about_epsilon, divergence
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile

EXACT = 1e-9  # relative width up to which an enclosure is called exact: the slack to which claims are read
_NEAR = 0.01
"""First step away from an estimate, relative to it; estimates are within some percent where delta is not extreme."""
_LARGEST = 1e4  # nats; a larger epsilon is reported as infinite: e**1e4 exceeds the ratio of any two positive floats


class SearchedProfile(PrivacyProfile):
    """A profile whose delta is a ball, and whose epsilon is the root of an expensive function, found with few evaluations."""

    level: Rigour
    source: str

    @abstractmethod
    def value(self, epsilon: Fraction) -> flint.arb:
        """Delta, certified."""

    @abstractmethod
    def infinite_loss_mass(self) -> flint.arb:
        """Limit of delta(epsilon) as epsilon grows."""

    def delta(self, epsilon: Number) -> Enclosure:
        """Relative width below 1e-9, except where delta underflows or nearly does; INTERVAL where it is wider."""
        if math.isinf(epsilon):
            found = Enclosure.of(self.infinite_loss_mass(), rigour=self.level, source=self.source)
        else:
            found = Enclosure.of(self.value(Fraction(epsilon)), rigour=self.level, source=self.source)
        return found.clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Relative width below 1e-9; infinite where delta is below the infinite-loss mass."""
        goal = Fraction(delta)
        with working_precision(256):
            limit = self.infinite_loss_mass()
            if ball(goal) < limit:
                return Enclosure(math.inf, math.inf, self.level, self.source)

            def upper(epsilon: float) -> flint.arb:
                return self.value(Fraction(epsilon)).upper()

            if upper(0.0) <= ball(goal):
                return Enclosure(0.0, 0.0, self.level, self.source)
            bad, good = self._closed_in(upper, goal)
            return Enclosure(min(self._low(bad, goal), good), good, self.level, self.source)

    def _closed_in(self, upper: Callable[[float], flint.arb], goal: Fraction) -> tuple[float, float]:
        """Two epsilons: at the first delta is not shown to be at most the goal, at the second it is."""
        target = depth(ball(goal))

        def look(epsilon: float) -> tuple[bool, float]:
            found = upper(epsilon)
            return bool(found <= ball(goal)), target - depth(found)

        guess = self.estimate(goal)
        low, high, step = 0.0, guess * (1 + _NEAR), _NEAR
        known = (guess, (near := look(guess))[1])
        if near[0]:
            low, high = guess * (1 - _NEAR), guess
            while low > 0 and look(low)[0]:
                step *= 4
                low, high = max(0.0, low - step * guess), low
        else:
            low = guess
            while not look(high)[0]:
                if high > _LARGEST:
                    return high, math.inf
                step *= 4
                low, high = high, high + step * guess
        good, bad = close_in(look, high, low, None, known)
        return bad, good

    @abstractmethod
    def estimate(self, goal: Fraction) -> float:
        """Float estimate of epsilon(goal), above 0; it reduces the number of evaluations only."""

    def _low(self, near: float, goal: Fraction) -> float:
        """An epsilon, from a little below `near` down, at which delta is certainly not below the goal; or 0."""
        step = 2.0**-36
        while near > 0 and not self.value(Fraction(near)) >= ball(goal):
            near, step = (near * (1 - step), 4 * step) if step < 1 else (0.0, step)
        return near


@dataclass(frozen=True)
class Quadratic(SearchedProfile, OnePairProfile):
    """A profile of noise whose log-law is quadratic: a change's square, over the variance, is nearly all that matters."""

    distance_squared: Fraction  # in standard deviations
    source: str
    level: Rigour = Rigour.EXACT

    def value(self, epsilon: Fraction) -> flint.arb:
        """Of two normal laws."""
        return divergence(self.distance_squared, epsilon)

    def infinite_loss_mass(self) -> flint.arb:
        """None."""
        return flint.arb(0)

    def estimate(self, goal: Fraction) -> float:
        """Of two normal laws."""
        return about_epsilon(self.distance_squared, goal)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Relative width below 1e-9; infinite at delta = 0."""
        return Enclosure(math.inf, math.inf, self.level, self.source) if delta == 0 else super().epsilon(delta)

    def renyi(self, order: Number) -> Enclosure:
        """Renyi divergence of order alpha: alpha times half the squared distance. Source: Mironov 2017, Proposition 7."""
        return Enclosure.of(Fraction(order) * self.distance_squared / 2, source=self.source)

    def rho(self) -> Enclosure:
        """The smallest rho: half the squared distance, at every order. Source: Bun, Steinke 2016, Proposition 1.6."""
        return Enclosure.of(self.distance_squared / 2, source=self.source)

    def gdp(self) -> Enclosure:
        """The distance: the definition."""
        return narrow(lambda: ball(self.distance_squared).sqrt(), self.source)
