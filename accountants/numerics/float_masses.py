r"""Probabilities of neighbouring integers in floats, each with a bound of its relative error.

All terms are positive, so that sums and products keep their relative accuracy: with the unit roundoff u, a product of k
floats is right to about k u, and a sum of k positive floats, in any order, to k u (Higham 2002, section 3.1). So a law of
a million integers is right to 1e-9, in a hundredth of the time that balls take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import mul
from typing import Self

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.normal import theta
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.errors import Unsupported

UNIT = 2.0**-53  # unit roundoff
_NATS = 90.0  # the probability left out is at most 2 e**-90, by Bernstein's inequality
_OUTSIDE = 1e-38  # above 2 e**-90 = 1.7e-39, with room for the rounding of the reach
_WORK = 1 << 25  # products of masses up to which a sum's law is convolved term by term, in some ten milliseconds
_MOST_WORK = 1 << 34  # most products of masses, of some ten seconds, where transforms are not accurate enough
_TILT, _REACH = 7.0, 10.5
"""Standard deviations between the tilts, and beyond which nothing is listed: a probability of 1e-25."""
_CLEAR = 1e6  # how far above its error a value needs to be
_LARGEST = 1 << 50  # coins from which on their number is not a float
_LISTED = 1 << 22  # most integers of a law that is computed from a formula for each of them
_IN_BALLS = 100_000  # most of a law of which each is computed in balls, of some microseconds
TRIM = 1e-40  # probability of either end of a law that is left out between two convolutions
_SETTLE = 64  # unknown ratios beyond twice the last that is wanted: from there on each step divides the error
_NARROW_BITS = 60  # of a probability that is computed in balls
_SERIES = 40  # most noises whose sum's law is a series of as many terms, none of which leaves the range of floats
_SEEN = 1e-250  # masses below are left out, so that products of floats are of full accuracy where they are seen
_EXP = 8  # units by which numpy's exponential may be off, with room: its own tests allow 4


@dataclass(frozen=True, eq=False)
class Masses:
    """A law on integers: listed masses from `first` on, and a rest that may lie anywhere."""

    first: int
    values: NDArray[np.float64]
    error: float  # relative, of each value
    outside: float  # upper bound of the probability of the rest

    @classmethod
    def point(cls, value: int) -> Self:
        """Of a constant."""
        return cls(value, np.ones(1), 0.0, 0.0)

    @classmethod
    def binomial(cls, n: int, p: Fraction) -> Self:
        """Of Bin(n, p), for ``0 <= n < 2**50``: outward from the mean, by the ratios of neighbouring masses."""
        if not 0 <= n < _LARGEST:
            raise ValueError(f"masses in floats need 0 <= n < 2**50 coins, got {n}")
        if n == 0 or p in (0, 1):
            return cls.point(n if p == 1 else 0)
        center, variance = int(n * p), float(n * p * (1 - p))
        reach = math.ceil(bernstein_reach(variance, _NATS)) + 2
        low, high = max(0, center - reach), min(n, center + reach)
        with working_precision(96):
            top = float(binomial_pmf(n, p, center))
        odds, up, down = (float(p / (1 - p)), np.arange(center, high, dtype=float), np.arange(center, low, -1, dtype=float))
        above = np.cumprod((n - up) / (up + 1) * odds) * top
        below = np.cumprod(down / (n - down + 1) / odds) * top
        values = np.concatenate([below[::-1], [top], above])
        # Per step: a division, a product, the odds' own rounding, and that of the running product.
        return cls(low, values, (6 * len(values) + 8) * UNIT, 0.0 if (low, high) == (0, n) else _OUTSIDE)

    @classmethod
    def counts(cls, law: Sequence[Fraction]) -> Self:
        """Of 0, 1, ... with these probabilities."""
        values = np.array([float(p) for p in law])
        return cls(0, np.where(values < _SEEN, 0.0, values), UNIT, len(law) * _SEEN if min(law) < _SEEN else 0.0)

    @classmethod
    def discrete_laplace(cls, alpha: Fraction) -> Self:
        """Of z with probability ``(1-alpha)/(1+alpha) alpha**|z|``; Unsupported where these spread over millions."""
        with working_precision(96 + 2 * alpha.denominator.bit_length()):
            rate, top = float(-ball(alpha).log()), float(ball((1 - alpha) / (1 + alpha)))
        reach = _reach(_NATS / rate + 1, f"discrete Laplace noise of alpha {float(alpha):g}")
        return cls._even(top * np.exp(-rate * np.arange(reach + 1)), 2 * (_NATS + rate))

    @classmethod
    def discrete_laplace_sum(cls, n: int, alpha: Fraction) -> Self:
        r"""Of the sum of n of these: the difference of two negative binomial numbers, of n geometric numbers each.

        .. math:: P[z] = \Bigl(\frac{1-\alpha}{1+\alpha}\Bigr)^n \alpha^z \binom{n+z-1}z \sum_{i<n} \binom{n-1}i
                  \prod_{l<i} \frac{(n+l)\rho}{z+1+l}, \qquad \rho = \frac{\alpha^2}{1-\alpha^2}, \quad z \ge 0

        by Pfaff's transformation of the hypergeometric series; of many noises, by convolution. A negative binomial number exceeds
        k where n + k coins, each 1 with probability :math:`1 - \alpha`, show less than n ones: so Bernstein's inequality says
        which integers are listed. Raises Unsupported where these are millions.
        """
        mean, stop, rate = float(n * alpha), float(1 - alpha), _NATS / 3 + _NATS * float(alpha)
        most = math.ceil((mean + rate + math.sqrt(rate**2 + 2 * _NATS * mean)) / stop * (1 + 1e-9)) + 2
        least = max(0, math.floor((mean - bernstein_reach(mean, _NATS)) / stop) - 2)
        _reach(most - least, f"the sum of {n} discrete Laplace noises of alpha {float(alpha):g}")
        if n <= _SERIES:
            z, rho = np.arange(most + 1.0), float(alpha**2 / (1 - alpha**2))
            series = np.ones(most + 1)
            for i in range(n - 1, 0, -1):
                series = 1 + series * (n - i) / i * (n + i - 1) * rho / (z + i)
            falls = np.concatenate([[float(((1 - alpha) / (1 + alpha)) ** n)], (n + z[:-1]) / z[1:] * float(alpha)])
            half, error, outside = np.cumprod(falls) * series, (6 * most + 12 * n + 16) * UNIT, 2 * _OUTSIDE
        else:
            one = cls._negative_binomial(n, alpha, least, most)
            both = one.plus(one.mirrored)
            half, error, outside = both.values[-both.first :], both.error, 2 * both.outside
        seen = int(np.count_nonzero(half >= _SEEN))
        return cls(1 - seen, np.concatenate([half[seen - 1 : 0 : -1], half[:seen]]), error, outside + 2 * len(half) * _SEEN)

    @classmethod
    def _negative_binomial(cls, n: int, alpha: Fraction, least: int, most: int) -> Self:
        """Of the sum of n geometric numbers, on these integers: outward from the mode."""
        top = min(max(int(n * alpha / (1 - alpha)), least), most)
        with working_precision(96):
            mode = float(binomial_pmf(n + top, 1 - alpha, n) * n / (n + top))
        up, down = np.arange(top, most, dtype=float), np.arange(top, least, -1, dtype=float)
        above = np.cumprod((n + up) / (up + 1) * float(alpha)) * mode
        below = np.cumprod(down / (n + down - 1) / float(alpha)) * mode
        values = np.concatenate([below[::-1], [mode], above])
        return cls(least, values, (6 * len(values) + 8) * UNIT, _OUTSIDE)

    @classmethod
    def discrete_gaussian(cls, variance: Fraction) -> Self:
        """Of z with probability proportional to ``e**(-z**2 / (2 variance))``, whose tails are below those of a normal law.

        Raises Unsupported where these z are millions. Source of the tails: Canonne, Kamath, Steinke 2020, Proposition 25.
        """
        half = 1 / (2 * float(variance))
        reach = _reach(math.sqrt(_NATS / half) + 1, f"discrete Gaussian noise of variance {float(variance):g}")
        if reach <= _SETTLE:
            with working_precision(128):
                terms = [(-ball(z * z / (2 * variance))).exp() / theta(variance) for z in range(reach + 1)]
                return cls._even(np.array([_nearest(p) for p in terms]), 0.0)
        with working_precision(96):
            top = float(1 / theta(variance))
        return cls._even(top * np.exp(-half * np.arange(reach + 1.0) ** 2), _NATS * (1 + 2 / reach) ** 2 + 2)

    @classmethod
    def rounded_gaussian(cls, variance: Fraction) -> Self:
        """Of the integer next to a normal number; Unsupported where these are more than 100,000."""
        what = f"rounded Gaussian noise of variance {float(variance):g}"
        reach = _reach(math.sqrt(2 * _NATS * float(variance)) + 1, what, _IN_BALLS)
        with working_precision(96 + 2 * reach.bit_length()):
            unit = 1 / (8 * ball(variance)).sqrt()
            beyond = [(unit * (2 * x - 1)).erfc() for x in range(1, reach + 2)]
            half = [1 - beyond[0], *((a - b) / 2 for a, b in pairwise(beyond))]
            return cls._even(np.array([_nearest(p) for p in half]), 0.0)

    @classmethod
    def skellam(cls, variance: Fraction) -> Self:
        r"""Of the difference of two Poisson numbers of mean half the variance each: :math:`e^{-\mu} I_z(\mu)`.

        From the middle outward by the ratios :math:`r_z = I_{z+1}/I_z = 1/(2(z+1)/\mu + r_{z+1})`, which are taken from the far end
        inward, where they are from 0 to 1: so they only gain accuracy. Raises Unsupported where these z are more than 100,000.
        """
        what, mu = f"Skellam noise of variance {float(variance):g}", float(variance)
        reach = _reach(bernstein_reach(mu, _NATS) + 2, what, _IN_BALLS)
        with working_precision(192):
            ratio, twice, ratios = between(0, flint.arb(1)), 2 / ball(variance), []
            for z in range(2 * reach + _SETTLE, 0, -1):
                ratio = 1 / (z * twice + ratio)
                ratios.append(ratio)
            mass = ball(variance).bessel_i(flint.arb(0), scaled=True)
            half = accumulate(ratios[: -reach - 1 : -1], mul, initial=mass)
            return cls._even(np.array([_nearest(p) for p in half]), 0.0)

    @classmethod
    def polya(cls, alpha: Fraction, shape: Fraction) -> Self:
        """Of the difference of two Polya numbers, by the ratios of neighbouring masses; they add up to 1, and so have their size.

        What is left out is less than what a geometric number leaves out where the shape is at most 1, and is bounded by Chernoff's
        inequality at some tilts where it is larger. Raises Unsupported where these z are more than 100,000.
        """
        with working_precision(96 + 2 * alpha.denominator.bit_length()):
            rate = float(-ball(alpha).log())
        what = f"Polya noise of alpha {float(alpha):g} and shape {float(shape):g}"
        reach = _reach(_polya_reach(rate, float(shape)), what, _IN_BALLS)
        with working_precision(192):
            half = list(accumulate(polya_ratios(alpha, shape, reach), mul, initial=flint.arb(1)))
            all_ = (2 * sum(half[:0:-1], flint.arb(0)) + 1) / (1 - between(0, flint.arb(_OUTSIDE)))
            return cls._even(np.array([_nearest(p / all_) for p in half]), 0.0)

    @classmethod
    def _even(cls, half: NDArray[np.float64], nats: float) -> Self:
        """Of a law that is the same on both sides of 0; the exponents, down to -`nats`, are right to a unit or two."""
        return cls(1 - len(half), np.concatenate([half[:0:-1], half]), (4 * nats + _EXP + 8) * UNIT, _OUTSIDE)

    def shifted(self, by: int) -> Masses:
        """Of the sum with a constant."""
        return Masses(self.first + by, self.values, self.error, self.outside)

    @property
    def mirrored(self) -> Masses:
        """Of the number with the other sign."""
        return Masses(1 - self.first - len(self.values), self.values[::-1], self.error, self.outside)

    def plus(self, other: Masses) -> Masses:
        """Of the sum with an independent one; Unsupported where its masses take minutes to compute."""
        shorter = min(len(self.values), len(other.values))
        error = (1 + self.error) * (1 + other.error) * (1 + (shorter + 2) * UNIT) - 1 + 4 * UNIT
        first, outside = self.first + other.first, self.outside + other.outside
        work = shorter * max(len(self.values), len(other.values))
        if work <= _WORK or (found := _by_transforms(self.values, other.values)) is None:
            if work > _MOST_WORK:
                raise Unsupported("a sum", f"it takes {work:.1g} products of masses, and at most {_MOST_WORK:.1g} are computed")
            values = np.convolve(self.values, other.values)
            if values.min() < _SEEN:
                values, outside = np.where(values < _SEEN, 0.0, values), outside + len(values) * _SEEN
            return Masses(first, values, error, outside)
        return Masses(first + found.first, found.values, error + found.error, outside + found.outside)

    def times(self, n: int) -> Masses:
        """Of the sum of n >= 1 independent ones, by doubling."""
        whole, power = Masses.point(0), self.trimmed
        while n:
            if n & 1:
                whole = whole.plus(power).trimmed
            power, n = power._twice if n > 1 else power, n >> 1
        return whole

    @cached
    def _twice(self) -> Masses:
        return self.plus(self).trimmed

    @cached
    def trimmed(self) -> Masses:
        """Without the ends that are less likely than 1e-40: products of what stays are floats."""
        return self.without_ends(TRIM)

    def without_ends(self, rare: float) -> Masses:
        """Without the ends that are less likely than this."""
        below, above = (np.cumsum(values) < rare for values in (self.values, self.values[::-1]))
        low, high = int(below.sum()), len(self.values) - int(above.sum())
        lost = 2.5 * rare if (low, high) != (0, len(self.values)) else 0.0
        return Masses(self.first + low, self.values[low:high], self.error, self.outside + lost)

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of these numbers, 0 where one is not listed."""
        place = numbers - self.first
        listed = (place >= 0) & (place < len(self.values))
        return np.where(listed, self.values[np.clip(place, 0, len(self.values) - 1)], 0.0)

    def slices(self, part: float, rough: float, rare: float) -> tuple[list[float], list[int]]:
        """Ranges of this part of their least numbers, or rough ones of the rarest numbers: upper bounds of their probabilities.

        And their least numbers.
        """
        often, last = self.first + np.searchsorted(np.cumsum(self.values), [rare, 1 - rare]), self.first + len(self.values)
        starts = [self.first]
        while (start := starts[-1]) < last:
            step = max(1, math.floor(start * (part if often[0] <= start < often[1] else rough)))
            starts.append(min(start + step, int(often[0])) if start < often[0] else start + step)
        masses = np.add.reduceat(self.values, np.array(starts[:-1]) - self.first) * (1 + self.error + len(self.values) * UNIT)
        return masses.tolist(), starts[:-1]

    @property
    def even(self) -> Masses:
        """The same, where the law is even, in floats that are so, too: those from 0 up, on both sides."""
        half = self.values[-self.first :]
        return Masses(1 - len(half), np.concatenate([half[:0:-1], half]), self.error, 2 * self.outside)


def polya_ratios(alpha: Fraction, shape: Fraction, last: int) -> list[flint.arb]:
    r"""Ratios of the masses at k and k - 1 of the difference of two Polya numbers of shape r, for k from 1 to `last`, in balls.

    .. math:: \rho_k = \frac{\alpha (k - 1 + r)}{k (1 + \alpha^2) - \alpha (k + 1 - r) \rho_{k+1}}, \qquad 0 < \rho_k \le 1

    They are taken from the far end inward, where they are from 0 to 1, and steps are monotone: each step multiplies the error by
    about :math:`\alpha^2`.
    Source: the coefficients of :math:`z f' (1 - \alpha z)(1 - \alpha/z) = r \alpha (z - 1/z) f`, where f is the generating function
    :math:`((1 - \alpha)^2 / ((1 - \alpha z)(1 - \alpha/z)))^r`. Lemma: proofs/discrete_laplace.py.
    """
    a, r, found = ball(alpha), ball(shape), list[flint.arb]()
    both = 1 + a * a

    def step(k: int, ratio: flint.arb) -> flint.arb:
        return a * (r + (k - 1)) / (k * both - a * ((k + 1) - r) * ratio)

    least, most = flint.arb(0), flint.arb(1)  # apart: a wide ball would be divided with few bits
    for k in range(last + math.ceil(_NATS / -math.log(alpha)) + _SETTLE, last, -1):
        least, most = step(k, least), step(k, most)
    ratio = least.union(most)
    for k in range(last, 0, -1):
        ratio = step(k, ratio)
        found.append(ratio)
    return found[::-1]


def _polya_reach(rate: float, shape: float) -> float:
    """How far from 0 the difference of two Polya numbers has tails of ``e**-_NATS``; alpha is ``e**-rate``."""
    if shape <= 1:
        return _NATS / rate + 1

    def reach(tilt: float) -> float:
        ends = math.expm1(-rate) ** 2 / (math.expm1(tilt - rate) * math.expm1(-tilt - rate))
        return (_NATS + shape * math.log(ends)) / tilt

    return min(reach(rate * 2.0**-step) for step in range(1, 40)) + 1


def _nearest(value: flint.arb) -> float:
    """The float next to a narrow ball; 0 where it is less than what `_OUTSIDE` has room for."""
    if value < _SEEN:
        return 0.0
    if value.rel_accuracy_bits() < _NARROW_BITS:
        raise ArithmeticError(f"a probability needs a ball of {_NARROW_BITS} bits, got {value}")
    return float(value)


def _reach(wanted: float, what: str, most: int = _LISTED) -> int:
    """A whole number of integers on either side of the middle that is not below what is wanted."""
    if not wanted < most:
        raise Unsupported(what, f"it spreads over {wanted:.2g} integers, and at most {most} are listed")
    return math.ceil(wanted)


def _by_transforms(a: NDArray[np.float64], b: NDArray[np.float64]) -> Masses | None:
    r"""The convolution by fast Fourier transforms under three tilts, each right where its own values are large.

    A transform of size n is right to about :math:`7 u \log_2 n` in the 2-norm (Higham 2002, theorem 24.2, with some room for
    other radices), and there are three of them: the result is off by at most :math:`21 u \log_2 n\, \|a\|_2 \|b\|_1` in the
    2-norm, of which three times as much is allowed for. With :math:`a_k e^{\theta k}` and :math:`b_k e^{\theta k}` in place of a
    and b, the result times :math:`e^{-\theta t}` is right to the same part of the largest tilted value. What lies further out
    than all tilts reach is left out, and bounded by the tilted sums. None where some value is too small for its tilt.
    """
    length = len(a) + len(b) - 1
    size = 1 << (length - 1).bit_length()
    (mean_a, var_a), (mean_b, var_b) = _moments(a), _moments(b)
    mean, sd = mean_a + mean_b, math.sqrt(var_a + var_b)
    low, high = max(0, math.floor(mean - _REACH * sd)), min(length, math.ceil(mean + _REACH * sd) + 1)
    at = np.arange(low, high)
    values, error, outside = np.empty(high - low), 0.0, 0.0
    for center in (-_TILT, 0.0, _TILT):
        theta = center / sd
        tilted = a * np.exp(theta * (np.arange(len(a)) - mean_a)), b * np.exp(theta * (np.arange(len(b)) - mean_b))
        product = np.fft.irfft(np.fft.rfft(tilted[0], size) * np.fft.rfft(tilted[1], size), size)[low:high]
        off = 64 * UNIT * math.log2(size) * math.sqrt(float((tilted[0] ** 2).sum())) * float(tilted[1].sum())
        here = np.abs(at - mean - center * sd) <= _TILT / 2 * sd * (1 + 1e-9)
        if center:
            here |= (at - mean) * math.copysign(1.0, center) >= _TILT / 2 * sd
            end = (mean - low + 1) if center < 0 else (high - 1 - mean)
            outside += float(tilted[0].sum() * tilted[1].sum()) * math.exp(-abs(theta) * end) * (1 + 1e-6)
        values[here] = product[here] * np.exp(-theta * (at[here] - mean))
        if not (least := float(product[here].min())) > off * _CLEAR:
            return None
        # The tilts' own exponentials are right to some units of their exponents.
        error = max(error, off / least * (1 + 1e-6) + 4 * UNIT * (4 + abs(theta) * length))
    return Masses(low, values, error, outside)


def _moments(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and variance of the places of masses that sum to about 1; not by BLAS, whose threads wait longer than this takes."""
    at = np.arange(len(values))
    mean = float((values * at).sum())
    return mean, float((values * (at - mean) ** 2).sum())


def bernstein_reach(variance: float, nats: float) -> float:
    """How far from its mean a sum of independent numbers, each within 1 of its own, has Bernstein's tail of ``e**-nats``."""
    return nats / 3 + math.sqrt(nats**2 / 9 + 2 * nats * variance)
