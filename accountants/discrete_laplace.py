r"""What discrete Laplace noise on counts costs.

With :math:`\lambda = \log(1/\alpha)`, the loss of a count that is changed by k is :math:`(k - 2y)\lambda` for a view y from 0
to k, and stays what it is at the two ends beyond them: k + 1 values. Losses of several counts add.
"""

import math
from fractions import Fraction
from functools import reduce

import flint

from ldpaudit.accountants.aggregation.added_noise import least_noise, noise_profile
from ldpaudit.accountants.geometric import ClosedForm
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.pld.exact import Atom, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile

_LISTED = 100
"""Largest sum of changes whose losses are listed as rationals, which makes compositions exact."""


def profile(m: DiscreteLaplace, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of discrete Laplace noise on counts that one user changes by :math:`k_1, \dots, k_d`.

    .. math:: \delta(\varepsilon) = \sum_{i=0}^{K} \bigl(p_i - e^\varepsilon p_{K-i}\bigr)_+, \qquad
              \sum_i p_i z^i = \prod_j \frac{1 + (1-\alpha) \sum_{0 < t < k_j} \alpha^t z^t + \alpha^{k_j} z^{k_j}}{1+\alpha},
              \qquad \varepsilon(0) = K \log\frac1\alpha, \qquad K = \sum_j k_j

    :math:`p_i` is the probability of the loss :math:`(K - 2i) \log(1/\alpha)`: in a count changed by k > 0, i counts the
    steps from 0 towards k, and a change by -k is its mirror image. For a single count
    :math:`\delta(\varepsilon) = \max_t 1 - (\alpha^{k-t+1} + e^\varepsilon \alpha^t)/(1+\alpha)`. Tight: there are two
    inputs, attained on {loss > epsilon}; epsilon(0) where every view lies at or beyond 0, on the far side from the
    change. Source: Ghosh, Roughgarden, Sundararajan 2009 for epsilon(0). Proof: proofs/discrete_laplace.py, of epsilon(0).

    ``m``: ``0 < alpha < 1``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT at every
    epsilon, for a sum of changes up to 100 and for a single count; else within 1e-8 for up to four. Raises Unsupported
    where several counts are changed by so much, or so nearly even is the noise, that it spreads over millions.
    """
    source = f"discrete Laplace noise: {m.distance} * log(1/alpha), attained where all noises are at most 0"
    if m.distance <= _LISTED:
        return FiniteProfile(both_directions(_atoms(m.shifts, m.alpha)), source)
    closed = ClosedForm(m.distance, m.alpha, source)
    return closed if len(m.shifts) == 1 else noise_profile(masses(m), m.change, source, closed.epsilon(0))


def masses(m: DiscreteLaplace) -> Masses:
    """Of the noise on one count, in floats."""
    return Masses.discrete_laplace(m.alpha)


def for_privacy(epsilon: Number, delta: Number, change: tuple[int, ...] = (1,)) -> DiscreteLaplace:
    """The one with about the least noise that is certified to be (epsilon, delta)-private for this change: see `least_noise`."""

    def made(variance: Fraction) -> DiscreteLaplace:
        v = float(variance)
        return DiscreteLaplace(Fraction(v / (v + 1 + math.sqrt(2 * v + 1))), change)

    return least_noise(profile, made, epsilon, delta)


def _atoms(shifts: tuple[int, ...], alpha: Fraction) -> list[Atom]:
    """Probabilities of each loss on the two inputs."""
    a = flint.fmpq(alpha.numerator, alpha.denominator)

    def one(k: int) -> flint.fmpq_poly:
        between = [(1 - a) * a**t for t in range(1, k)]
        return flint.fmpq_poly([flint.fmpq(1), *between, a**k]) / (1 + a)

    found = reduce(lambda p, q: p * q, map(one, shifts)).coeffs()
    chances = [Fraction(int(p.p), int(p.q)) for p in found]
    return list(zip(chances, reversed(chances), strict=True))
