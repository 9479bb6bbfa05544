r"""Probabilities of many neighbouring ranges of a binomial count, at a cost that does not grow with n.

In a range of half-width h around c, with D(k) the logarithm of P[X = k],

.. math:: P[|X - c| \le h] = P[X = c] \sum_{|j| \le h} e^{D(c+j) - D(c)}

The exponent is a polynomial of low degree up to an error ball, its exponential is a power series, and the sums of
powers of j are the same for all ranges. Short ranges are summed term by term. Where the probabilities change by a large
factor within a range, its probability is a difference of tails.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.rationals import fraction
from ldpaudit.core.working_precision import working_bits, working_precision

Tail: TypeAlias = Callable[[int], flint.arb]  # a count to the probability of a tail that starts there

_SHORT = 128
"""Counts up to which a range is summed term by term: at 58 in a fifth of the time of the series, at 98 in 0.6 of it."""
_SPARE = 24  # bits that neighbouring short ranges, each from the last, may lose to rounding: they are fewer than 2**20
_DEGREE = 6  # of the exponent; with 4 a mass at n = 1e6 is known to 2e-16 instead of below 1e-16
_ORDER = 18  # of the power series of its exponential; with 12 this mass is known to 7e-14
_RADIUS = 16  # half-widths of the circle for Cauchy's estimate, so that terms fall by this factor; with 8 to 2e-16
_NARROW = 1 << 7  # least ratio of a count to the half-width of its range, for the series: degree 6 leaves 2**-46 of it


def masses(n: int, gamma: Fraction, edges: Sequence[int]) -> list[flint.arb]:
    """P[a <= X < b] for neighbouring edges a < b, for X ~ Bin(n, gamma).

    Edges rise from 0 or above to n + 1 or below. Narrow relative to each mass, at the current precision.
    """

    @cache
    def above(y: int) -> flint.arb:
        return binomial_upper(n, gamma, y)

    @cache
    def below(y: int) -> flint.arb:
        return binomial_upper(n, 1 - gamma, n - y + 1)

    found, term = list[flint.arb](), None
    with working_precision(working_bits() + _SPARE):
        odds = ball(gamma / (1 - gamma))
    for start, end in pairwise(edges):
        if end - start > _SHORT:
            found.append(_range(n, gamma, start, end, above, below))
            term = None
            continue
        with working_precision(working_bits() + _SPARE):
            # One short range begins where the other ended.
            term = binomial_pmf(n, gamma, start) if term is None else term * odds * (n - start + 1) / start
            total = term
            for y in range(start, end - 1):
                term = term * odds * (n - y) / (y + 1)
                total += term
        found.append(+total)
    return found


def _range(n: int, gamma: Fraction, start: int, end: int, above: Tail, below: Tail) -> flint.arb:
    half = (end - start - 1) // 2
    center = start + half
    if not _is_smooth(n, gamma, center, half):
        # Far from the mean the tails at the two ends differ by such a factor that their difference keeps its digits.
        return above(start) - above(end) if start > n * gamma else below(end) - below(start)
    found = binomial_pmf(n, gamma, center) * _series(n, gamma, center, half)
    # The symmetric range holds an odd number of counts, so of an even number the last is left.
    return found if start + 2 * half + 1 == end else found + binomial_pmf(n, gamma, end - 1)


def _is_smooth(n: int, gamma: Fraction, center: int, half: int) -> bool:
    """Whether the exponent changes by less than about 1/3 within the range, and every count by a small factor."""
    if min(center, n - center) < _NARROW * half:
        return False
    variance = n * float(gamma) * float(1 - gamma)
    return half * (abs(center - n * float(gamma)) + half + 1) < variance / 3


def _series(n: int, gamma: Fraction, center: int, half: int) -> flint.arb:
    """The probability of the range, divided by that of its center."""
    exponent, error = _exponent(n, gamma, center, half)
    series, sums = _exponential(exponent), _power_sums(half)
    total = sum((series[m] * sums[m] for m in range(0, _ORDER + 1, 2)), flint.arb(0))
    # Cauchy: a coefficient is at most the largest value on a circle over a power of its radius.
    reach = flint.arb(half * _RADIUS)
    largest = sum((abs(c) * reach ** (m + 1) for m, c in enumerate(exponent)), flint.arb(0)).exp()
    rest = ((2 * half + 1) * largest * flint.arb(_RADIUS) ** -_ORDER / (_RADIUS - 1)).upper()
    return (total + between(-rest, rest)) * between(-error, error).exp()


def _exponential(exponent: list[flint.arb]) -> list[flint.arb]:
    """Coefficients of the exponential of a polynomial without constant term, from its differential equation."""
    slopes = [m * c for m, c in enumerate(exponent, start=1)]
    found = [flint.arb(1)]
    for m in range(1, _ORDER + 1):
        found.append(sum((s * e for s, e in zip(slopes, reversed(found), strict=False)), flint.arb(0)) / m)
    return found


def _exponent(n: int, gamma: Fraction, center: int, half: int) -> tuple[list[flint.arb], flint.arb]:
    r"""Taylor coefficients of :math:`-\ln\Gamma(x+1) - \ln\Gamma(n-x+1) + x \ln(odds)` from order 1, and an error.

    Beyond order 1 the derivatives are polygammas, :math:`|\psi^{(m)}(z)| \le 2\,(m-1)!/(z - 1)^m` for z > m + 1.
    """
    up = flint.arb_series([center + 1, 1], prec=_DEGREE + 1).lgamma()
    down = flint.arb_series([n - center + 1, -1], prec=_DEGREE + 1).lgamma()
    found = [-up[m] - down[m] for m in range(1, _DEGREE + 1)]
    found[0] += ball(gamma / (1 - gamma)).log()
    order = _DEGREE + 1
    # The derivative of this order is a polygamma of one order less; over the factorial it is 2 / (order (order - 1)).
    each = [flint.arb(half) ** order * 2 / (order * (order - 1) * flint.arb(z - half) ** (order - 1)) for z in (center, n - center)]
    return found, (each[0] + each[1]).upper()


@lru_cache(maxsize=64)
def _power_sums(half: int) -> list[int]:
    """Sums of the powers of -half..half, by Faulhaber's formula; the odd ones are 0."""
    found = []
    # With the sign of B_1 that makes sums end at the last power.
    bernoulli = [fraction(flint.fmpq.bernoulli(i)) * (-1 if i == 1 else 1) for i in range(_ORDER + 1)]
    for m in range(_ORDER + 1):
        terms = (math.comb(m + 1, i) * bernoulli[i] * half ** (m + 1 - i) for i in range(m + 1))
        found.append(0 if m % 2 else int(2 * sum(terms, Fraction(0)) / (m + 1)) + (m == 0))
    return found
