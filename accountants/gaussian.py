"""What Gaussian noise on counts costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.aggregation.added_noise import least_noise
from ldpaudit.accountants.numerics.normal import about_epsilon, divergence
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.accountants.pld.searched import SearchedProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta


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


def profile(m: Gaussian, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of Gaussian noise on counts that one user changes by v.

    .. math:: \delta(\varepsilon) = \Phi\Bigl(\frac m2 - \frac\varepsilon m\Bigr)
              - e^\varepsilon \Phi\Bigl(-\frac m2 - \frac\varepsilon m\Bigr), \qquad m = \frac{\|v\|_2}\sigma

    The loss at y is linear in the product of v and y, which is normal. Tight for real numbers: attained where this product is
    small. Source: Balle and Wang 2018, Theorem 8. Lemma: proofs/discrete_laplace.py, that the loss is linear.

    ``m``: ``sigma > 0``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT at every
    epsilon; infinite at delta = 0.
    """
    return Quadratic(m.squared / m.sigma**2, f"Gaussian noise of deviation {float(m.sigma):g}, at the Euclidean distance")


def for_privacy(epsilon: Number, delta: Number, change: tuple[int, ...] = (1,)) -> Gaussian:
    """The one with about the least noise that is certified to be (epsilon, delta)-private for this change.

    ``epsilon``, ``delta``: the goal: above 0, in nats; and in (0, 1). Returns with a variance within a millionth of the least.
    Raises ValueError where a parameter lies outside its domain.
    """
    return least_noise(profile, lambda variance: Gaussian(Fraction(math.sqrt(variance)), change), epsilon, delta)
