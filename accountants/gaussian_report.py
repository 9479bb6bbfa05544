"""What Gaussian noise on a number costs."""

from ldpaudit.accountants.aggregation.numbers import NoisyNormal
from ldpaudit.accountants.pld.searched import Quadratic
from ldpaudit.accountants.shuffling import gaussian_noise
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.mechanisms.gaussian_report import GaussianReport
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: GaussianReport, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of Gaussian noise on a number in [low, high].

    .. math:: \delta(\varepsilon) = \Phi\Bigl(\frac\mu2 - \frac\varepsilon\mu\Bigr)
              - e^\varepsilon \Phi\Bigl(-\frac\mu2 - \frac\varepsilon\mu\Bigr), \qquad \mu = \frac{high - low}\sigma

    Numbers nearer than the ends are the ends with more noise: to shrink a view towards a point and to add noise to it is
    post-processing. Tight for real numbers: attained by the inputs low and high. Source: Balle and Wang 2018, Theorem 8. Lemma:
    proofs/laplace.py, that the loss is linear.

    ``m``: ``sigma > 0`` and ``low < high``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT
    at every epsilon; infinite at delta = 0.
    """
    return Quadratic((m.sensitivity / m.sigma) ** 2, f"Gaussian noise: {float(m.sensitivity / m.sigma):g} deviations, at the ends")


def shuffled(m: GaussianReport, users: int) -> Bound:
    """Reports cut into intervals: see `gaussian_noise`."""
    return gaussian_noise.bound(m.sensitivity / m.sigma, m.inputs, users)


def summands(m: GaussianReport, neighbours: Neighbours) -> NoisyNormal:
    """A number whose noise adds up."""
    return NoisyNormal(m.sensitivity, m.sigma)
