r"""Certified probabilities of the counting laws: ball arithmetic in the log domain, relative accuracy at any depth.

A tail of a log-concave law is its first term times a *factor*, and nothing here underflows:

.. math:: P[X \ge k] = P[X = k]\,\bigl(1 + r_k + r_k r_{k+1} + \dots\bigr), \qquad r_j = P[X = j+1] / P[X = j]

Ratios fall, so what is left after some terms is at most geometric. Where too many terms would count, a binomial factor
is read off Gauss's continued fraction, whose two ends bracket it; see `_fraction_factor`.

Parameters are exact integers, and probabilities are rationals or balls. A ball's relative width is multiplied by up to
`n`: a transcendental probability wants ``n.bit_length()`` bits more than the result. Results are at the precision of
``flint.ctx``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import flint

Probability: TypeAlias = Fraction | int | flint.arb

_GUARD = 24
"""Bits above those that cancel: the sums below have fewer than 2**24 terms."""
_SERIES_STEP, _FRACTION_STEP = 1.0, 5.0
"""What a term of the series and a level of the continued fraction cost, relative to each other."""


def ball(value: Fraction | int) -> flint.arb:
    """The ball around a rational, at the current precision."""
    value = Fraction(value)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def between(low: flint.arb | int, high: flint.arb) -> flint.arb:
    """The smallest ball that contains every point of two balls and all points between them."""
    return flint.arb(low).union(high)


# ---- binomial ----


def binomial_pmf(n: int, p: Probability, k: int) -> flint.arb:
    r"""Probability that n coins show exactly k heads, :math:`\binom{n}{k} p^k (1-p)^{n-k}`.

    Parameters
    ----------
    n : int
        Number of coins, at least 0.
    p : Fraction, int or flint.arb
        Probability of heads, in [0, 1].
    k : int
        Any integer.

    Returns
    -------
    flint.arb
        At the current precision; exactly 0 or 1 where the law is degenerate or k outside ``0..n``.

    Raises
    ------
    ValueError
        Where n < 0, or p is certainly outside [0, 1].
    """
    _require_coins(n, p)
    return _binomial_pmf(n, p, 1 - p, k)


def binomial_upper(n: int, p: Probability, k: int) -> flint.arb:
    """P[X >= k] for the number X of heads among n coins; parameters as for `binomial_pmf`."""
    _require_coins(n, p)
    return _binomial_upper(n, p, 1 - p, k)


def binomial_lower(n: int, p: Probability, k: int) -> flint.arb:
    """P[X <= k] for the number X of heads among n coins; parameters as for `binomial_pmf`."""
    _require_coins(n, p)
    return _binomial_upper(n, 1 - p, p, n - k)


def _require_coins(n: int, p: Probability) -> None:
    if n < 0:
        raise ValueError(f"a binomial law needs n >= 0, got n={n}")
    if p < 0 or p > 1:
        raise ValueError(f"a binomial law needs 0 <= p <= 1, got p={p} with n={n}")


def _binomial_pmf(n: int, p: Probability, q: Probability, k: int) -> flint.arb:
    if not 0 <= k <= n:
        return flint.arb(0)
    if p == 0 or q == 0:  # an inexact ball is equal to nothing
        return flint.arb(int(k == (n if q == 0 else 0)))
    with flint.ctx.workprec(flint.ctx.prec + _cancelling_bits(n, p, q)):
        value = (log_binomial_coefficient(n, k) + _times_log(k, p) + _times_log(n - k, q)).exp()
    return +value


def _cancelling_bits(n: int, *weights: Probability) -> int:
    """Bits that a log-probability has above the point: its absolute error is the probability's relative error."""
    sizes = [w.denominator.bit_length() if isinstance(w, Fraction) else 64 for w in weights]
    return (n * (n.bit_length() + max(sizes, default=0))).bit_length() + _GUARD


def _times_log(count: int, p: Probability) -> flint.arb:
    """``count * log(p)``; 0 where count is, though p may be."""
    return count * _as_ball(p).log() if count else flint.arb(0)


def _as_ball(p: Probability) -> flint.arb:
    return ball(p) if isinstance(p, int | Fraction) else p


def log_binomial_coefficient(n: int, k: int) -> flint.arb:
    """Logarithm of n over k, for ``0 <= k <= n``, with an absolute error relative to ``n log n`` at this precision."""
    return flint.arb(n + 1).lgamma() - flint.arb(k + 1).lgamma() - flint.arb(n - k + 1).lgamma()


def _binomial_upper(n: int, p: Probability, q: Probability, k: int) -> flint.arb:
    if k <= 0:
        return flint.arb(1)
    if k > n or p == 0:
        return flint.arb(0)
    if q == 0:
        return flint.arb(1)
    if k <= n * float(p):  # the mean's side: the complement is at most about a half, so nothing is lost
        return 1 - _binomial_upper(n, q, p, n - k + 1)
    with flint.ctx.workprec(flint.ctx.prec + _GUARD):
        value = _binomial_pmf(n, p, q, k) * _binomial_factor(n, p, q, k)
    return +value


def _binomial_factor(n: int, p: Probability, q: Probability, k: int) -> flint.arb:
    """P[X >= k] / P[X = k] for 0 < k <= n, by whichever way is shorter."""
    sigma = math.sqrt(n * float(p) * float(q)) + 1
    distance = (k - n * float(p)) / sigma
    levels = _expected_levels(distance)
    if levels * _FRACTION_STEP < expected_terms(sigma, distance) * _SERIES_STEP:
        factor = _fraction_factor(n, p, q, k, levels)
        if factor is not None:
            return factor
    odds = _as_ball(p) / _as_ball(q)
    return series_factor(lambda j: odds * (n - j) / (j + 1), n - k)


def expected_terms(sigma: float, distance: float) -> float:
    """How many terms of a tail count, `distance` standard deviations out; a guess that only costs time."""
    nats = flint.ctx.prec * math.log(2)
    return sigma * nats / (distance / 2 + math.sqrt(distance * distance / 4 + nats / 2))


def series_factor(ratio: Callable[[int], flint.arb], last: int, first: int = 0) -> flint.arb:
    r"""The sum :math:`1 + r_0 + r_0 r_1 + \dots + r_0 \cdots r_{last-1}` of a log-concave law's terms.

    Parameters
    ----------
    ratio : callable
        j to :math:`r_j`, positive and falling in j.
    last : int
        Number of ratios that are not 0.
    first : int
        Where `ratio` starts to count.

    Returns
    -------
    flint.arb
    """
    term = total = flint.arb(1)
    j, check = 0, 8
    epsilon = flint.arb(2) ** -flint.ctx.prec
    while j < last:
        for step in range(first + j, first + min(check, last)):
            term *= ratio(step)
            total += term
        j = min(check, last)
        # Every ratio from here on is at most this one.
        if j < last and (r := ratio(first + j)) < 1:
            rest = term * r / (1 - r)
            if rest < total * epsilon:
                return total + between(0, rest)
        check += 8 + check // 8
    return total
