r"""What other users' prefixes reveal: in a fixed batch, the new user takes the place of another user.

Let S be a sample of m - 1 of the n others. With the new user u in the sample the release is T(S + u); without, T(S + v)
with v uniform among those not drawn. Where u's own prefix is not released, T(S + u) = T(S), and T(S + v) differs from T(S)
only if v's prefix is on the *verge* in S: one vote short of the threshold. So with :math:`\rho(S)` the share of the users
not drawn whose prefix is not on the verge, and P, R the laws of the release without and with u in the sample,

.. math:: \sum_{T \not\ni p} \bigl(R(T) - \kappa P(T)\bigr)_+ \le E\bigl[(1 - \kappa\rho(S))_+\bigr]

for every data set. It is large where almost every user's prefix is on the verge, for example where the users share
(m-1)/(theta-1) prefixes equally; no formula that looks at one prefix at a time sees it.

Two bounds hold over all data sets. The mean: :math:`(1 - \kappa\rho)_+ \le 1 - \rho` for :math:`\kappa \ge 1`, and
`mean_verge` bounds the mean of the latter. And Chernoff's bound: a sample of fixed size is a Poisson sample given its
size, and the votes of a Poisson sample are independent binomials, so

.. math:: E e^{-\lambda\rho} \le \frac{e^{-\lambda + n \max_w \psi(w)/w}}{P[\mathrm{Bin}(n, p) = m-1]}, \qquad
          \psi(w) = \ln\Bigl(1 + P[\mathrm{Bin}(w,p) = \theta-1]
                    \bigl(e^{\lambda(w-\theta+1)/(n-m+1)} - 1\bigr)\Bigr), \quad p = \frac{m-1}{n}

because the sizes w of disjoint prefixes add up to at most n; `largest_slope` bounds the maximum.

*The remove direction*: what the user's absence reveals (`removal_bound`).

P is the law of the release without the user, P' with. In one round :math:`P' = (1-q) P + q R`, so :math:`P \le P'/(1-q)`.
More precisely, let S be a sample of the others, and let the user take the place of one of them. The release stays the
same unless the other's prefix had exactly theta votes, or the user's own had theta - 1. If at most a share a of the
sample votes for prefixes with exactly theta votes, then

.. math:: P \le \frac{P'}{1 - q a} \quad\text{where the user's prefix did not have } \theta - 1 \text{ votes}, \qquad
          P \le \frac{P'}{1 - q} \quad\text{where it did}.

The latter happens in one round at most: the user's prefix is not released then, and the user never votes again. Over L
rounds

.. math:: P \le e^r P' + b, \qquad r = \ln\frac{1}{1-q} + (L-1) \ln\frac{1}{1-qa}

where b is L times the probability that the share is larger. For Poisson sampling other prefixes' votes are independent of
the user's, and a = 0. A user with several words may vote again for another one, and every round may cost
:math:`\ln(1/(1-q))`.

*The largest slope*: a certified maximum of a quotient, by tangents (`largest_slope`).

.. math:: \max_{k \le w \le n} \frac{\psi(w)}{w}, \qquad \psi(w) = \ln\bigl(1 + e^{z(w)}\bigr), \qquad
          e^{z(w)} = P[\mathrm{Bin}(w, p) = k]\,\bigl(e^{s(w)} - 1\bigr), \qquad s(w) = a (w - k) + b

For real :math:`w > k` the exponent z is concave: :math:`\ln\binom{w}{k}` is a sum of :math:`\ln(w - i)`, and
:math:`\ln(e^s - 1) = s + \ln(1 - e^{-s})` is concave in s. So z lies below its tangents, and where T is a tangent,
:math:`\ln(1 + e^{T(w)})` is convex, its quotient by w is quasi-convex, and the larger of its two ends bounds it on an
interval. What two tangents leave between them is of second order in the interval.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_pmf
from ldpaudit.accountants.sampling.thresholded import FixedBatch, Sampling
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up

_SHARES = tuple(x / 50 for x in range(1, 50))
"""Shares a that are tried; any is valid."""
_NEGLIGIBLE = 1e-3
"""b is at most about this part of the delta in question."""
_PRECISION = 64
"""Bits. Measured on seven settings from 36 users to 1e8: 256 bits tighten no bound by more than 2e-10 nats."""
_LAMBDAS = 48
"""Points of the geometric grid, from 1/2 to about 4 m, on which lambda is first searched."""
_PARTS = 8
"""Steps into which the grid is divided next to its best point. Any lambda gives a valid bound."""
_AROUND, _PER_OCTAVE = 80, 24
"""Sizes w of the float estimate: 80 below k/p and twice as many above, 24 per factor of 2."""
_HALVES = 20
"""Sizes n, n/2, n/4, ... that are added, for where k/p is far below n. Without them up to 0.002 nats are lost."""

Row: TypeAlias = NDArray[np.float64]
_NATS, _CLOSE = 0.001, 1e-5
"""How far n times the bound may be above n times the maximum: in nats, and relative to it."""
_TANGENTS = 400
"""Most tangents, and a bound is valid after any number of them."""


def mean_verge(sampling: FixedBatch, threshold: int) -> flint.arb:
    r"""Upper bound of the mean of :math:`1 - \rho` over all data sets.

    .. math:: \sum_g P[N_g = \theta-1] \frac{w_g - \theta + 1}{n-m+1} = \sum_g \frac{w_g}{n} h(w_g), \qquad
              h(w) = P[\mathrm{Hyp}(n-1, w-1, m-1) = \theta-1]

    h is largest at :math:`w = \lfloor (\theta-1) n / (m-1) \rfloor + 1`. Nearly tight, for prefixes of that size.
    """
    n, m = sampling.users, sampling.batch
    size = n if m == 1 else min(n, (threshold - 1) * n // (m - 1) + 1)
    return hypergeometric_pmf(n - 1, size - 1, m - 1, threshold - 1)


def verge_leak(sampling: FixedBatch, threshold: int, kappa: flint.arb) -> flint.arb:
    r"""Upper bound of :math:`E[(1 - \kappa\rho)_+]` over all data sets.

    Uses :math:`(1 - \kappa\rho)_+ \le e^{-\lambda\rho}` for :math:`\lambda \le \kappa`, and :math:`\frac{\kappa}{\lambda}
    e^{\lambda/\kappa - 1} e^{-\lambda\rho}` beyond. For a kappa of at least 1. At most 1; valid, not tight.
    """
    mean = mean_verge(sampling, threshold)
    if (total := verge(sampling, threshold)) is None:
        return mean
    k = float(kappa)
    x = _best(total, lambda x: np.where(x <= k, 0.0, np.log(k / x) + x / k - 1) - x)
    with working_precision(_PRECISION):
        exact = flint.arb(x)
        log_factor = flint.arb(0) if exact <= kappa else (kappa / exact).log() + exact / kappa - 1
        bound = (_log_moment(total, x) - exact + log_factor.max(flint.arb(0))).exp()
    return mean.min(bound)


@dataclass(frozen=True, slots=True)
class Sum:
    r"""The sum of weights of the prefixes with exactly k of d votes drawn from n users, over all data sets.

    A prefix of w users weighs :math:`a (w - k) + b`, and all together at most 1.
    """

    users: int  # n, d and k, with ``0 < d < n``
    draws: int
    votes: int
    slope: Fraction  # a and b
    level: Fraction


def verge(sampling: FixedBatch, threshold: int) -> Sum | None:
    r"""Of weights whose sum is :math:`1 - \rho(S)`; None where that may always be 1."""
    n, m = sampling.users, sampling.batch
    return None if threshold < 2 or m < 2 else Sum(n, m - 1, threshold - 1, Fraction(1, n - m + 1), Fraction(0))


def critical(sampling: FixedBatch, threshold: int) -> Sum | None:
    r"""Of weights whose sum is the share of a sample that votes for prefixes with exactly theta votes; None where all are sampled.

    Such a prefix is not released if the new user takes the place of one of its voters. As in the module's docstring, with
    :math:`\psi(w) = \ln(1 + P[\mathrm{Bin}(w, m/n) = \theta](e^{\lambda\theta/m} - 1))`.
    """
    n, m = sampling.users, sampling.batch
    return None if m == n else Sum(n, m, threshold, Fraction(0), Fraction(threshold, m))


@lru_cache(maxsize=256)
def tail(total: Sum | None, above: float) -> flint.arb:
    """Upper bound of P[sum > above] over all data sets, by Chernoff's bound; 1 of no sum."""
    if total is None:
        return flint.arb(1)
    x = _best(total, lambda x: -x * above)
    with working_precision(_PRECISION):
        return flint.arb(1).min((_log_moment(total, x) - flint.arb(x) * flint.arb(above)).exp())


def tail_estimate(total: Sum | None, above: float) -> float:
    """Float estimate of the logarithm of `tail`; it guides choices only."""
    if total is None:
        return 0.0
    lambdas, moments = _rough(total)
    return min(0.0, float(np.min(moments - lambdas * above)))


def _best(total: Sum, rest: Callable[[Row], Row]) -> float:
    """About the lambda at which the logarithm of the moment's bound plus the rest is smallest."""
    lambdas, moments = _rough(total)
    ratio = float(lambdas[1] / lambdas[0]) ** (1 / _PARTS)
    # On a finer grid, so that the next query may hit the cache of `_log_moment`.
    near = float(lambdas[np.argmin(moments + rest(lambdas))]) * ratio ** np.arange(1.0 - _PARTS, _PARTS)
    return float(near[np.argmin(_moments(total, near) + rest(near))])


@lru_cache(maxsize=64)
def _rough(total: Sum) -> tuple[Row, Row]:
    """The grid of lambdas, and float estimates of the logarithms of the moments' bounds."""
    lambdas = np.exp(math.log(8.0 * total.draws + 8) * np.arange(_LAMBDAS) / _LAMBDAS) / 2
    return lambdas, _moments(total, lambdas)


@lru_cache(maxsize=64)
def _chances(total: Sum) -> tuple[Row, Row, Row]:
    """Some w, float logarithms of P[Bin(w, p) = k] by Stirling's formula, and weights."""
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
    """Float estimates of the logarithms of the moments' bounds, from a few w."""
    sizes, chances, weights = _chances(total)
    worths = np.outer(lambdas, weights)
    quotients = np.logaddexp(0.0, chances + worths + np.log(-np.expm1(-worths))) / sizes
    return total.users * _peaks(np.log(sizes), quotients) + math.log(2 * math.pi * total.draws) / 2


def _peaks(places: Row, values: Row) -> Row:
    """The largest value of every row, or the maximum of a parabola through it and its neighbours."""
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
    """Logarithm of the bound of E exp(x sum)."""
    n, d = total.users, total.draws
    with working_precision(_PRECISION):
        chance = binomial_pmf(n, ball(d) / n, d)
        slope, level = flint.arb(x) * ball(total.slope), flint.arb(x) * ball(total.level)
        return n * largest_slope(n, d, total.votes, slope, level) - chance.log()


@dataclass(frozen=True, slots=True)
class RemovalBound:
    """P <= exp(epsilon) P' + delta for all data sets, P' with the user: (epsilon, delta)-DP in the remove direction."""

    epsilon: flint.arb  # r, above 0
    delta: float  # b


def removal_bound(sampling: Sampling, threshold: int, rounds: int, words: int, goal: float) -> RemovalBound:
    """The smallest r found for which b is negligible beside the goal, a delta that guides the choice of a only."""
    once = -ball(1 - sampling.rate).log()
    if words > 1 or rounds == 1:
        return RemovalBound(rounds * once, 0.0)
    if not isinstance(sampling, FixedBatch):
        return RemovalBound(once, 0.0)
    wanted, share_of_votes = math.log(max(goal, 1e-300) * _NEGLIGIBLE / rounds), critical(sampling, threshold)
    share = next((a for a in _SHARES if tail_estimate(share_of_votes, a) < wanted), 1.0)
    delta = round_up(rounds * tail(share_of_votes, share)) if share < 1 else 0.0
    if delta > goal:
        return RemovalBound(rounds * once, 0.0)
    return RemovalBound(once - (rounds - 1) * (1 - ball(sampling.rate) * flint.arb(share)).log(), delta)


@dataclass(frozen=True, slots=True)
class _Tangent:
    """z at a size, its slope there, and psi(w)/w."""

    size: float
    value: flint.arb
    slope: flint.arb

    def quotient(self, w: float) -> flint.arb:
        """Upper bound of psi(w)/w."""
        return (self.value + self.slope * (flint.arb(w) - self.size)).exp().log1p() / w

    def meets(self, other: _Tangent) -> float:
        """About where the two lines meet, and always between the two sizes."""
        a, b = float(self.size), float(other.size)
        bend = float(self.slope - other.slope)
        at = a + float(other.value - self.value - other.slope * (flint.arb(b) - a)) / bend if bend > 0 else a
        inside = a + 1e-3 * (b - a) < at < b - 1e-3 * (b - a)
        return at if inside else (a + b) / 2


def largest_slope(users: int, draws: int, votes: int, slope: flint.arb, level: flint.arb) -> flint.arb:
    r"""Upper bound of the maximum of :math:`\psi(w)/w` over the integers from k to n.

    It needs ``0 < d < n``, ``1 <= k < n``, and a slope a and a level b that are not both 0. n times it is above n times the maximum
    by at most 0.001 nats plus 1e-5 of it, unless 400 tangents do not suffice.
    """
    p = ball(draws) / users
    log_p, log_q = p.log(), (1 - p).log()
    constant = votes * log_p - flint.arb(votes + 1).lgamma()

    def tangent(w: float) -> _Tangent:
        x = flint.arb(w)
        rest = x - votes
        worth = slope * rest + level
        rising = -(-worth).expm1()
        value = constant + (x + 1).lgamma() - (rest + 1).lgamma() + log_q * rest + worth + rising.log()
        change = (x + 1).digamma() - (rest + 1).digamma() + log_q + slope / rising
        return _Tangent(w, value, change)

    # At w = k, where ln(w - k) is not defined, the weight is the level.
    first, last = float(votes + 1), float(users)
    alone = (votes * log_p).exp() * level.expm1()
    best = alone.log1p() / votes
    middle = min(max(votes * users / draws, first), last)
    at = [tangent(w) for w in sorted({first, middle, last})]
    reached = max(float((t.quotient(t.size)).lower()) for t in at)
    pieces: list[tuple[float, float, _Tangent, _Tangent]] = []

    def push(left: _Tangent, right: _Tangent) -> None:
        w = left.meets(right)
        bound = left.quotient(w).max(right.quotient(w)).max(left.quotient(left.size)).max(right.quotient(right.size))
        heapq.heappush(pieces, (-round_up(bound), left.size, left, right))

    if len(at) == 1:
        return best.max(at[0].quotient(first)).upper()
    for left, right in pairwise(at):
        push(left, right)
    for _ in range(_TANGENTS):
        top, _, left, right = pieces[0]
        if users * (-top - reached) <= _NATS + _CLOSE * users * reached:
            break
        heapq.heappop(pieces)
        between = tangent(left.meets(right))
        reached = max(reached, float(between.quotient(between.size).lower()))
        push(left, between)
        push(between, right)
    return best.max(flint.arb(-pieces[0][0])).upper()
