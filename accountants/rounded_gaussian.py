"""What rounded Gaussian noise on counts costs."""

import math
from dataclasses import replace
from fractions import Fraction

from ldpaudit.accountants import gaussian
from ldpaudit.accountants.aggregation.added_noise import least_noise, noise_profile
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile


def profile(m: RoundedGaussian, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of Gaussian noise, rounded to an integer X, on counts that one user changes by v.

    .. math:: \delta(\varepsilon) = \sum_y \Bigl(\prod_j P[X = y_j] - e^\varepsilon \prod_j P[X = y_j - v_j]\Bigr)_+,
              \qquad P[X = z] = \Phi\Bigl(\frac{z + 1/2}\sigma\Bigr) - \Phi\Bigl(\frac{z - 1/2}\sigma\Bigr)

    Tight: there are two inputs; the law is even, so that both directions are alike. It is at most that of Gaussian noise, of
    which what is released is a function, and so are its Renyi divergences, rho and mu. Source: derived. Lemma:
    proofs/discrete_laplace.py, of the noise that is rounded.

    ``m``: ``sigma > 0``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats; infinite at delta = 0. EXACT,
    or within 1e-8, for up to four counts and deltas above 1e-30; for more counts, within about 1e-3. Raises Unsupported where
    sigma is above 7,000 or so.
    """
    source = f"rounded Gaussian noise of deviation {float(m.sigma):g}: the best event"
    real = gaussian.profile(Gaussian(m.sigma, m.change))
    return replace(noise_profile(masses(m), m.change, source), rounded=real)


def masses(m: RoundedGaussian) -> Masses:
    """Of the noise on one count, in floats."""
    return Masses.rounded_gaussian(m.sigma**2)


def for_privacy(epsilon: Number, delta: Number, change: tuple[int, ...] = (1,)) -> RoundedGaussian:
    """The one with about the least noise that is certified to be (epsilon, delta)-private for this change: see `least_noise`."""
    return least_noise(profile, lambda variance: RoundedGaussian(Fraction(math.sqrt(variance)), change), epsilon, delta)
