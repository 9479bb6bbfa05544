r"""What other prefixes tell: a fixed batch that holds the new user holds one of the others less.

Let S be a sample of m - 1 of the n others. With the new user it yields the release T(S + u), without him T(S + v), v
uniform among those not drawn. Where u's own prefix is not released, T(S + u) = T(S), and T(S + v) differs from T(S) only
if v's prefix stands on the *verge* in S, one vote short. So with :math:`\rho(S)` the part of the users not drawn whose
prefix is not on the verge, and P, R the laws of the release without and with u in the sample,

.. math:: \sum_{T \not\ni p} \bigl(R(T) - \kappa P(T)\bigr)_+ \le E\bigl[(1 - \kappa\rho(S))_+\bigr]

for every data set. Crowds that leave almost nobody off the verge make it large: a population split into (m-1)/(theta-1)
equal prefixes does, and no formula that looks at one prefix at a time sees it.

Two bounds over all data sets. The mean: :math:`(1 - \kappa\rho)_+ \le 1 - \rho` for :math:`\kappa \ge 1`, whose mean is at
most the largest probability below. And Chernoff's: given the size of the sample the votes are independent binomials, so

.. math:: E e^{-\lambda\rho} \le \frac{e^{-\lambda + n \max_w \psi(w)/w}}{P[\mathrm{Bin}(n, p) = m-1]}, \qquad
          \psi(w) = \ln\Bigl(1 + P[\mathrm{Bin}(w,p) = \theta-1]
                    \bigl(e^{\lambda(w-\theta+1)/(n-m+1)} - 1\bigr)\Bigr), \quad p = \frac{m-1}{n}

because sizes w of disjoint prefixes add up to n at most; `largest_slope` bounds the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_pmf
from ldpaudit.accountants.sampling.largest_slope import largest_slope
from ldpaudit.accountants.sampling.thresholded import FixedBatch

_PRECISION = 64
_LAMBDAS, _PARTS = 48, 8
_AROUND, _PER_OCTAVE, _HALVES = 80, 24, 20

Row: TypeAlias = NDArray[np.float64]


def mean_verge(sampling: FixedBatch, threshold: int) -> flint.arb:
    r"""The largest mean of :math:`1 - \rho` over all data sets, at most.

    .. math:: \sum_g P[N_g = \theta-1] \frac{w_g - \theta + 1}{n-m+1} = \sum_g \frac{w_g}{n} h(w_g), \qquad
              h(w) = P[\mathrm{Hyp}(n-1, w-1, m-1) = \theta-1]

    h is largest at :math:`w = \lfloor (\theta-1) n / (m-1) \rfloor + 1`. Nearly tight: prefixes of that size.

    Parameters
    ----------
    sampling : FixedBatch
        n and m.
    threshold : int
        Theta, with ``1 <= theta <= m``.

    Returns
    -------
    flint.arb
        At most 1.
    """
    n, m = sampling.users, sampling.batch
    size = n if m == 1 else min(n, (threshold - 1) * n // (m - 1) + 1)
    return hypergeometric_pmf(n - 1, size - 1, m - 1, threshold - 1)


def crowd_leak(sampling: FixedBatch, threshold: int, kappa: flint.arb) -> flint.arb:
    r"""An upper bound of :math:`E[(1 - \kappa\rho)_+]` over all data sets.

    Uses :math:`(1 - \kappa\rho)_+ \le e^{-\lambda\rho}` for :math:`\lambda \le \kappa`, and
    :math:`\frac{\kappa}{\lambda} e^{\lambda/\kappa - 1} e^{-\lambda\rho}` beyond.

    Parameters
    ----------
    sampling, threshold : FixedBatch, int
        As for `mean_verge`.
    kappa : flint.arb
        At least 1.

    Returns
    -------
    flint.arb
        At most 1; a bound, not a value.
    """
    mean = mean_verge(sampling, threshold)
    if threshold < 2 or sampling.batch < 2:
        return mean
    total, k = _verge(sampling, threshold), float(kappa)
    x = _best(total, lambda x: np.where(x <= k, 0.0, np.log(k / x) + x / k - 1) - x)
    with flint.ctx.workprec(_PRECISION):
        exact = flint.arb(x)
        log_factor = flint.arb(0) if exact <= kappa else (kappa / exact).log() + exact / kappa - 1
        bound = (_log_moment(total, x) - exact + log_factor.max(flint.arb(0))).exp()
    return mean.min(bound)


@lru_cache(maxsize=256)
def crowd_tail(sampling: FixedBatch, threshold: int, rho: float) -> flint.arb:
    r"""An upper bound of :math:`P[\rho(S) < \rho_0]` over all data sets, by :math:`e^{\lambda(\rho_0 - \rho)}`."""
    if threshold < 2 or sampling.batch < 2:
        return flint.arb(1)
    return _chernoff(_verge(sampling, threshold), 1 - rho)


@lru_cache(maxsize=256)
def critical_tail(sampling: FixedBatch, threshold: int, part: float) -> flint.arb:
    r"""An upper bound of the probability that more than a part of a sample of m of n votes for prefixes with exactly theta votes.

    Such a prefix is lost if one of its voters gives way to the new user. As above, with
    :math:`\psi(w) = \ln(1 + P[\mathrm{Bin}(w, m/n) = \theta](e^{\lambda\theta/m} - 1))`.
    """
    if sampling.batch == sampling.users:
        return flint.arb(1)
    return _chernoff(_critical(sampling, threshold), part)


def guessed_tail(sampling: FixedBatch, threshold: int, rho: float) -> float:
    """About the logarithm of `crowd_tail`, in floats."""
    if threshold < 2 or sampling.batch < 2:
        return 0.0
    return _guess(_verge(sampling, threshold), 1 - rho)


def guessed_critical(sampling: FixedBatch, threshold: int, part: float) -> float:
    """About the logarithm of `critical_tail`, in floats."""
    return 0.0 if sampling.batch == sampling.users else _guess(_critical(sampling, threshold), part)


@dataclass(frozen=True, slots=True)
class Sum:
    r"""The sum of weights of the prefixes with exactly k of d votes drawn from n users, over all data sets.

    A prefix of w users weighs :math:`a (w - k) + b`, and all together at most 1.

    Parameters
    ----------
    users, draws, votes : int
        n, d and k, with ``0 < d < n``.
    slope, level : Fraction
        a and b.
    """

    users: int
    draws: int
    votes: int
    slope: Fraction
    level: Fraction


def _verge(sampling: FixedBatch, threshold: int) -> Sum:
    n, m = sampling.users, sampling.batch
    return Sum(n, m - 1, threshold - 1, Fraction(1, n - m + 1), Fraction(0))


def _critical(sampling: FixedBatch, threshold: int) -> Sum:
    n, m = sampling.users, sampling.batch
    return Sum(n, m, threshold, Fraction(0), Fraction(threshold, m))


def _chernoff(total: Sum, above: float) -> flint.arb:
    """An upper bound of P[sum > above]."""
    x = _best(total, lambda x: -x * above)
    with flint.ctx.workprec(_PRECISION):
        return flint.arb(1).min((_log_moment(total, x) - flint.arb(x) * flint.arb(above)).exp())


def _guess(total: Sum, above: float) -> float:
    lambdas, moments = _rough(total)
    return min(0.0, float(np.min(moments - lambdas * above)))


def _best(total: Sum, rest: Callable[[Row], Row]) -> float:
    """The lambda at which the logarithm of a moment's bound and the rest are smallest, about."""
    lambdas, moments = _rough(total)
    ratio = float(lambdas[1] / lambdas[0]) ** (1 / _PARTS)
    # Not any lambda, but one of a finer grid: the next query may ask for it too.
    near = float(lambdas[np.argmin(moments + rest(lambdas))]) * ratio ** np.arange(1.0 - _PARTS, _PARTS)
    return float(near[np.argmin(_moments(total, near) + rest(near))])


@lru_cache(maxsize=64)
def _rough(total: Sum) -> tuple[Row, Row]:
    """Many lambdas, and about the logarithms of the moments' bounds."""
    lambdas = np.exp(math.log(8.0 * total.draws + 8) * np.arange(_LAMBDAS) / _LAMBDAS) / 2
    return lambdas, _moments(total, lambdas)


@lru_cache(maxsize=64)
def _chances(total: Sum) -> tuple[Row, Row, Row]:
    """Some w, logarithms of P[Bin(w, p) = k], by Stirling's formula where w counts, and weights."""
    n, d, k = total.users, total.draws, total.votes
    p = d / n
    sizes = np.concatenate([
        k / p * 2.0 ** (np.arange(-_AROUND, 2 * _AROUND) / _PER_OCTAVE),
        n / 2.0 ** np.arange(_HALVES),
    ])  # fmt: skip
    sizes = np.unique(np.maximum(sizes[sizes <= n], k + 1))
    logs = -(sizes - k + 0.5) * np.log1p(-k / sizes) - k + k * np.log(sizes * p) - math.lgamma(k + 1)
    return sizes, logs + (sizes - k) * math.log1p(-p), float(total.slope) * (sizes - k) + float(total.level)


def _moments(total: Sum, lambdas: Row) -> Row:
    """About the logarithms of the moments' bounds, in floats and on few w."""
    sizes, chances, weights = _chances(total)
    worths = np.outer(lambdas, weights)
    quotients = np.logaddexp(0.0, chances + worths + np.log(-np.expm1(-worths))) / sizes
    return total.users * _peaks(np.log(sizes), quotients) + math.log(2 * math.pi * total.draws) / 2


def _peaks(places: Row, values: Row) -> Row:
    """Of every row, the largest value, or that of a parabola through it and its neighbours."""
    if len(places) < 3:
        return np.asarray(np.max(values, axis=1))
    at = np.clip(np.argmax(values, axis=1), 1, len(places) - 2)
    rows = np.arange(len(values))
    left, top, right = (values[rows, at + i] for i in (-1, 0, 1))
    before, after = (places[at] - places[at - 1], places[at + 1] - places[at])
    with np.errstate(divide="ignore", invalid="ignore"):
        rise, fall = (top - left) / before, (top - right) / after
        more = (rise * after - fall * before) ** 2 / (4 * (before + after) * (rise + fall))
    return np.asarray(top + np.where(np.isfinite(more) & (more < top), more, 0.0))


@lru_cache(maxsize=256)
def _log_moment(total: Sum, x: float) -> flint.arb:
    """Logarithm of the bound of E exp(x sum): shared by all who ask at this lambda."""
    n, d = total.users, total.draws
    with flint.ctx.workprec(_PRECISION):
        chance = binomial_pmf(n, ball(d) / n, d)
        slope, level = flint.arb(x) * ball(total.slope), flint.arb(x) * ball(total.level)
        return n * largest_slope(n, d, total.votes, slope, level) - chance.log()
