r"""The hypergeometric law, certified: masses and tails of a sample without replacement.

A tail is its first term times a sum of ratios of integers (`log_concave`).
"""

from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.log_concave import GUARD, cancelling_bits, log_binomial_coefficient
from ldpaudit.core.working_precision import working_bits, working_precision

_SPARE = 48
"""Bits above the precision: term j is rounded down j times, so 2**24 terms lose less than 2**48 units together."""


def hypergeometric_pmf(population: int, marked: int, draws: int, k: int) -> flint.arb:
    r"""Probability that `draws` without replacement meet exactly k of the marked ones.

    .. math:: \binom{K}{k} \binom{N-K}{n-k} \Big/ \binom{N}{n}

    N, K and n are `population`, `marked` and `draws`; exactly 0 or 1 where k is impossible or certain.
    """
    _require_urn(population, marked, draws)
    least, most = max(0, draws + marked - population), min(draws, marked)
    if not least <= k <= most:
        return flint.arb(0)
    if least == most:
        return flint.arb(1)
    with working_precision(working_bits() + cancelling_bits(population)):
        ways = log_binomial_coefficient(marked, k) + log_binomial_coefficient(population - marked, draws - k)
        value = (ways - _log_samples(population, draws, working_bits())).exp()
    return +value


@lru_cache(maxsize=64)
def _log_samples(population: int, draws: int, bits: int) -> flint.arb:
    """Logarithm of the number of samples: one law is asked for many times."""
    with working_precision(bits):
        return log_binomial_coefficient(population, draws)


def hypergeometric_upper(population: int, marked: int, draws: int, k: int) -> flint.arb:
    """P[X >= k] for the number X of marked ones among the drawn; parameters as for `hypergeometric_pmf`."""
    return hypergeometric_tail(population, marked, draws, k)[0]


def hypergeometric_tail(population: int, marked: int, draws: int, k: int) -> tuple[flint.arb, flint.arb]:
    """P[X >= k] and P[X = k]; parameters as for `hypergeometric_pmf`."""
    _require_urn(population, marked, draws)
    return _tail(population, marked, draws, k, working_bits())


@lru_cache(maxsize=1 << 14)
def _tail(population: int, marked: int, draws: int, k: int, _bits: int) -> tuple[flint.arb, flint.arb]:
    """At the current precision, which is `_bits`: curves for many epsilons ask for the same holders again and again."""
    left = population - marked - draws
    if not max(0, -left) < k <= min(draws, marked):
        return flint.arb(int(k <= max(0, -left))), hypergeometric_pmf(population, marked, draws, k)
    with working_precision(working_bits() + GUARD):
        point = hypergeometric_pmf(population, marked, draws, k)
        if k * population > draws * marked:
            value = point * _urn_factor(marked, draws, left, k)
        else:  # below the mean: one less the lower tail, as for the binomial law
            fewer = flint.arb(k * (left + k)) / ((marked - k + 1) * (draws - k + 1))
            value = 1 - point * fewer * _urn_factor(population - marked, draws, marked - draws, draws - k + 1)
    return +value, +point


def _require_urn(population: int, marked: int, draws: int) -> None:
    if not (0 <= marked <= population and 0 <= draws <= population):
        raise ValueError(
            "a hypergeometric law needs 0 <= marked <= population and 0 <= draws <= population, "
            f"got population={population}, marked={marked}, draws={draws}"
        )


def _urn_factor(marked: int, draws: int, left: int, k: int) -> flint.arb:
    r"""P[X >= k] / P[X = k] for the number X of marked ones among the drawn.

    .. math:: 1 + r_k + r_k r_{k+1} + \dots, \qquad r_j = \frac{(K - j)(n - j)}{(j + 1)(N - K - n + j + 1)} \le 1

    A term in units of 2**-b, rounded down, is too small by fewer units than its number, as no ratio is above 1. Ratios
    fall, so the remainder after some terms is at most geometric.

    K, n and N - K - n are `marked`, `draws` and `left`; k is above the mean n K / N, and possible.
    """
    bits = working_bits() + _SPARE
    term = total = 1 << bits
    above, below, done = (marked - k) * (draws - k), (k + 1) * (left + k + 1), 0
    if above > below:
        raise ArithmeticError(f"ratios fall below 1 only above the mean: K={marked}, n={draws}, N-K-n={left}, k={k}")
    check, last = 8, min(marked, draws) - k
    while done < last:
        for j in range(k + done, k + min(check, last)):
            term = term * ((marked - j) * (draws - j)) // ((j + 1) * (left + j + 1))
            total += term
        done = min(check, last)
        j = k + done
        above, below = (marked - j) * (draws - j), (j + 1) * (left + j + 1)
        # Every ratio from here on is at most this one.
        rest = (term + done) * above // (below - above) + 1 if above < below else total
        if above == 0 or rest < total >> working_bits():
            return _scaled(total, done * done + (rest if above else 0), bits)
        check += 8 + check // 8
    return _scaled(total, done * done, bits)


def _scaled(low: int, width: int, bits: int) -> flint.arb:
    """The ball from `low` to `low + width` units."""
    return flint.arb(low).union(flint.arb(low + width)) * flint.arb(2) ** -bits
