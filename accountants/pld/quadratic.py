"""The profile of noise whose log-law is quadratic: that of two normal laws, or nearly so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.normal import about_epsilon, divergence
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.accountants.pld.searched import SearchedProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, require_delta


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
        if require_delta(delta) == 0:
            return Enclosure(math.inf, math.inf, self.level, self.source)
        return super().epsilon(delta)

    def renyi(self, order: Number) -> Enclosure:
        """alpha times half the distance's square. Source: Mironov 2017, Proposition 7."""
        return Enclosure.of(Fraction(order) * self.distance_squared / 2, source=self.source)

    def rho(self) -> Enclosure:
        """Half the distance's square, at every order. Source: Bun, Steinke 2016, Proposition 1.6."""
        return Enclosure.of(self.distance_squared / 2, source=self.source)

    def gdp(self) -> Enclosure:
        """The distance: the definition."""
        return narrow(lambda: ball(self.distance_squared).sqrt(), self.source)
