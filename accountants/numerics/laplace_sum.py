r"""Tails of weighted sums of independent Laplace noises: certified, at a cost that does not grow with their number.

For W a sum of m noises of scale a for each (m, a), and y > 0,

.. math:: P[W > y] = \frac1{2\pi} \int_{-\infty}^\infty \frac{e^{-zy}}z \prod_{(m, a)} (1 - a^2 z^2)^{-m}\, dt, \qquad
          z = \sigma + it,\ 0 < \sigma < \min \tfrac1a.

The trapezoidal rule has two errors, which are bounded and added. *Aliasing* is as in `trapezoid`, where A at an edge :math:`c` is
the integrand's modulus at c times :math:`\pi (1 + ac)/(a c)`, as :math:`|1 - a^2 z^2| \ge (1 - a^2 c^2) (1 + t^2
a^2/(1 + ac)^2)` and 1/|z| is at most 1/c. *Nodes left out* beyond T: the modulus falls at least like :math:`t^{-p}`, with p its
logarithmic slope at T, so they are at most the modulus at T times :math:`2/p`, and 1/|z| times t is at most 1.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.trapezoid import aliasing, widest_step
from ldpaudit.core.cached import cached

Noises: TypeAlias = tuple[tuple[int, Fraction], ...]  # (number of noises, scale) of each kind

_TOLERANCE = 2.0**-44  # relative error to aim at
_NATS = -math.log(_TOLERANCE)
_FEW = 64  # noises of one scale whose tail is summed term by term, in less time than the integral takes
_MOST_NODES = 1024  # nodes on one side; only a few noises of several scales need more, and then the result is wider


def upper_tail(noises: Noises, reach: Fraction) -> flint.arb:
    """P[W > reach] of the sum of all noises.

    Of relative width about 1e-13; the precision must exceed the bits of the numbers of noises by 64.
    """
    if reach == 0:
        return flint.arb(1) / 2
    if reach < 0:
        return 1 - upper_tail(noises, -reach)
    unit = max(scale for _, scale in noises)
    if len(noises) == 1 and noises[0][0] <= _FEW:
        return _of_few(noises[0][0], ball(reach / unit))
    return _Contour(tuple((count, scale / unit) for count, scale in noises), reach / unit).value()


def density(count: int, place: Fraction) -> flint.arb:
    r"""The density of a sum of n Laplace noises of scale 1, times a constant: :math:`|x|^\nu K_\nu(|x|)`, :math:`\nu = n - 1/2`.

    The precision must exceed the bits of n by 64. Source: the characteristic function :math:`(1 + t^2)^{-n}` and
    Basset's integral (NIST, 10.32.11).
    """
    order = flint.arb(count) - flint.arb(1) / 2
    if place == 0:
        return order.gamma() * flint.arb(2) ** (order - 1)
    x = abs(ball(place))
    return x**order * x.bessel_k(order)


def _of_few(n: int, y: flint.arb) -> flint.arb:
    r"""P[W > y] of n noises of scale 1, for y > 0, term by term.

    .. math:: e^{-y} \sum_{j < n} \binom{2n - 2 - j}{n - 1} 2^{j + 1 - 2n} \sum_{i \le j} \frac{y^i}{i!}

    The density of the difference of two Gamma(n) numbers, integrated by parts.
    """
    term = partial_sum = flint.arb(1)
    total = flint.arb(0)
    for j in range(n):
        total += partial_sum * math.comb(2 * n - 2 - j, n - 1) * flint.arb(2) ** (j + 1 - 2 * n)
        term *= y / (j + 1)
        partial_sum += term
    return total * (-y).exp()


@dataclass(frozen=True)
class _Contour:
    """The integral, in units of the largest scale."""

    noises: Noises
    reach: Fraction

    @cached
    def sigma(self) -> float:
        """Where the integrand on the real line is least."""
        from scipy.optimize import minimize_scalar  # here: it takes a while to import

        found = minimize_scalar(lambda x: self._height(1 / (1 + math.exp(x))), bounds=(-30.0, 60.0), method="bounded")
        return 1 / (1 + math.exp(float(found.x)))

    def _height(self, c: float) -> float:
        """Logarithm of the integrand on the real line, in floats."""
        falls = sum(count * math.log1p(-((c * float(scale)) ** 2)) for count, scale in self.noises) if c < 1 else -math.inf
        return -c * float(self.reach) - falls - math.log(c)

    @cached
    def _strip(self) -> tuple[float, float]:
        reach = min(self.sigma, 1 - self.sigma)
        return widest_step(self._height, self.sigma, reach, lambda grown: _NATS + grown + 4 - math.log(self.sigma))

    def _transform(self, z: flint.acb) -> flint.acb:
        product = flint.acb(1)
        for count, scale in self.noises:
            product /= (1 - (ball(scale) * z) ** 2) ** count
        return product

    def _moment(self, c: flint.arb) -> flint.arb:
        """The product of the transform and of e**(-reach c), on the real line."""
        return self._transform(flint.acb(c)).real * (-ball(self.reach) * c).exp()

    def value(self) -> flint.arb:
        """The probability."""
        h, sigma = (flint.arb(each) for each in (self._strip[0], self.sigma))
        scale = self._transform(flint.acb(sigma)).real
        # Of each pole of the transform: how often, the square of its scale, and of the scaled distance of the line from it.
        sides = [(count, ball(scale), 1 + sign * ball(scale) * self.sigma) for count, scale in self.noises for sign in (-1, 1)]
        poles = [(count, scale * scale, away * away) for count, scale, away in sides]
        total, index = 1 / sigma, 0
        while True:
            index += 1
            z = flint.acb(sigma, index * h)
            turned = self._transform(z) / scale
            total += 2 * (turned * flint.acb(0, -ball(self.reach) * z.imag).exp() / z).real
            rest = 2 * abs(turned) / _slope(poles, z.imag)
            if rest < h * abs(total) * _TOLERANCE or index == _MOST_NODES:
                break
        error = (rest + aliasing(self._at_edge, self.sigma, *self._strip, self._moment(sigma))).abs_upper()
        found = self._moment(sigma) * (h * total + between(-error, error)) / (2 * flint.arb.pi())
        return found.max(flint.arb(0)).min(flint.arb(1))

    def _at_edge(self, edge: flint.arb) -> flint.arb:
        """Bound of the integral of the integrand's modulus along an edge of the strip."""
        return self._moment(edge) * flint.arb.pi() * (1 + edge) / edge


def _slope(poles: list[tuple[int, flint.arb, flint.arb]], t: flint.arb) -> flint.arb:
    """Lower bound of how fast the transform's modulus falls with log t, from t on."""
    slope, square = flint.arb(0), t * t
    for count, scale, away in poles:
        part = scale * square
        slope += count * part / (away + part)
    return slope
