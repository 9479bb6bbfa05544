r"""Integrals of powers of moduli of transforms, which `largest_positive_part` needs: of several laws at once.

.. math:: \frac1\pi \int_0^\infty \frac{|M_x(\theta + iu)|^m}{\theta^2 + u^2}\, du

The integrals are bounded by chords in floats, with room for their errors. With :math:`f = |\varphi|^2` for the transform
:math:`\varphi` of the tilted law and :math:`\sigma^2` for its variance,

.. math:: f'' \ge -2 \sigma^2, \qquad \bigl(f^{m/2}\bigr)'' \ge \tfrac m2 f^{m/2-1} f'' \ge -m \sigma^2 f^{m/2-1} \quad (m \ge 2)

for the second derivative of f is a mean of :math:`-d^2 \cos du` over the distances d of two values. On an interval of width h a
function whose second derivative is at least -c is at most its chord and :math:`c\,t(h-t)/2`. So f is at most its larger end and
:math:`\sigma^2 h^2/4`, which bounds c for the power. The weight :math:`1/(\theta^2 + u^2)`, whose second derivative is at least
:math:`-2\theta^2` times its third power, is bounded in the same way.

The intervals end at a U beyond which two values with the probabilities p and q, at the distance d, give :math:`|\varphi(u)|^m
\le e^{-\kappa (1 - \cos du)}` with :math:`\kappa = mpq`, whose mean over a period is :math:`e^{-\kappa} I_0(\kappa)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.float_laws import ROUNDED, FloatLaws
from ldpaudit.accountants.numerics.phases import Floats
from ldpaudit.accountants.numerics.trapezoid import transformed
from ldpaudit.core.cached import cached

FINE = 192  # intervals of the main part for the laws whose integrals are largest: chords are too large there by some 1e-4
_DEVIATIONS = 8.0  # standard deviations of the integrand, or thetas, that are cut evenly
_RATIO, _FAR = 1.015, 64.0
"""Growth of the last ones beyond, and their end in standard deviations of one value, where they are too wide to be of use."""
_RARE, _PAIRS = 1e-6, 6
"""Nats that a power may lose to values that are left out; and values that are paired with the likeliest one, to bound tails."""
_ANGLES = 1e-15  # relative error of angles, and sines beyond a right one are wrong by that of the angle


def edges(deviation: float, theta: float, m: int, even: int) -> Floats:
    """From 0 on, for about m values of this standard deviation: the ends of intervals, of which this many are alike."""
    reach, ratio = min(_DEVIATIONS / (deviation * math.sqrt(m)), _DEVIATIONS * theta), _RATIO ** (FINE / even)
    steps = max(1, math.ceil(math.log(max(_FAR / deviation, 2 * reach) / reach) / math.log(ratio)))
    return np.concatenate([np.linspace(0, reach, even + 1), reach * ratio ** np.arange(1, steps + 1)])


@dataclass(frozen=True, eq=False)
class Transforms:
    """Those of several laws, a row each, tilted by theta, of the likeliest values: without the others moduli fall less."""

    values: Floats  # less the means of all
    masses: Floats  # from the largest one on
    variances: Floats  # of each law, a little too large
    nats: Floats  # logarithms of the moments by which the laws were divided, per value that is added: upper bounds
    theta: float
    edges: Floats  # from 0 on, between which chords are taken
    even: int  # intervals that are alike, the first ones
    users: NDArray[np.int64]  # of how many of the values that are added each law is the sum

    @classmethod
    def of(cls, laws: FloatLaws, tilted: Floats, nats: Floats, theta: float, edges: Floats, even: int, m: int) -> Self:
        """Of laws, their tilted probabilities and the logarithms of their moments, for about m values."""
        left = laws.values - (tilted * laws.values).sum(axis=1, keepdims=True)
        variances = (tilted * left**2).sum(axis=1) * (1 + ROUNDED)
        order = np.argsort(-tilted, axis=1)
        left, tilted = np.take_along_axis(left, order, 1), np.take_along_axis(tilted, order, 1)
        kept = 1 + int((np.cumsum(tilted, axis=1) < 1 - _RARE / m).sum(axis=1).max())
        return cls(left[:, :kept], tilted[:, :kept], variances, nats, theta, edges, even, laws.users)

    @cached
    def fallen(self) -> Floats:
        """Of each law lower bounds of 1 minus the squared modulus, at the edges."""
        a, b = transformed(self.values, self.masses, self.edges)
        whole = self.masses.sum(axis=1, keepdims=True)
        angles = np.multiply.outer((self.masses * np.abs(self.values)).sum(axis=1), self.edges)
        blur = ROUNDED * (a + np.abs(b)) + _ANGLES * angles
        return np.asarray(np.clip(2 * whole * a - a**2 - b**2 - 4 * blur, 0.0, 1.0 - 1e-16), dtype=np.float64)

    def heights(self, m: Floats) -> tuple[Floats, Floats, Floats]:
        """Upper bounds of the moduli to the m: at the edges; between each two; and of minus their second derivatives there."""
        variances = self.variances[:, None]
        least = np.minimum(self.fallen[:, :-1], self.fallen[:, 1:]) - variances * np.diff(self.edges) ** 2 / 4 * (1 + ROUNDED)
        between = np.log1p(-np.clip(least, 0.0, 1.0 - 1e-16))
        bent = m * variances * np.exp((m / 2 - 1) * between)
        return np.exp(m / 2 * np.log1p(-self.fallen)), np.exp(m / 2 * between), bent

    def tails(self, end: Floats, m: Floats) -> Floats:
        """Upper bounds of the integrals of the moduli to the m over u squared, from each end on."""
        from scipy.special import i0e  # here: it takes a while to import

        found = np.tile(1 / end, (len(m), 1))
        for values, masses in list(zip(self.values.T, self.masses.T, strict=True))[1:_PAIRS]:
            wrong = _ANGLES * (np.abs(values) + np.abs(self.values[:, 0]))
            gaps = (np.abs(values - self.values[:, 0]) - wrong).clip(0)
            means = i0e(m[:, 0] * self.masses[:, 0] * masses * (1 - ROUNDED))
            with np.errstate(divide="ignore"):  # of equal values
                found = np.minimum(found, means[:, None] * (1 / end + np.multiply.outer(2 * np.pi / gaps, end**-2.0)))
        return found

    def integrals(self, number: int) -> Integrals:
        """Those of this many values that have one law."""
        m = number / self.users[:, None]
        heights, tops, bent = self.heights(m)
        weights, widths = 1 / (self.theta**2 + self.edges**2), np.diff(self.edges)
        near, far, w, v = heights[:, :-1], heights[:, 1:], weights[:-1], weights[1:]
        chords = widths / 6 * (near * (2 * w + v) + far * (w + 2 * v))
        with np.errstate(over="ignore", invalid="ignore"):  # of values that are equal but for rounding intervals are very wide
            chords += widths**3 / 12 * (bent * w + 2 * self.theta**2 * w**3 * np.maximum(near, far))
            areas, beyond = np.fmin(chords, widths * tops * w), self.tails(self.edges[self.even :], m)
        return Integrals(number * self.nats, areas, beyond, self.theta)


@dataclass(frozen=True, eq=False)
class Integrals:
    """Of each law the integral between each two edges, and from each of the last ones on, over its height at 0."""

    levels: Floats  # logarithms of the heights, but for theta squared
    areas: Floats
    beyond: Floats
    theta: float

    def nats(self, part: Floats | float = 1.0, last: Floats | float = 1.0) -> Floats:
        """Upper bounds of the logarithms of the integrals over pi, of which these parts are left at most."""
        totals = np.cumsum(self.areas * part, axis=1)[:, -self.beyond.shape[1] :] + self.beyond * last
        least = np.fmin.reduce(totals, axis=1, initial=math.inf) * (1 + 4 * ROUNDED)
        wrong = ROUNDED * (1 + np.abs(self.levels))
        return np.asarray(self.levels + wrong + np.log(np.minimum(least / math.pi, 1 / (2 * self.theta))), dtype=np.float64)
