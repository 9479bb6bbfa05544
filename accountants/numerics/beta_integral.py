r"""Binomial tails near the mode of a wide law, at a cost that does not grow with n.

A tail is an incomplete beta integral. Around x = p, in units of the law's standard deviation over n,

.. math:: P[X \ge k] = \frac{k\,w}{p} P[X = k] \int_0^{p/w}
          \Bigl(1 - \frac{w u}{p}\Bigr)^{k-1} \Bigl(1 + \frac{w u}{1-p}\Bigr)^{n-k} du,
          \qquad w = \sqrt{p(1-p)/n}

the integrand is :math:`e^{\varphi(u)}` with :math:`\varphi` concave, and nearly a normal density: :math:`\varphi` is
enclosed by a polynomial of low degree plus an error ball, and Arb integrates its exponential rigorously.

Source: DLMF 8.17.5 (a binomial tail is a regularized incomplete beta function).
"""

from __future__ import annotations

import math

import flint

from ldpaudit.accountants.numerics.balls import between
from ldpaudit.core.working_precision import working_bits, working_precision

_GUARD = 16
"""Bits beyond the precision at which the window ends: the density there is below ``2**-(prec + 32)``, and what lies
beyond is enclosed anyway. With 8 or 32 bits neither time nor width of a tail changes."""
_NEAR = 0.03
"""Standard deviations from the mean per bit of precision, up to which the integral is the quicker method: with 0.06
tails at n = 1e9, four to eight standard deviations out, take 1.8 times as long, with 0.12 those at twelve and more,
too."""
_WIDE = 200
"""Least standard deviation for which the integral is used; with 50 or 800 the time at n = 1e4 to 1e9 changes by less
than a third."""
_NARROW = 0.25
"""Largest relative step in p or 1 - p across the window, so that the polynomial's terms fall by this factor at least:
about half a term per bit is needed. With 0.1 or 0.5 the time at n = 1e4 to 1e9 changes by less than a third."""


def near_the_mode(rarer: float, sigma: float, beyond: float) -> bool:
    """Whether the integral is the quicker method for a tail that starts `beyond` the mean, and its window lies within the law.

    `rarer` is the smaller of the mean numbers of heads and of tails.
    """
    near = sigma > _WIDE and abs(beyond) < _NEAR * working_bits() * sigma
    return near and _reach() * sigma < _NARROW * rarer


def _reach() -> float:
    """Standard deviations beyond which a normal density is negligible at this precision."""
    return math.sqrt(2 * math.log(2) * (working_bits() + 2 * _GUARD)) + 1


def beta_factor(n: int, p: flint.arb, q: flint.arb, k: int, sigma: float) -> flint.arb:
    """P[X >= k] / P[X = k] for X ~ Bin(n, p) and k above the mean; `sigma` is about the law's standard deviation."""
    reach, bits = flint.arb(_reach()), working_bits()
    with working_precision(bits + 2 * n.bit_length()):
        width = flint.arb(sigma / n)  # any width is valid, if it is the same number everywhere
        left, right = width / p, width / q
        coefficients, error = _exponent(n, k, left, right, reach)
    backwards = [+c for c in reversed(coefficients)]

    def integrand(u: flint.acb, _: bool) -> flint.acb:
        value = flint.acb(backwards[0])
        for c in backwards[1:]:
            value = value * u + c
        return value.exp()

    tolerance = flint.arb(2) ** -bits
    near = flint.acb.integral(integrand, flint.acb(0), flint.acb(reach), rel_tol=tolerance, abs_tol=tolerance / 16).real
    near *= flint.arb(0, error).exp()
    # phi is concave, so beyond the window it lies below its tangent.
    slope = left * (k - 1) / (1 - left * reach) - right * (n - k) / (1 + right * reach)
    phi = (k - 1) * (-left * reach).log1p() + (n - k) * (right * reach).log1p()
    far = phi.exp() / slope if slope > 0 else flint.arb.pos_inf()
    return (near + between(0, far)) * left * k


def _exponent(n: int, k: int, left: flint.arb, right: flint.arb, reach: flint.arb) -> tuple[list[flint.arb], flint.arb]:
    """Taylor coefficients of phi, and a bound of the remainder for ``0 <= u <= reach``."""
    step = left.max(right).upper() * reach
    coefficients, power = [flint.arb(0)], 1
    down, up = flint.arb(1), flint.arb(-1)
    while True:
        down, up = down * left, -up * right
        coefficients.append((up * (n - k) - down * (k - 1)) / power)
        power += 1
        # Both series' terms are at most step**j / j each, k - 1 and n - k times.
        rest = n * step**power / (power * (1 - step))
        if rest < flint.arb(2) ** -working_bits() or power > working_bits():
            return coefficients, rest.upper()


