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
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.urn import urn_factor
from ldpaudit.enclosure import Enclosure, Rigour

Probability: TypeAlias = Fraction | int | flint.arb

_GUARD = 24
"""Bits above those that cancel: the sums below have fewer than 2**24 terms."""
_MOST_BITS = 1 << 11
_SPARE_BITS = 16
"""Of the guard bits, those that the continued fraction leaves to rounding."""
_SERIES_STEP, _FRACTION_STEP = 1.0, 5.0
"""What a term of the series and a level of the continued fraction cost, relative to each other."""


def ball(value: Fraction | int) -> flint.arb:
    """The ball around a rational, at the current precision."""
    value = Fraction(value)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def floor(value: flint.arb) -> int:
    """The largest integer at or below every point of a finite ball."""
    return _integer(value.lower().floor())


def ceil(value: flint.arb) -> int:
    """The smallest integer at or above every point of a finite ball."""
    return _integer(value.upper().ceil())


def _integer(value: flint.arb) -> int:
    found = value.unique_fmpz()
    if found is None:
        raise ArithmeticError(f"an integer is needed, and {value} is none at {flint.ctx.prec} bits")
    return int(found)


def between(low: flint.arb | int, high: flint.arb) -> flint.arb:
    """The smallest ball that contains every point of two balls and all points between them."""
    return flint.arb(low).union(high)


def narrow(value: Callable[[], flint.arb], source: str, rigour: Rigour = Rigour.EXACT, bits: int = 128) -> Enclosure:
    """Enclosure of a value at a precision, from `bits` up, at which its ends are within two floats of each other."""
    while True:
        with flint.ctx.workprec(bits):
            result = Enclosure.of(value(), rigour=rigour, source=source)
        if math.nextafter(math.nextafter(result.low, math.inf), math.inf) >= result.high or bits >= _MOST_BITS:
            return result
        bits *= 2


def binomial_pmf(n: int, p: Probability, k: int, complement: Probability | None = None) -> flint.arb:
    r"""Probability that n coins show exactly k heads, :math:`\binom{n}{k} p^k (1-p)^{n-k}`.

    Parameters
    ----------
    n : int
        Number of coins, at least 0.
    p : Fraction, int or flint.arb
        Probability of heads, in [0, 1].
    k : int
        Any integer.
    complement : Fraction, int, flint.arb or None
        ``1 - p``, for a ball next to 1 whose complement is known better than the difference.

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
    return _binomial_pmf(n, p, 1 - p if complement is None else complement, k)


def binomial_upper(n: int, p: Probability, k: int, complement: Probability | None = None) -> flint.arb:
    """P[X >= k] for the number X of heads among n coins; parameters as for `binomial_pmf`."""
    _require_coins(n, p)
    return _binomial_upper(n, p, 1 - p if complement is None else complement, k)


def binomial_lower(n: int, p: Probability, k: int, complement: Probability | None = None) -> flint.arb:
    """P[X <= k] for the number X of heads among n coins; parameters as for `binomial_pmf`."""
    _require_coins(n, p)
    return _binomial_upper(n, 1 - p if complement is None else complement, p, n - k)


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
    return count * as_ball(p).log() if count else flint.arb(0)


def as_ball(p: Probability) -> flint.arb:
    """The probability as a ball, at the current precision."""
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
    odds = as_ball(p) / as_ball(q)
    return series_factor(lambda j: odds * (n - j) / (j + 1), n - k, k)


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


def _expected_levels(distance: float) -> float:
    """A guess of how many levels of the fraction count: its error falls like ``exp(-2 distance sqrt(2 levels))``."""
    return (flint.ctx.prec * math.log(2) / (2 * max(distance, 1e-9))) ** 2 / 2 + 4


def _fraction_factor(n: int, p: Probability, q: Probability, k: int, levels: float) -> flint.arb | None:
    r"""P[X >= k] / P[X = k] by Gauss's continued fraction; None where k is not certainly above the mode.

    .. math:: \frac{P[X \ge k]}{P[X = k]} = q F_0, \qquad F_i = \frac{1}{1 + d_{i+1} F_{i+1}}, \qquad
              d_{2m+1} = -\frac{(k+m)(n+1+m)\,p}{(k+2m)(k+2m+1)}, \quad
              d_{2m} = \frac{m\,(n-k+1-m)\,p}{(k+2m-1)(k+2m)}

    Source: DLMF 8.17.22 with a = k, b = n - k + 1; it ends at :math:`d_{2b} = 0`. For :math:`(n+1)p < k+1` every
    odd-numbered :math:`F` lies in (0, 1] and every even-numbered one is positive: d with an even number is not
    negative, and :math:`(n+1+m)p < k+1+m` gives :math:`|d_{2m+1}| < 1`. So :math:`F_{2m+1} \in [0, 1]` is an
    enclosure to start from, and as every map is monotone, the two ends of the interval lead to two ends of one.
    """
    probability = as_ball(p)
    if not (n + 1) * probability < k + 1:
        return None
    depth = int(levels) + 1
    while True:
        depth = min(depth, n - k)
        # At full depth the next odd-numbered F is exactly 1, because the next even-numbered d is 0.
        low = _convergent(n, probability, k, depth, flint.arb(int(depth == n - k)))
        high = _convergent(n, probability, k, depth, flint.arb(1))
        factor = between(low, high)
        # Deeper levels narrow the distance of the two ends, not what rounding and a wide p have made of each.
        if factor.rel_accuracy_bits() >= min(high.rel_accuracy_bits(), flint.ctx.prec - _SPARE_BITS) - 1:
            return as_ball(q) * factor
        depth *= 2


def _convergent(n: int, p: flint.arb, k: int, depth: int, tail: flint.arb) -> flint.arb:
    """F_0, where ``F_(2 depth + 1)`` is `tail`."""
    for m in range(depth, 0, -1):
        tail = 1 - p * ((k + m) * (n + 1 + m)) / ((k + 2 * m) * (k + 2 * m + 1)) * tail
        tail = 1 / (1 + p * (m * (n - k + 1 - m)) / ((k + 2 * m - 1) * (k + 2 * m)) / tail)
    return 1 / (1 - p * (n + 1) / (k + 1) * tail)


def hypergeometric_pmf(population: int, marked: int, draws: int, k: int) -> flint.arb:
    r"""Probability that `draws` without replacement meet exactly k of the marked ones.

    .. math:: \binom{K}{k} \binom{N-K}{n-k} \Big/ \binom{N}{n}

    Parameters
    ----------
    population, marked, draws : int
        N, K and n, with ``0 <= marked <= population`` and ``0 <= draws <= population``.
    k : int
        Any integer.

    Returns
    -------
    flint.arb
        At the current precision; exactly 0 or 1 where k is impossible or certain.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.
    """
    _require_urn(population, marked, draws)
    least, most = max(0, draws + marked - population), min(draws, marked)
    if not least <= k <= most:
        return flint.arb(0)
    if least == most:
        return flint.arb(1)
    with flint.ctx.workprec(flint.ctx.prec + _cancelling_bits(population)):
        ways = log_binomial_coefficient(marked, k) + log_binomial_coefficient(population - marked, draws - k)
        value = (ways - _log_samples(population, draws, flint.ctx.prec)).exp()
    return +value


@lru_cache(maxsize=64)
def _log_samples(population: int, draws: int, bits: int) -> flint.arb:
    """Logarithm of the number of samples: one law is asked for many times."""
    with flint.ctx.workprec(bits):
        return log_binomial_coefficient(population, draws)


def hypergeometric_upper(population: int, marked: int, draws: int, k: int) -> flint.arb:
    """P[X >= k] for the number X of marked ones among the drawn; parameters as for `hypergeometric_pmf`."""
    return hypergeometric_tail(population, marked, draws, k)[0]


def hypergeometric_tail(population: int, marked: int, draws: int, k: int) -> tuple[flint.arb, flint.arb]:
    """P[X >= k] and P[X = k]; parameters as for `hypergeometric_pmf`."""
    _require_urn(population, marked, draws)
    left = population - marked - draws
    if not max(0, -left) < k <= min(draws, marked):
        return flint.arb(int(k <= max(0, -left))), hypergeometric_pmf(population, marked, draws, k)
    with flint.ctx.workprec(flint.ctx.prec + _GUARD):
        point = hypergeometric_pmf(population, marked, draws, k)
        if k * population > draws * marked:
            value = point * urn_factor(marked, draws, left, k)
        else:  # the mean's side, as for the binomial law
            fewer = flint.arb(k * (left + k)) / ((marked - k + 1) * (draws - k + 1))
            value = 1 - point * fewer * urn_factor(population - marked, draws, marked - draws, draws - k + 1)
    return +value, +point


def hypergeometric_lower(population: int, marked: int, draws: int, k: int) -> flint.arb:
    """P[X <= k]: at least ``draws - k`` unmarked ones; parameters as for `hypergeometric_pmf`."""
    _require_urn(population, marked, draws)
    return hypergeometric_upper(population, population - marked, draws, draws - k)


def _require_urn(population: int, marked: int, draws: int) -> None:
    if not (0 <= marked <= population and 0 <= draws <= population):
        raise ValueError(
            "a hypergeometric law needs 0 <= marked <= population and 0 <= draws <= population, "
            f"got population={population}, marked={marked}, draws={draws}"
        )


def negative_hypergeometric_pmf(population: int, marked: int, failures: int, k: int) -> flint.arb:
    """Probability that exactly k marked ones are drawn before the unmarked one with number `failures`.

    Parameters
    ----------
    population, marked : int
        N and K, with ``0 <= marked <= population``.
    failures : int
        r, with ``1 <= failures <= population - marked``.
    k : int
        Any integer.

    Returns
    -------
    flint.arb
        At the current precision.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.
    """
    _require_failures(population, marked, failures)
    if not 0 <= k <= marked:
        return flint.arb(0)
    # k marked among the first k + r - 1, then one of the unmarked that are left.
    with flint.ctx.workprec(flint.ctx.prec + _GUARD):
        first = hypergeometric_pmf(population, marked, k + failures - 1, k)
        value = first * (population - marked - failures + 1) / (population - k - failures + 1)
    return +value


def negative_hypergeometric_upper(population: int, marked: int, failures: int, k: int) -> flint.arb:
    """P[X >= k]: at least k marked ones among the first ``k + failures - 1``; see `negative_hypergeometric_pmf`."""
    _require_failures(population, marked, failures)
    if k <= 0:
        return flint.arb(1)
    if k > marked:
        return flint.arb(0)
    return hypergeometric_upper(population, marked, k + failures - 1, k)


def negative_hypergeometric_lower(population: int, marked: int, failures: int, k: int) -> flint.arb:
    """P[X <= k]: at least `failures` unmarked ones among the first ``k + failures``."""
    _require_failures(population, marked, failures)
    if k < 0:
        return flint.arb(0)
    if k >= marked:
        return flint.arb(1)
    return hypergeometric_upper(population, population - marked, k + failures, failures)


def _require_failures(population: int, marked: int, failures: int) -> None:
    if not (0 <= marked <= population and 1 <= failures <= population - marked):
        raise ValueError(
            "a negative hypergeometric law needs 0 <= marked <= population and 1 <= failures <= population - marked, "
            f"got population={population}, marked={marked}, failures={failures}"
        )
