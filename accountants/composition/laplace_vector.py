r"""Exact profile of D coordinates with Laplace noise, each shifted by s scales, in closed form.

Under P a coordinate's loss is s with probability 1/2, -s with probability :math:`e^{-s}/2`, and between the two it has
the density :math:`\frac14 e^{-(s-\ell)/2}`. Tilted by :math:`e^{-\ell/2}` it is symmetric: a coin on s and -s, of mass
:math:`e^{-s/2}`, and a uniform law on (-s, s), of mass :math:`e^{-s/2} s/2`. Hence, for the loss L of all coordinates
and U of c uniform ones on (-1, 1),

.. math:: \delta(\varepsilon) = E_P\bigl[(1 - e^{\varepsilon - L})_+\bigr]
          = e^{(\varepsilon - Ds)/2} \sum_{c=0}^{D} \binom Dc \Bigl(\frac s2\Bigr)^c 2^{-D} \sum_{a=0}^{D}
            K_c(a)\, F_c\Bigl(2a - D - \frac\varepsilon s\Bigr)

where :math:`\sum_a K_c(a) z^a = (1+z)^{D-c} (z-1)^c`, because the mean of a function over a uniform law on (-1, 1) is
half the difference of its antiderivative, and

.. math:: F_c(y) = \sum_{m \ge 0} \Bigl(\frac s2\Bigr)^{2m+1} \frac{2\, y^{2m+1+c}}{(2m+1+c)!}, \qquad y > 0,

is the c-fold antiderivative of :math:`2 \sinh(s y/2)_+`. That function is convex, so its mean over a coin on -1 and 1
is at least its mean over a uniform law: term c is at most :math:`\binom Dc (s/2)^c` times term 0, which bounds the
terms left out. Its cost grows with D and D s; where these are large, the integral of `laplace_contour` is taken instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint
from scipy import optimize

from ldpaudit.accountants.composition import laplace_contour
from ldpaudit.accountants.composition.laplace_contour import Groups
from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import step_down, step_up
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon
from ldpaudit.working_precision import working_bits, working_precision

_NEGLIGIBLE = 2.0**-64
"""Relative size of the terms left out, eleven bits below a float; with 2**-56 or 2**-80 a query of 50 or 600
coordinates has the same width and time."""
_FIRST_WIDTH = 2.0**-48
"""Relative distance of the first certified points from the float root. With 2**-44 an epsilon of 600 coordinates is
known to 1e-13 instead of 7e-15, in the same time."""
_MANY, _MOST_WORK = 640, 6000
"""Coordinates, and their number times the largest loss in nats, beyond which the integral is taken: the sum takes a tenth of a
second for 600 coordinates and s below 1/100, half a second for s = 1/20, and 15 seconds for 2,000 and s = 1/5; the integral
takes a third of a second at most."""
_INTEGRAL_BITS = 192
"""Precision of the integral: its width is that of its errors. Enough for 2**128 coordinates."""
_NEAR_INTEGRAL = 2.0**-32
"""As `_FIRST_WIDTH`, for the integral."""
_FAR = -800.0
"""Below -745, the logarithm of the smallest positive float."""


@dataclass(frozen=True)
class LaplaceCoordinates(PrivacyProfile):
    """Profile of `count` coordinates with independent Laplace noise, each shifted by `step` scales.

    The formula is in the module docstring. Tight for noise on real numbers: attained on the event {loss > epsilon}; at
    ``epsilon = count * step`` the event is that every noisy coordinate lies beyond its shift.

    Parameters
    ----------
    count : int
        D, at least 1.
    step : Fraction
        s, above 0.
    source : str
        What the numbers rest on.
    level : Rigour
        EXACT where the shifts are attained.
    """

    count: int
    step: Fraction
    source: str
    level: Rigour = Rigour.EXACT

    @property
    def pure(self) -> Fraction:
        """The largest loss."""
        return self.count * self.step

    def delta(self, epsilon: Number) -> Enclosure:
        """Two or three neighbouring floats wide where the sum is taken, else 1e-9 or less of delta; see `laplace_contour`."""
        if require_epsilon(epsilon) >= self.pure:
            return Enclosure.of(0, rigour=self.level, source=self.source)
        if self._is_few:
            exact = Fraction(epsilon)
            return narrow(lambda: _delta(self.count, self.step, exact), self.source, self.level).clamp(0.0, 1.0)
        return _integral(((self.count, self.step),), epsilon, self.source, self.level)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search, certified at both ends; relative width below 1e-9, except where epsilon is nearly 0."""
        if require_delta(delta) == 0:
            return Enclosure.of(self.pure, rigour=self.level, source=self.source)
        return Enclosure(*_inverse(self, delta), self.level, self.source)

    @property
    def first_width(self) -> float:
        """Relative distance of the first certified points from the float root."""
        return _FIRST_WIDTH if self._is_few else _NEAR_INTEGRAL

    @property
    def _is_few(self) -> bool:
        return self.count <= _MANY and self.count * self.pure <= _MOST_WORK

    def estimate(self, epsilon: Fraction) -> flint.arb:
        """About delta, at the current precision."""
        if self._is_few:
            return _delta(self.count, self.step, epsilon)
        return laplace_contour.estimate(((self.count, self.step),), epsilon)


@dataclass(frozen=True)
class LaplaceGroups(PrivacyProfile):
    """Profile of several groups of coordinates with independent Laplace noise, by the integral of `laplace_contour`.

    Parameters
    ----------
    groups : tuple of (int, Fraction)
        Numbers of coordinates, at least 1, and steps, above 0 and all different.
    source, level : str, Rigour
        As for `LaplaceCoordinates`.
    """

    groups: Groups
    source: str
    level: Rigour = Rigour.EXACT

    @property
    def pure(self) -> Fraction:
        """The largest loss."""
        return sum((count * step for count, step in self.groups), Fraction(0))

    def delta(self, epsilon: Number) -> Enclosure:
        """Narrow where the coordinates are ten thousands, or the largest loss many nats; else up to 1e-3 of delta wide."""
        if require_epsilon(epsilon) >= self.pure:
            return Enclosure.of(0, rigour=self.level, source=self.source)
        return _integral(self.groups, epsilon, self.source, self.level)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search, certified at both ends."""
        if require_delta(delta) == 0:
            return Enclosure.of(self.pure, rigour=self.level, source=self.source)
        return Enclosure(*_inverse(self, delta), self.level, self.source)

    @property
    def first_width(self) -> float:
        """Relative distance of the first certified points from the float root."""
        return _NEAR_INTEGRAL

    def estimate(self, epsilon: Fraction) -> flint.arb:
        """About delta, at the current precision."""
        return laplace_contour.estimate(self.groups, epsilon)


def coordinates(count: int, apart: int, rows: int, scale: Fraction, source: str) -> PrivacyProfile:
    r"""Profile of `count` coordinates shifted by :math:`apart/(b \sqrt m)` scales each; enclosed where the root is irrational."""
    root = math.isqrt(rows)
    if root * root == rows:
        return LaplaceCoordinates(count, Fraction(apart, root) / scale, source)
    low, high = _around(apart / scale, rows)
    return Bracket(*(LaplaceCoordinates(count, step, source, Rigour.INTERVAL) for step in (low, high)))


def _around(value: Fraction, rows: int) -> tuple[Fraction, Fraction]:
    """Rationals on either side of a value divided by the root of m."""
    with working_precision(_INTEGRAL_BITS):
        step = ball(value) / flint.arb(rows).sqrt()
        ends = [end.man_exp() for end in (step.lower(), step.upper())]
    low, high = (Fraction(int(mantissa)) * Fraction(2) ** int(exponent) for mantissa, exponent in ends)
    return low, high


def _integral(groups: Groups, epsilon: Number, source: str, level: Rigour) -> Enclosure:
    exact = Fraction(epsilon)
    return narrow(lambda: laplace_contour.delta(groups, exact), source, level, _INTEGRAL_BITS, most=_INTEGRAL_BITS).clamp(0.0, 1.0)


@lru_cache(maxsize=64)
def _inverse(profile: LaplaceCoordinates | LaplaceGroups, delta: Number) -> tuple[float, float]:
    """Ends of the epsilon at which delta is reached."""
    if profile.delta(0).high <= delta:
        return 0.0, 0.0
    target, most = math.log(delta), round_up(profile.pure)
    root = _root(profile, target, most)
    # The estimate leaves something out, which hardly changes until the root that is corrected by it.
    if (there := profile.delta(root)).low > 0:
        root = _root(profile, target + _log(profile, root) - math.log(there.low), most)
    gap = root * profile.first_width
    high = step_up(lambda e: profile.delta(e).high <= delta, root, gap)
    return step_down(lambda e: profile.delta(e).low >= delta, high, root, gap), high


def _root(profile: LaplaceCoordinates | LaplaceGroups, target: float, most: float) -> float:
    """Float estimate of the epsilon at which the estimate's logarithm is the target; 0 where it is smaller everywhere."""
    if _log(profile, 0.0) <= target:
        return 0.0
    return float(optimize.brentq(lambda e: _log(profile, e) - target, 0.0, most, xtol=1e-300, rtol=1e-14))


def _log(profile: LaplaceCoordinates | LaplaceGroups, epsilon: float) -> float:
    if epsilon >= profile.pure:
        return _FAR
    with working_precision(_INTEGRAL_BITS):
        value = profile.estimate(Fraction(epsilon))
        return max(_FAR, float(value.log())) if value > 0 else _FAR


def _delta(count: int, step: Fraction, epsilon: Fraction) -> flint.arb:
    half = ball(step / 2)
    total = first = flint.arb(0)
    for c in range(count + 1):
        size = flint.arb(math.comb(count, c)) * half**c
        term = size * _term(count, step, epsilon, c) / flint.arb(2) ** count
        total += term
        first = first if c else term
        # The bounds of the following terms have the ratios (D - c) s / (2 (c + 1)), which fall.
        ratio = half * (count - c) / (c + 1)
        if c < count and ratio < 1 and first * size * ratio / (1 - ratio) < total * _NEGLIGIBLE:
            total += between(0, first * size * ratio / (1 - ratio))
            break
    return total * (ball(epsilon - count * step) / 2).exp()


def _term(count: int, step: Fraction, epsilon: Fraction, c: int) -> flint.arb:
    """The sum over a, for the y above 0."""
    total = flint.arb(0)
    weights, place = _weights(count, c), epsilon / step
    for a in range(count, math.floor((count + place) / 2), -1):
        if weight := weights[a]:
            total += weight * _antiderivative(c, ball(2 * a - count - place), ball(step))
    return total


@lru_cache(maxsize=256)
def _weights(count: int, c: int) -> flint.fmpz_poly:
    return flint.fmpz_poly([1, 1]) ** (count - c) * flint.fmpz_poly([-1, 1]) ** c


def _antiderivative(c: int, y: flint.arb, s: flint.arb) -> flint.arb:
    """F_c(y) for y > 0: a series of positive terms with falling ratios."""
    x = s * y / 2
    square = x * x
    term = 2 * x * y**c / flint.arb(math.factorial(c + 1))
    total, m = flint.arb(0), 0
    epsilon = flint.arb(2) ** -working_bits()
    while True:
        total += term
        ratio = square / ((2 * m + 2 + c) * (2 * m + 3 + c))
        term *= ratio
        m += 1
        if ratio < 0.5 and term < total * epsilon:
            return total + between(0, 2 * term)
