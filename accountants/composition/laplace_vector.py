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
terms left out.

E further coordinates, shifted by 2s, have a coin on 2 and -2 and a uniform law between them, whose mass is s times the
coin's. In units of s their ends are whole numbers too, so with S = D + 2E in the place of D in the exponent and in
:math:`F_c`, :math:`2^{-D-E}`, and the coefficient of :math:`t^c` in

.. math:: \bigl((1+z) + t(z-1)\bigr)^D \bigl((1+z^2) + t(z^2-1)\bigr)^E

in the place of :math:`\binom Dc K_c`, the formula holds for all of them together; the coefficient of :math:`t^c` in
:math:`(1+t)^D (1+2t)^E` takes the place of :math:`\binom Dc` in the bound. Its ratios fall, as the roots are real
(Newton).

The cost of the sum grows with D and D s; where these are large, the integral of `laplace_contour` is taken instead.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial

import flint

from ldpaudit.accountants.composition import laplace_contour
from ldpaudit.accountants.composition.laplace_contour import Groups
from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.numerics.search import step_down, step_up
from ldpaudit.accountants.pld.profiles import Bracket, OnePairProfile
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.enclosure import Enclosure, Rigour, dyadic, round_up
from ldpaudit.profile import Number, PrivacyProfile

_NEGLIGIBLE = 2.0**-64  # relative size of the terms left out, eleven bits below a float
_NARROW, _NARROWED = 1e-9, 0.1
"""Relative width up to which an epsilon is called exact; and to which it is bisected where the float root is no help, which
takes a second for each step where shifts are many scales."""
_FIRST_WIDTH = 2.0**-48
"""Relative distance of the first certified points from the float root; 2**-44 gives 1e-13 instead of 7e-15."""
_MANY, _MOST_WORK = 640, 6000
"""Coordinates, and their number times the largest loss in nats, beyond which the integral is taken: the sum takes a hundredth of a
second for 600 coordinates and s below 1/100, a fortieth for s = 1/20, and 7 seconds once for 2,000 and s = 1/5; the integral
takes a third of a second at most."""
_FEW, _FEW_WORK = 64, 20_000
"""The same for few coordinates: 24 of s = 15 take two milliseconds by the sum, and half a second by the integral."""
MANY_GROUPED = 2_000
"""Coordinates beyond which groups of different steps are told apart: below, `LaplaceGroups` is slow and wide."""
_INTEGRAL_BITS = 192  # of the integral, whose width is that of its errors; enough for 2**128 coordinates
_NEAR_INTEGRAL = 2.0**-32  # as `_FIRST_WIDTH`, for the integral
_NEAR = 1e-4  # relative distance at which a slope is estimated
_NO_WIDTH = 0.1
"""Nats in place of the width where delta may be below every float: there floats are one part in a few apart."""
_CLEARLY = 1.0  # nats that the estimate must exceed delta by at epsilon = 0 for the certified value not to be looked at
_FAR = -800.0  # below -745, the logarithm of the smallest positive float


class LaplaceShifts(OnePairProfile):
    """Profile of coordinates with independent Laplace noise, each of which is shifted."""

    level: Rigour = Rigour.EXACT  # EXACT where the shifts are attained

    @property
    @abstractmethod
    def groups(self) -> Groups:
        """Numbers of coordinates, and by how many scales each of them is shifted."""

    @property
    def is_attained(self) -> bool:
        """Whether two inputs are apart by all these shifts, and no two by more."""
        return self.level == Rigour.EXACT


@dataclass(frozen=True)
class LaplaceCoordinates(LaplaceShifts):
    """Profile of `count` coordinates with independent Laplace noise, each shifted by `step` scales, and `doubled` by twice as much.

    The formula is in the module docstring. Tight for noise on real numbers: attained on the event {loss > epsilon}; at
    the largest loss, `pure`, the event is that every noisy coordinate lies beyond its shift.
    """

    count: int  # D, at least 1, or 0 where there are doubled ones
    step: Fraction  # s, above 0
    source: str  # what the numbers rest on
    level: Rigour = Rigour.EXACT  # EXACT where the shifts are attained
    doubled: int = 0  # E, at least 0

    @property
    def pure(self) -> Fraction:
        """The largest loss."""
        return (self.count + 2 * self.doubled) * self.step

    def delta(self, epsilon: Number) -> Enclosure:
        """Two or three neighbouring floats wide where the sum is taken, else 1e-9 or less of delta; see `laplace_contour`."""
        if epsilon >= self.pure:
            return Enclosure.of(0, rigour=self.level, source=self.source)
        if self._is_few:
            exact = Fraction(epsilon)
            return narrow(lambda: _delta(self, exact), self.source, self.level).clamp(0.0, 1.0)
        return LaplaceGroups(self.groups, self.source, self.level).delta(epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search, certified at both ends; relative width below 1e-9, except where epsilon is nearly 0."""
        return _inverse(self, delta)

    @property
    def first_width(self) -> float:
        """Relative distance of the first certified points from the float root."""
        return _FIRST_WIDTH if self._is_few else _NEAR_INTEGRAL

    @property
    def groups(self) -> Groups:
        """See `LaplaceShifts`."""
        return tuple((n, step) for n, step in ((self.count, self.step), (self.doubled, 2 * self.step)) if n)

    @property
    def _is_few(self) -> bool:
        whole = self.count + 2 * self.doubled
        return whole <= _MANY and whole * self.pure <= (_FEW_WORK if whole <= _FEW else _MOST_WORK)

    def estimate(self, epsilon: Fraction) -> flint.arb:
        """About delta, at the current precision."""
        return _delta(self, epsilon) if self._is_few else laplace_contour.estimate(self.groups, epsilon)


@dataclass(frozen=True)
class LaplaceGroups(LaplaceShifts):
    """Profile of several groups of coordinates with independent Laplace noise, by the integral of `laplace_contour`."""

    listed: Groups  # numbers of coordinates, at least 1, and steps, above 0 and all different
    source: str  # as for `LaplaceCoordinates`
    level: Rigour = Rigour.EXACT

    @property
    def groups(self) -> Groups:
        """See `LaplaceShifts`."""
        return self.listed

    @property
    def pure(self) -> Fraction:
        """The largest loss."""
        return sum((count * step for count, step in self.listed), Fraction(0))

    def delta(self, epsilon: Number) -> Enclosure:
        """Narrow where the coordinates are ten thousands, or the largest loss many nats; else up to 1e-3 of delta wide."""
        if epsilon >= self.pure:
            return Enclosure.of(0, rigour=self.level, source=self.source)
        groups, exact = self.listed, Fraction(epsilon)
        return narrow(
            lambda: laplace_contour.delta(groups, exact), self.source, self.level, _INTEGRAL_BITS, most=_INTEGRAL_BITS
        ).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By a search, certified at both ends."""
        return _inverse(self, delta)

    first_width = _NEAR_INTEGRAL

    def estimate(self, epsilon: Fraction) -> flint.arb:
        """About delta, at the current precision."""
        return laplace_contour.estimate(self.listed, epsilon)


def together(groups: Groups, source: str) -> PrivacyProfile | None:
    """Profile of all these shifted coordinates, whatever their order; None where no form of it is quick."""
    counts: Counter[Fraction] = Counter()
    for count, step in groups:
        counts[step] += count
    (least, count), *more = sorted(counts.items()) or [(Fraction(1), 0)]
    if not more:
        return LaplaceCoordinates(count, least, source)
    if len(more) == 1 and more[0][0] == 2 * least:
        return LaplaceCoordinates(count, least, source, doubled=more[0][1])
    many = counts.total() >= MANY_GROUPED
    return LaplaceGroups(tuple((n, step) for step, n in counts.items()), source) if many else None


def coordinates(count: int, apart: int, rows: int, scale: Fraction, source: str) -> PrivacyProfile:
    r"""Profile of `count` coordinates shifted by :math:`apart/(b \sqrt m)` scales each; enclosed where the root is irrational."""
    low, high = step_between(apart, rows, scale)
    if low == high:
        return LaplaceCoordinates(count, low, source)
    return Bracket(*(LaplaceCoordinates(count, end, source, Rigour.INTERVAL) for end in (low, high)))


def step_between(apart: int, rows: int, scale: Fraction) -> tuple[Fraction, Fraction]:
    r"""Numbers that :math:`apart/(b \sqrt m)` lies between; equal where the root is rational."""
    root = math.isqrt(rows)
    if root * root == rows:
        return (Fraction(apart, root) / scale,) * 2
    with working_precision(_INTEGRAL_BITS):
        step = ball(apart / scale) / flint.arb(rows).sqrt()
        return dyadic(step.lower()), dyadic(step.upper())


@lru_cache(maxsize=64)
def _inverse(profile: LaplaceCoordinates | LaplaceGroups, delta: Number) -> Enclosure:
    """The epsilon at which delta is reached."""
    if delta == 0:
        return Enclosure.of(profile.pure, rigour=profile.level, source=profile.source)
    target, most, certified = log(delta), round_up(profile.pure), cache(profile.delta)
    estimate = cache(partial(_log, profile))
    if estimate(0.0) < target + _CLEARLY and certified(0.0).high <= delta:
        return Enclosure(0.0, 0.0, profile.level, profile.source)
    root = _root(estimate, target, most)
    there, near = certified(root), root * (1 + _NEAR)
    slope = (estimate(root) - estimate(near)) / (near - root) if root else 0.0
    gap = (root or most) * profile.first_width
    if slope > 0:  # the distance at which delta changes by twice the width of what is known of it there
        gap = max(gap, 2 * (math.log(there.high / there.low) if there.low > 0 else _NO_WIDTH) / slope)
    # The estimate leaves something out, which hardly changes until the root that is corrected by it.
    if there.low > 0:
        root = _root(estimate, target + estimate(root) - math.log(there.low), most)
    high = step_up(lambda e: certified(e).high <= delta, root, gap, most)
    low = step_down(lambda e: certified(e).low >= delta, high, root, gap)
    # Near delta = 1 the estimate's logarithm is nearly flat, and its root may be anywhere.
    while high - low > _NARROWED * high:
        middle = (low + high) / 2
        found = certified(middle)
        if found.high <= delta:
            high = middle
        elif found.low >= delta:
            low = middle
        else:
            break
    return Enclosure(low, high, profile.level, profile.source)


def _root(estimate: Callable[[float], float], target: float, most: float) -> float:
    """Float estimate of the epsilon at which the estimate's logarithm is the target; 0 where it is smaller everywhere."""
    from scipy.optimize import brentq  # here: it takes a while to import

    if estimate(0.0) <= target:
        return 0.0
    return float(brentq(lambda e: estimate(e) - max(target, _FAR), 0.0, most, xtol=1e-300, rtol=1e-14))


def _log(profile: LaplaceCoordinates | LaplaceGroups, epsilon: float) -> float:
    if epsilon >= profile.pure:
        return _FAR
    with working_precision(_INTEGRAL_BITS):
        value = profile.estimate(Fraction(epsilon))
        return max(_FAR, float(value.log())) if value > 0 else _FAR


def _delta(profile: LaplaceCoordinates, epsilon: Fraction) -> flint.arb:
    step, whole = profile.step, profile.count + 2 * profile.doubled
    kept, size = _kept(profile.count, profile.doubled, step)
    place, half, scale = epsilon / step, ball(step / 2), ball(step)
    shifts = range(whole, math.floor((whole + place) / 2), -1)
    values = [_antiderivatives(kept, ball(2 * a - whole - place), scale) for a in shifts]
    total = first = flint.arb(0)
    for c in range(kept + 1):
        weights = _weights(profile.count, profile.doubled, c)
        term = half**c * sum((weights[a] * each[c] for a, each in zip(shifts, values, strict=True)), flint.arb(0))
        total += term
        first = first if c else term
    total += between(0, first * ball(size))
    return total / flint.arb(2) ** (profile.count + profile.doubled) * (ball(epsilon - profile.pure) / 2).exp()


@lru_cache(maxsize=64)
def _kept(count: int, doubled: int, step: Fraction) -> tuple[int, Fraction]:
    """The last c whose term is summed, and a bound of the terms left out, over term 0."""
    sizes = _sizes(count, doubled)
    bound = Fraction(1)
    for c in range(sizes.degree()):
        ratio = step / 2 * Fraction(int(sizes[c + 1]), int(sizes[c]))
        bound *= ratio
        # The ratios of the terms' bounds fall.
        if ratio < 1 and bound < _NEGLIGIBLE * (1 - ratio):
            return c, Fraction(round_up(bound / (1 - ratio)))
    return sizes.degree(), Fraction(0)


@lru_cache(maxsize=256)
def _sizes(count: int, doubled: int) -> flint.fmpz_poly:
    """In t: by how much at most the masses of uniform laws exceed those of coins, in powers of s/2."""
    return flint.fmpz_poly([1, 1]) ** count * flint.fmpz_poly([1, 2]) ** doubled


@lru_cache(maxsize=1024)
def _weights(count: int, doubled: int, c: int) -> flint.fmpz_poly:
    """In z, the coefficient of t**c of the module docstring's product."""
    return sum((_chosen(count, 1, c - j) * _chosen(doubled, 2, j) for j in range(min(c, doubled) + 1)), flint.fmpz_poly())


@lru_cache(maxsize=1024)
def _chosen(count: int, step: int, c: int) -> flint.fmpz_poly:
    """The same for coordinates of one kind."""
    if c > count:
        return flint.fmpz_poly()
    one = flint.fmpz_poly([0] * step + [1])
    return math.comb(count, c) * (one + 1) ** (count - c) * (one - 1) ** c


def _antiderivatives(most: int, y: flint.arb, s: flint.arb) -> list[flint.arb]:
    """F_0(y), ..., F_most(y) for y > 0: the last two by their series, the others by sums of positive terms.

    F_c without its first term is (s/2)**2 F_(c+2).
    """
    found = [_antiderivative(most + 1, y, s), _antiderivative(most, y, s)]
    square = s * s / 4
    leading = s * y ** (most + 1) / math.factorial(most + 1)
    for c in range(most, 0, -1):
        leading *= c + 1
        leading /= y
        found.append(leading + square * found[-2])
    return found[:0:-1]


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
