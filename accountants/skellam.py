"""What Skellam noise on counts costs."""

from ldpaudit.accountants.aggregation.added_noise import least_noise, noise_profile
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.mechanisms.skellam import Skellam
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile


def profile(m: Skellam, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of Skellam noise X of variance mu on counts that one user changes by v.

    .. math:: \delta(\varepsilon) = \sum_y \Bigl(\prod_j P[X = y_j] - e^\varepsilon \prod_j P[X = y_j - v_j]\Bigr)_+,
              \qquad P[X = z] = e^{-\mu} I_z(\mu)

    Tight: there are two inputs; the law is even, so that both directions are alike. Source: Skellam 1946, for the law. Lemma:
    proofs/discrete_laplace.py, of the ratios from which the law is computed.

    ``m``: ``mu > 0``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats; infinite at delta = 0. EXACT, or
    within 1e-8, for up to four counts and deltas above 1e-30; for more counts, within about 1e-3. Raises Unsupported where mu
    is above 5e7 or so.
    """
    return noise_profile(masses(m), m.change, f"Skellam noise of variance {float(m.mu):g}: the best event")


def masses(m: Skellam) -> Masses:
    """Of the noise on one count, in floats."""
    return Masses.skellam(m.mu)


def for_privacy(epsilon: Number, delta: Number, change: tuple[int, ...] = (1,)) -> Skellam:
    """The one with about the least noise that is certified to be (epsilon, delta)-private for this change: see `least_noise`."""
    return least_noise(profile, lambda mu: Skellam(mu, change), epsilon, delta)
