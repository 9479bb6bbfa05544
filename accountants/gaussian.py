"""What Gaussian noise on counts costs."""

import math
from fractions import Fraction

from ldpaudit.accountants.aggregation.added_noise import least_noise
from ldpaudit.accountants.pld.searched import Quadratic
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile


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
    """The one with about the least noise that is certified to be (epsilon, delta)-private for this change: see `least_noise`."""
    return least_noise(profile, lambda variance: Gaussian(Fraction(math.sqrt(variance)), change), epsilon, delta)
