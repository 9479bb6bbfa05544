r"""The profile of any number of coordinates with Laplace noise: a contour integral, at a cost that does not grow with
them.

Under P the loss of a coordinate shifted by s scales (`laplace_vector`) has, with :math:`w = z + \tfrac12`, the
transform

.. math:: E_P\, e^{z \ell} = M_s(z) = C_s(z) + S_s(z), \qquad C_s(z) = e^{-s/2} \cosh(ws), \qquad
          S_s(z) = e^{-s/2}\, \frac{\sinh(ws)}{2w},

C from the coin on s and -s, S from the law in between. As :math:`1/(z(z+1))` is the Laplace transform of
:math:`(1 - e^{-x})_+`, for groups of D coordinates with a step s each

.. math:: \delta(\varepsilon) = \frac1{2\pi} \int_{-\infty}^\infty \frac{e^{-\varepsilon z}}{z(z+1)}
          \prod_{(D, s)} M_s(z)^D\, dt, \qquad z = \sigma + it,\ \sigma > 0.

Of one group the coins alone are a composition of randomized responses, whose delta is a difference of binomial tails
(Kairouz, Oh, Viswanath 2015); the integral is over :math:`M^D - C^D`, which falls like 1/t**3. The trapezoidal rule has
three errors, which are bounded and added:

- *aliasing*, as in `numerics.trapezoid`, with :math:`\int dt/|z(z+1)| \le \pi/\sqrt{\sigma(\sigma+1)}` by Cauchy and Schwarz;
- *gaps*: :math:`|C| = e^{-s/2} \sqrt{\sinh^2 cs + \cos^2 ts}` with :math:`c = \sigma + \tfrac12` is large only near the
  multiples of :math:`\pi/s`, the *echoes*, and :math:`|S(\sigma + it)| \le S(\sigma)`;
- *echoes left out*: there :math:`|C| \le e^{-s/2} \cosh cs` and :math:`|S| \le e^{-s/2} \cosh(cs)/(2t)`.

All positions are floats, which are exact numbers; they decide the width of the result, never its validity.

*Shifted very far.* Close to the largest loss there are too many echoes, and delta does not depend on the steps. Under P
the loss of a coordinate shifted by s scales is s with probability 1/2, and else 2e below s, or -s if that is less, with
e an exponential variable of mean 1. Let the losses fall to any depth, 2e below s: of N coordinates whose steps sum to
S,

.. math:: \delta(\varepsilon) \ge E\Bigl[\bigl(1 - e^{-2y + 2G_B}\bigr)_+\Bigr] = P[K > B'] = D_N(y), \qquad
          y = \frac{S - \varepsilon}2, \quad K \sim \mathrm{Poisson}(y),\ B \sim \mathrm{Bin}(N, \tfrac12),\
          B' \sim \mathrm{Bin}(N-1, \tfrac12)

with :math:`G_b` a sum of b exponential variables. The second equation: the Laplace transform of the first mean in x =
2y is :math:`\frac1{z(z+1)} \bigl(\frac{z+1}{2z+1}\bigr)^N`, whose residues at 0 and -1/2 are 1 and :math:`-P[K \le
B']`. One coordinate gives :math:`1 - e^{-y}` and two :math:`1 - (1 + y/2) e^{-y}`, as in `accountants.laplace`.

The two sides differ only where some e exceeds its s, of probability :math:`e^{-s}/2`. The left one counts nothing then
unless s < y, and is at most the delta :math:`\delta'` of the other coordinates at the sum of their steps less 2(y - s).
So, with a sum over the coordinates of a step s < y,

.. math:: \delta(\varepsilon) \le D_N(y) + \sum \tfrac12 e^{-s}\, \delta', \qquad
          \delta' = D_{N-1}(y - s) \text{ where } y - s \text{ is at most the least step, and } \delta' \le 1.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.positive_part import INVISIBLE
from ldpaudit.accountants.numerics.trapezoid import aliasing, widest_step
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_bits

Groups: TypeAlias = tuple[tuple[int, Fraction], ...]  # (number of coordinates, step) of each group

_TOLERANCE = 2.0**-36
"""Relative error to aim at, of each kind; with 2**-44 a query of 1e5 coordinates takes five times as long."""
_NATS = -math.log(_TOLERANCE)
_MARGIN = 12.0  # nats added to those that the gaps fall by, for what the bound of a sum is larger than its largest term
_MOST_ECHOES = 128
"""Pairs of echoes that are summed, at some 30 nodes each: a fifth of a second; beyond, the result is wider."""
_MOST_NODES = 1 << 15  # nodes that are summed: a second; one window needs more only next to the pole at 0
_NOTHING = 2.0**-40  # distance from 1 that is not told apart: less than `_TOLERANCE`
_SLACK = 1e-6  # relative allowance for the rounding of a window's ends
_NEARLY_ALL = 1 - 1e-5
"""Squared sine from which on a window is half a period: more than rounding tells windows without gaps apart."""
_MOST_FAR = 1 << 13  # most coordinates shifted far whose probabilities are summed, one by one: some 20 milliseconds
_NOT_SEEN = 2.0**-40  # relative width that counts as none; less than the relative error of the integral, 2**-36
_RANGE = (-12.0, 60.0)  # logarithms of sigma between which the saddle point is searched


def delta(groups: Groups, epsilon: Fraction) -> flint.arb:
    """Enclose delta(epsilon) of groups of coordinates; relative width about 1e-11, more for a few hundred coordinates.

    From 0 where delta is below every positive float. The precision must exceed the bits of the numbers of coordinates
    by 64.
    """
    if (far := delta_of_far(groups, epsilon)) is not None:
        return far
    least = floor(groups, epsilon)
    if least > 1 - _NOTHING:
        return between(least, flint.arb(1))
    contour = _Contour(groups, epsilon)
    ceiling = contour.ceiling()
    if ceiling < INVISIBLE:
        return between(0, ceiling)
    if contour.is_blind:
        return between(least.max(flint.arb(0)), ceiling.min(flint.arb(1)))
    found = contour.value()
    if len(groups) == 1:
        found += coins(*groups[0], epsilon)
    return found.max(flint.arb(0)).min(flint.arb(1)) if found.is_finite() else between(0, ceiling.min(flint.arb(1)))


def estimate(groups: Groups, epsilon: Fraction) -> flint.arb:
    """About delta(epsilon), without the echoes: for a search; 0 where it is below every float."""
    if (far := delta_of_far(groups, epsilon)) is not None:
        return far
    contour = _Contour(groups, epsilon)
    if (ceiling := contour.ceiling()) < INVISIBLE:
        return flint.arb(0)
    if contour.is_blind:
        return ceiling
    found = contour.near()
    return found + coins(*groups[0], epsilon) if len(groups) == 1 else found


def floor(groups: Groups, epsilon: Fraction) -> flint.arb:
    r"""Lower bound of delta(epsilon), which may be negative; close to 1 where epsilon is far below the mean loss.

    .. math:: \delta(\varepsilon) = 1 - E_P[\min(1, e^{\varepsilon - L})] \ge 1 - e^{\varepsilon/2} E_P[e^{-L/2}]
              = 1 - e^{\varepsilon/2} \prod_{(D, s)} \bigl(e^{-s/2} (1 + s/2)\bigr)^D
    """
    logs = ((ball(step / 2).log1p() - ball(step / 2)) * count for count, step in groups)
    return -sum(logs, ball(epsilon / 2)).expm1()


def coins(count: int, step: Fraction, epsilon: Fraction) -> flint.arb:
    r"""The part of delta(epsilon) that is due to views in which every loss is s or -s.

    .. math:: \Bigl(\tfrac{1 + e^{-s}}2\Bigr)^D \bigl(P[K \ge k] - e^\varepsilon Q[K \ge k]\bigr), \qquad
              k = \min\{j : (2j - D) s > \varepsilon\}

    with K ~ Bin(D, 1/(1 + e**-s)) under P, and with the complement under Q.
    """
    least = math.floor((epsilon / step + count) / 2) + 1
    if least > count:
        return flint.arb(0)
    share = ((1 + (-ball(step)).exp()) / 2) ** count
    if share < INVISIBLE:
        return between(0, share)
    lie = (-ball(step)).exp() / (1 + (-ball(step)).exp())
    tails = [binomial_upper(count, p, least, q) for p, q in ((1 - lie, lie), (lie, 1 - lie))]
    return share * (tails[0] - ball(epsilon).exp() * tails[1])


@dataclass(frozen=True)
class _Contour:
    """The integral; of one group, without its coins."""

    groups: Groups
    epsilon: Fraction

    @cached
    def sigma(self) -> float:
        """Where the integrand on the real line is least."""
        from scipy.optimize import minimize_scalar  # here: it takes a while to import

        found = minimize_scalar(lambda x: self._height(math.exp(x)), bounds=_RANGE, method="bounded")
        return math.exp(float(found.x))

    def _height(self, sigma: float) -> float:
        """Logarithm of the integrand on the real line, in floats."""
        w = sigma + 0.5
        total = -sigma * float(self.epsilon) - math.log(sigma) - math.log1p(sigma)
        for count, step in self.groups:
            s = float(step)
            beyond = -math.expm1(-2 * w * s)
            total += count * (sigma * s + math.log1p(-beyond / 2 + beyond / (4 * w)))
        return total

    @cached
    def _strip(self) -> tuple[float, float]:
        # The integral is about the integrand's height times its width, which is 1/sigma or less.
        least = math.log1p(self.sigma)
        return widest_step(self._height, self.sigma, self.sigma, lambda grown: _NATS + grown + 2 * least + 4)

    @cached
    def _leading(self) -> tuple[int, Fraction]:
        """The group whose echoes are followed: the one of largest variance."""
        return max(self.groups, key=lambda group: group[0] * group[1] ** 2)

    @cached
    def _window(self) -> float:
        """Distance from an echo beyond which the leading group's transform is negligible; half an echo's period if none is."""
        count, step = self._leading
        s, c = float(step), self.sigma + 0.5
        if c * s > 300:
            return math.pi / 2 / s
        rest = math.tanh(c * s) / (2 * c)
        fall = -math.expm1(-(_NATS + _MARGIN + 2 * math.log1p(self.sigma)) / count) * (1 + rest)
        # 1 - sin**2/cosh**2 is the square of 1 - fall
        square = fall * (2 - fall) * math.cosh(c * s) ** 2 if fall < 1 else 1.0
        return math.asin(math.sqrt(square)) / s if square < _NEARLY_ALL else math.pi / 2 / s

    @property
    def _is_covered(self) -> bool:
        """Whether the windows leave no gaps."""
        return self._window * float(self._leading[1]) >= math.pi / 2 * (1 - 2 * _SLACK)

    def _transforms(self, t: flint.arb, sigma: flint.arb) -> Iterator[tuple[int, flint.acb, flint.acb]]:
        """Of each group its number, C and M."""
        w = flint.acb(sigma + flint.arb(1) / 2, t)
        for count, step in self.groups:
            s = ball(step)
            grown, least = (w * s).exp(), (-s / 2).exp()
            coin = least * (grown + 1 / grown) / 2
            yield count, coin, coin + least * (grown - 1 / grown) / (4 * w)

    def _moment(self, sigma: flint.arb) -> flint.arb:
        """The product of the transforms and of e**(-epsilon sigma), on the real line."""
        product = (-ball(self.epsilon) * sigma).exp()
        for count, _, both in self._transforms(flint.arb(0), sigma):
            product *= both.real**count
        return product

    @cached
    def _scales(self) -> tuple[flint.arb, ...]:
        return tuple(both.real for *_, both in self._transforms(flint.arb(0), flint.arb(self.sigma)))

    def ceiling(self) -> flint.arb:
        """Upper bound: the contour's value at the saddle point times its length; Cauchy and Schwarz."""
        s = flint.arb(self.sigma)
        return (self._moment(s) / (2 * (s * (s + 1)).sqrt())).abs_upper()

    @property
    def is_blind(self) -> bool:
        """Whether the nodes, which take long, say nothing: too many, or the echoes left out may be more than the ceiling."""
        s = flint.arb(self.sigma)
        return self._window > _MOST_NODES * self._strip[0] or not self._beyond(_MOST_ECHOES) < flint.arb.pi() / (s * (s + 1)).sqrt()

    def _node(self, index: int) -> flint.arb:
        """Real part of the integrand at a node, per `_moment`."""
        t, sigma = index * flint.arb(self._strip[0]), flint.arb(self.sigma)
        alone = len(self.groups) == 1
        product, without = flint.acb(1), flint.acb(0)
        for scale, (count, coin, both) in zip(self._scales, self._transforms(t, sigma), strict=True):
            product *= (both / scale) ** count
            without = (coin / scale) ** count if alone else without
        z = flint.acb(sigma, t)
        return ((product - without) * flint.acb(0, -ball(self.epsilon) * t).exp() / (z * (z + 1))).real

    def _ends(self, echo: int) -> tuple[int, int]:
        h, place = self._strip[0], math.pi * echo / float(self._leading[1])
        return math.ceil((place - self._window) / h), math.floor((place + self._window) / h)

    def value(self) -> flint.arb:
        """The integral."""
        total = self._sum(0)
        allowed, needed = float(total.abs_upper()) * _TOLERANCE, 0
        while needed < _MOST_ECHOES and not self._beyond(needed) < allowed:  # to the least power of two that is enough
            needed = max(1, 2 * needed)
        for echo in range(1, needed + 1):
            total += self._sum(echo)
        sigma = self.sigma
        aliased = aliasing(self._at_edge, sigma, *self._strip, self._moment(flint.arb(sigma)))
        error = (aliased + self._gaps() + self._beyond(needed)).abs_upper()
        return self._unit() * (total + between(-error, error))

    def near(self) -> flint.arb:
        """The integral near the real line."""
        return self._unit() * self._sum(0)

    def _unit(self) -> flint.arb:
        return self._moment(flint.arb(self.sigma)) / (2 * flint.arb.pi())

    def _sum(self, echo: int) -> flint.arb:
        """h times the nodes of one echo and their conjugates."""
        total = flint.arb(0) if echo else self._node(0)
        after = self._ends(echo - 1)[1] if echo else 0
        first, last = self._ends(echo)
        # Beyond the window before; where windows leave no gaps, no node may fall between the rounded ends of two.
        for index in range(after + 1 if self._is_covered else max(after + 1, first), last + 1):
            total += 2 * self._node(index)
        return flint.arb(self._strip[0]) * total

    def _at_edge(self, edge: flint.arb) -> flint.arb:
        """Bound of the integral of the integrand's modulus along an edge of the strip."""
        return self._moment(edge) * flint.arb.pi() / (edge * (edge + 1)).sqrt()

    def _gaps(self) -> flint.arb:
        """Upper bound of all nodes outside windows, per `_moment`: a sum of h/t**2 from the first one's end on."""
        if self._is_covered:
            return flint.arb(0)
        count, step = self._leading
        s, c, edge = ball(step), flint.arb(self.sigma) + flint.arb(1) / 2, flint.arb(self._window) * (1 - _SLACK)
        between_two = ((c * s).sinh() / (2 * c) + ((c * s).sinh() ** 2 + (edge * s).cos() ** 2).sqrt()) * (-s / 2).exp()
        scale = self._scales[self.groups.index(self._leading)]
        nearest = edge - self._strip[0]
        return 2 * (between_two / scale) ** count / nearest if nearest > 0 else flint.arb(math.inf)

    def _beyond(self, echoes: int) -> flint.arb:
        r"""Upper bound of the nodes in all further windows, per `_moment`.

        Window k begins at :math:`\tfrac\pi s (k - \tfrac12)` or later; for K >= 1 the sum over k > K of :math:`(k -
        \tfrac12)^{-p}` is at most :math:`K^{1-p}/(p-1)`, as the function is convex.
        """
        period = flint.arb.pi() / ball(self._leading[1])
        start = period * (echoes + flint.arb(1) / 2) * (1 - _SLACK)
        c, alone = flint.arb(self.sigma) + flint.arb(1) / 2, len(self.groups) == 1
        height = flint.arb(1)
        for scale, (count, step) in zip(self._scales, self.groups, strict=True):
            largest = (c * ball(step)).cosh() * (-ball(step) / 2).exp() / scale
            height *= (largest * (1 + 1 / (2 * start))) ** count
            # |M**D - C**D| is at most D |S| (|C| + |S|)**(D-1)
            height *= flint.arb(count) / (2 * period) if alone else 1
        power = 3 if alone else 2
        tail = {2: flint.arb(5), 3: flint.arb(9)}[power] if not echoes else flint.arb(echoes) ** (1 - power) / (power - 1)
        width = 2 * flint.arb(self._window) * (1 + _SLACK) + 2 * flint.arb(self._strip[0])
        return 2 * width * height * tail / period**2 * (1 + 4 * _SLACK)


def delta_of_far(groups: Groups, epsilon: Fraction) -> flint.arb | None:
    """Delta(epsilon) of groups of coordinates; None where it is not known to a relative 2**-40, or they are too many.

    Epsilon is at most the sum of all steps.
    """
    count = sum(number for number, _ in groups)
    if count > _MOST_FAR:
        return None
    y = (sum((number * step for number, step in groups), Fraction(0)) - epsilon) / 2
    rest, least = flint.arb(0), min(step for _, step in groups)
    for number, step in groups:  # what the losses that end at the opposite of a step add
        if step < y:
            others = poisson_exceeds_coins(ball(y - step), count - 2) if count > 1 and y - step <= least else flint.arb(1)
            rest += number * (-ball(step)).exp() / 2 * others
    if rest > _NOT_SEEN:
        return None
    found = poisson_exceeds_coins(ball(y), count - 1)
    return between(found, (found + rest).min(flint.arb(1))) if rest <= found * _NOT_SEEN else None


def poisson_exceeds_coins(mean: flint.arb, coins: int) -> flint.arb:
    """P[K > B], K of a Poisson law and B heads of fair coins: a sum over B of positive terms."""
    masses = [(-mean).exp()]
    for k in range(1, coins + 1):
        masses.append(masses[-1] * mean / k)
    tail, chance, total = _beyond(masses, mean), flint.arb(2) ** -coins, flint.arb(0)
    for heads in range(coins, -1, -1):
        total += chance * tail
        tail += masses[heads]
        chance = chance * heads / (coins - heads + 1)
    return total


def _beyond(masses: list[flint.arb], mean: flint.arb) -> flint.arb:
    """Probability of more events than the masses are given for."""
    following = masses[-1] * mean / len(masses)
    if not mean < len(masses):
        return 1 - sum(masses, flint.arb(0))
    total, k = flint.arb(0), len(masses)
    while True:
        total, k = total + following, k + 1
        following *= mean / k
        rest = following / (1 - mean / (k + 1))  # the ratios fall
        if rest < total * flint.arb(2) ** -working_bits():
            return total + between(0, rest)
