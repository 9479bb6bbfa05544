r"""What discrete Gaussian noise on counts costs.

The loss is linear in :math:`T = \langle v, y \rangle`, v what one user changes. Divide v by the greatest common divisor g of its
entries, and let N be the square of what is left. Then T/g takes every integer d, with probability proportional to
:math:`e^{-d^2/(2 N \sigma^2)} \Theta_d`, :math:`\Theta_d` the sum of :math:`e^{-|x|^2/(2\sigma^2)}` over the projections x of the
integer points with T/g = d. By Poisson's formula all :math:`\Theta_d` are the same but for a factor
:math:`1 \pm \eta`, :math:`\eta = \sum_{w \ne 0} e^{-2 \pi^2 \sigma^2 |w|^2}` over the projections w of all integer points.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from ldpaudit.accountants.aggregation.added_noise import least_noise, noise_profile
from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.numerics.normal import theta, theta_ratio, upper_factor
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.searched import Quadratic
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianShares
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile

_FLAT = 1e-24
"""Largest eta with which one sum serves: what it leaves open is less than 1e-9 of delta."""
_NEARLY_FLAT = 1e-10
"""Largest eta with which a sum of shares has the law of one discrete Gaussian number, to three times that."""
_BITS = 256


@dataclass(frozen=True)
class Discrete(Quadratic):
    """The profile, where T is all that matters and its law is nearly that of one discrete Gaussian number."""

    sigma_squared: Fraction = Fraction(1)
    step: int = 1  # g
    norm: int = 1  # N
    eta: float = 0.0  # upper bound
    shifts: tuple[int, ...] = (1,)  # v

    def renyi(self, order: Number) -> Enclosure:
        r"""Of all counts, which add up; below that of normal laws where alpha times a change is no integer.

        .. math:: \frac{\alpha\, |v|^2}{2 \sigma^2} + \frac{1}{\alpha - 1} \sum_j \ln \frac{\theta(\alpha v_j)}{\theta(0)}, \qquad
                  \theta(c) = \sum_{x \in \mathbb{Z}} e^{-(x - c)^2/(2 \sigma^2)}
        """
        at = Fraction(order)

        def value() -> flint.arb:
            logs = (theta_ratio(self.sigma_squared, at * each).log() for each in self.shifts)
            return ball(at * self.distance_squared / 2) + sum(logs, flint.arb(0)) / ball(at - 1)

        return narrow(value, self.source).clamp(0.0, math.inf)

    def gdp(self) -> Enclosure:
        """From below by some epsilons: no mu is known to be enough."""
        return PrivacyProfile.gdp(self)

    def value(self, epsilon: Fraction) -> flint.arb:
        """Tails of T, as multiples of their first terms."""
        variance, apart = self.norm * self.sigma_squared, self.step * self.norm
        start = math.floor(epsilon * self.sigma_squared / self.step - Fraction(apart, 2)) + 1
        drop = epsilon - (2 * start + apart) * self.step / (2 * self.sigma_squared)
        with working_precision(_BITS + 2 * abs(start).bit_length()):
            off = between(-ball(Fraction(3 * self.eta)), ball(Fraction(3 * self.eta))) + 1
            first = (-ball(start**2 / (2 * variance))).exp()
            lost = off * (ball(drop)).exp() * upper_factor(start + apart, variance)
            if start > 0:
                return first * (off * upper_factor(start, variance) - lost) / theta(variance)
            below = upper_factor(1 - start, variance) * (-ball((1 - start) ** 2 / (2 * variance))).exp()
            return 1 - (off * below + first * lost) / theta(variance)


def profile(m: DiscreteGaussian | DiscreteGaussianShares, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of either mechanism; see `of_one` and `of_shares`."""
    return of_one(m) if isinstance(m, DiscreteGaussian) else of_shares(m)


def of_one(m: DiscreteGaussian) -> PrivacyProfile:
    r"""Exact profile of discrete Gaussian noise on counts that one user changes by v.

    .. math:: \delta(\varepsilon) = P\Bigl[T > \varepsilon \sigma^2 - \tfrac{|v|^2}2\Bigr]
              - e^\varepsilon P\Bigl[T > \varepsilon \sigma^2 + \tfrac{|v|^2}2\Bigr], \qquad T = \sum_j v_j X_j

    Tight: attained where the product of v and the view is small; the mirror image of a law on the integers is itself, so that
    both directions are alike. The law of T depends on v, and not on its norm alone. Source: Canonne, Kamath, Steinke 2020,
    Theorem 7, for one count; for several, derived: see this file's docstring. Lemma: proofs/discrete_laplace.py, that the loss
    is linear.

    ``m``: ``sigma > 0``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats; infinite at delta = 0. EXACT
    where the variance is about six times the square of the change's norm, or one count changes; else, of few noises, that of
    all of them (`aggregation.added_noise`): within 1e-8 for up to four counts and deltas above 1e-30. Raises
    Unsupported where both the noise is so and its integers are millions.
    """
    step = math.gcd(*m.shifts)
    norm, counts = m.squared // step**2, len(m.shifts)
    off = 0.0 if counts == 1 else _eta(norm, counts, m.sigma**2)
    source = f"discrete Gaussian noise of parameter {float(m.sigma):g}, on what the change adds up"
    if off > _FLAT:
        known = Discrete(m.squared / m.sigma**2, source, sigma_squared=m.sigma**2, shifts=m.shifts)
        return replace(noise_profile(masses(m), m.change, source), formula=known)
    return Discrete(m.squared / m.sigma**2, source, Rigour.EXACT, m.sigma**2, step, norm, off, m.shifts)


def of_shares(m: DiscreteGaussianShares) -> PrivacyProfile:
    r"""Profile of the sum X of h discrete Gaussian numbers of parameter s each on counts that one user changes by v.

    .. math:: \delta(\varepsilon) = \sum_y \Bigl(\prod_j P[X = y_j] - e^\varepsilon \prod_j P[X = y_j - v_j]\Bigr)_+,
              \qquad P[X = k] \propto e^{-k^2/(2 h s^2)}\, \Theta_{k \bmod h}

    X is T of this file's docstring for v = (1, ..., 1). Where eta is small, X is a discrete Gaussian number of variance
    :math:`h s^2` but for a factor :math:`(1+\eta)/(1-\eta)`; else its law is convolved. Tight: there are two inputs; the law is
    even, so that both directions are alike. Source: Kairouz, Liu, Steinke 2021, for sums of discrete Gaussians; the bound of eta:
    derived, see `_eta_of_shares`.

    ``m``: as its constructor ensures; ``neighbours``: replace-one. Returns in nats; infinite at delta = 0. EXACT, or within
    1e-8, for up to four counts and deltas above 1e-30, but within 1e-6 and for deltas above 1e-18 of 100,000 shares of variances
    below 2; for more counts, within about 1e-3. Raises Unsupported where the noise spreads over millions.
    """
    what = f"{m.shares} shares of discrete Gaussian noise of variance {float(m.share_variance):g} each"
    return noise_profile(masses(m), m.change, f"{what}: the best event")


def masses(m: DiscreteGaussian | DiscreteGaussianShares) -> Masses:
    """Of the noise on one count, in floats."""
    if isinstance(m, DiscreteGaussian):
        return Masses.discrete_gaussian(m.sigma**2)
    if not (eta := _eta_of_shares(m.share_variance, m.shares)) <= _NEARLY_FLAT:
        return Masses.discrete_gaussian(m.share_variance).times(m.shares).even
    whole = Masses.discrete_gaussian(m.variance)
    return replace(whole, error=whole.error + 3 * eta, outside=whole.outside * (1 + 3 * eta))


def for_privacy(epsilon: Number, delta: Number, change: tuple[int, ...] = (1,)) -> DiscreteGaussian:
    """The one with about the least noise that is certified to be (epsilon, delta)-private for this change: see `least_noise`."""
    return least_noise(of_one, lambda variance: DiscreteGaussian(Fraction(math.sqrt(variance)), change), epsilon, delta)


def _eta_of_shares(variance: Fraction, shares: int) -> float:
    r"""Upper bound of eta for v = (1, ..., 1), with :math:`a = 2 \pi^2 s^2`.

    Each projection w other than 0 is that of an integer point n whose entries add up to at most h/2 in size, and to at most
    :math:`m = |n|^2`: so :math:`|w|^2 = |n|^2 - (\sum n)^2/h` is at least m/2, and at least m(1 - K/h) for m < K <= h/2. Over all
    n, :math:`e^{-x |n|^2}` adds up to :math:`(\sum_k e^{-x k^2})^h`; for m >= K, half of m/2 is at least K/4 more.
    """
    with working_precision(128):
        a = 2 * flint.arb.pi() ** 2 * ball(variance)

        def points(rate: flint.arb) -> flint.arb:
            q = (-rate).exp()
            return (1 + 2 * q / (1 - q)) ** shares

        bounds = [points(a / 2) - 1]
        for near in (1 << i for i in range(shares.bit_length() - 1)):
            bounds.append(points(a * (1 - ball(Fraction(near, shares)))) - 1 + (-a * near / 4).exp() * points(a / 4))
        return min(round_up(bound) for bound in bounds)


def _eta(norm: int, counts: int, sigma_squared: Fraction) -> float:
    r"""Upper bound of eta, with :math:`a = 2 \pi^2 \sigma^2`.

    Of all integer points with one projection w, take one whose product with v is at most N/2: its square exceeds
    :math:`|w|^2` by at most N/4, and :math:`|w|^2`, above 0, is at least 1/N. Points of square up to N/2 are at most
    :math:`(\sqrt{2N} + 1)^d`; of the others :math:`|w|^2 \ge N/8 + |x|^2/4`, and :math:`\sum_k e^{-a k^2/4} \le 2`.
    """
    with working_precision(64):
        a = 2 * flint.arb.pi() ** 2 * ball(sigma_squared)
        if not a > 4:
            return 1.0
        near = (flint.arb(2 * norm).sqrt() + 1) ** counts * (-a / norm).exp()
        return float((near + flint.arb(2) ** counts * (-a * norm / 8).exp()).upper().min(1)) * (1 + 2.0**-50)
