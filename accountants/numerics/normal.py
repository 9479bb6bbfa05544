r"""Normal and discrete normal laws, in balls.

Sums over integers from t on of :math:`f(x) = e^{-x^2/(2V)}` are taken term by term where these are few, else by the formula of
Euler and Maclaurin from :math:`a = t - 1/2`, in units :math:`u = a/\sqrt V`:

.. math:: \sum_{x \ge t} f(x) = \int_a^\infty f + \tfrac{1}{24} f'(a) - \tfrac{7}{5760} f'''(a) + \tfrac{31}{967680} f^{(5)}(a) + R,
          \qquad |R| \le \frac{|B_6|}{6!} \int_a^\infty |f^{(6)}|, \qquad f^{(n)} = (-1)^n V^{-n/2} He_n(u) f

Beyond :math:`u \ge 0` the distance to u is stochastically less than the modulus of a normal number, whose sixth moment is 15:
with :math:`w = u + 15^{1/6}`, :math:`\int |f^{(6)}| \le V^{-3} (w^6 + 15 w^4 + 45 w^2 + 15) \int f`.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.log_concave import series_factor
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.core.working_precision import working_bits, working_precision

_TERMS = 1 << 12  # terms of a sum up to which it is summed, in about 3 ms


def theta(variance: Fraction) -> flint.arb:
    """Sum of ``e**(-x**2 / (2 variance))`` over all integers; by Poisson's formula where the terms fall slowly."""
    turned = 2 * flint.arb.pi() ** 2 * ball(variance)
    if turned > flint.arb.pi():
        return (2 * flint.arb.pi() * ball(variance)).sqrt() * _theta(turned)
    return _theta(1 / (2 * ball(variance)))


def theta_ratio(variance: Fraction, shift: Fraction) -> flint.arb:
    """Sum of ``e**(-(x - shift)**2 / (2 variance))`` over all integers, over that without the shift; at most 1."""
    near = abs(shift - round(shift))  # at most 1/2
    turned = 2 * flint.arb.pi() ** 2 * ball(variance)
    if turned > flint.arb.pi():
        angle = 2 * ball(near)
        found = _theta(turned, lambda k: (k * angle).cos_pi()) / _theta(turned)
    else:
        rate = 1 / (2 * ball(variance))
        own = (-rate * ball(near) ** 2).exp()
        found = own * _theta(rate, lambda k: (2 * k * rate * ball(near)).cosh()) / _theta(rate)
    return found.min(flint.arb(1))


def _theta(rate: flint.arb, weight: Callable[[int], flint.arb] = lambda _: flint.arb(1)) -> flint.arb:
    """Sum of ``e**(-rate k**2)`` over all integers, for a rate of at least 1.5, with even weights within ``cosh(rate k)``."""
    total, k = flint.arb(1), 1
    while (term := 2 * (-rate * k * (k - 1)).exp()) > flint.arb(2) ** -working_bits():
        total, k = total + 2 * (-rate * k * k).exp() * weight(k), k + 1
    return total + between(-2 * term, 2 * term)


def upper_factor(start: int, variance: Fraction) -> flint.arb:
    """Sum of ``e**(-x**2 / (2 variance))`` over integers from `start` on, over its first term; for ``start >= 1``."""
    nats = 2 * working_bits()
    spread = float(variance)
    if math.hypot(start, math.sqrt(nats * spread)) - start <= _TERMS:
        rate, half = -1 / ball(variance), -1 / (2 * ball(variance))
        return series_factor(lambda j: (rate * (start + j) + half).exp(), 1 << 62)
    with working_precision(working_bits() + 2 * (start * start // int(variance)).bit_length()):
        a, s = flint.arb(start) - flint.arb(1) / 2, ball(variance).sqrt()
        u = a / s
        at = (ball((start - Fraction(1, 4)) / (2 * variance))).exp()  # f(a) / f(start)
        area = at * (u * u / 2).exp() * (u / flint.arb(2).sqrt()).erfc() * s * (flint.arb.pi() / 2).sqrt()
        steps = -u / (24 * s) + 7 * (u**3 - 3 * u) / (5760 * s**3) - 31 * (u**5 - 10 * u**3 + 15 * u) / (967680 * s**5)
        w = u + flint.arb(15).root(6)
        rest = area * (w**6 + 15 * w**4 + 45 * w**2 + 15) / (42 * 720 * s**6)
        return area + at * steps + rest.union(-rest)


def divergence(distance_squared: Fraction, epsilon: Fraction) -> flint.arb:
    r"""Hockey-stick divergence of two normal laws of variance 1 at a distance m.

    .. math:: \Phi(m/2 - \varepsilon/m) - e^\varepsilon \Phi(-m/2 - \varepsilon/m)

    Of relative accuracy 2**-100 or so, however far out.
    """
    ahead = abs(int(epsilon * epsilon / distance_squared)).bit_length()
    near = int(1 / distance_squared).bit_length()
    with working_precision(160 + 2 * ahead + near):
        m, e, root = ball(distance_squared).sqrt(), ball(epsilon), flint.arb(2).sqrt()
        return (((e / m - m / 2) / root).erfc() - e.exp() * ((e / m + m / 2) / root).erfc()) / 2


def about_epsilon(distance_squared: Fraction, delta: Fraction) -> float:
    """Float estimate of the epsilon at which that divergence is delta, in (0, 1); above 0. Too small beyond 1e150 deviations."""
    from scipy.special import log_ndtr  # here: it takes a while to import

    m, goal = math.sqrt(min(distance_squared, Fraction(10**300))), log(delta)

    def depth(epsilon: float) -> float:
        far, farther = float(log_ndtr(m / 2 - epsilon / m)), float(log_ndtr(-m / 2 - epsilon / m))
        kept = -math.expm1(min(epsilon + farther - far, -1e-300))
        return far + math.log(kept)

    low, high = 0.0, m * m + m
    while depth(high) > goal:
        low, high = high, 2 * high
    return bisect(lambda epsilon: depth(epsilon) > goal, low, high, 40)
