r"""What a shuffled guarantee says of one user's message: the largest a for which p and a can be the probabilities of an event.

In the single-message shuffled model the number of messages in an event E is Bin(n, p) where all users hold x', with p =
:math:`P_{x'}(E)`, and Bin(n-1, p) + Ber(a) where one of them holds x, with a = :math:`P_x(E)`. An (epsilon, delta) guarantee
bounds the hockey-stick divergence of these two counts, in both orders, and so a by

.. math:: a^*(p) = \min_k \min\Bigl(e^\varepsilon p + \frac{\delta + (e^\varepsilon - 1) P[M \ge k]}{P[M = k-1]},\;
          1 - e^{-\varepsilon} \Bigl(1 - p - \frac{\delta + (e^\varepsilon - 1) P[M \le k-1]}{P[M = k]}\Bigr)\Bigr)

with :math:`M \sim Bin(n-1, p)`: an event "at least k messages" in one order, "at most k" in the other, each of which says
something linear in a: with u = P[M >= k] and b = P[M = k-1] the divergence is :math:`u + a b - e^\varepsilon (u + p b)`, and at the
bound it is delta. As the likelihood ratio of the two counts is monotone, no other event says more. Every user may
reject a message in E, or accept one outside, at random, so :math:`a^*(p)` rises and :math:`a^*(p)/p` falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.search import halved
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up

Point: TypeAlias = tuple[Fraction, Fraction]
"""A probability p, and a number at or above a*(p)."""

_BITS = 96
"""Precision of one evaluation; with 160 bits no bound of the tests changes in six digits."""
_FINE, _COARSE = 10**0.01, 10**0.1
"""Ratio of neighbouring mean numbers np of messages in the event, above and below a hundredth, where a* is nearly constant or
linear; with half the steps the information at n = 1e4 and 1e6 falls by less than 0.1 %."""
_FEW = 1e-2
_LEAST = Fraction(1, 64)
"""Smallest mean number, in units of delta: there a* is delta, but for 1/64 of e**epsilon."""
_FLOATS = 1 << 34
"""Beyond this many users logarithms of factorials in floats say nothing."""
_SMALLEST = 1e-290
"""Mean number from which on it is a float, whatever delta."""
_MOST_MEAN = 1e8
"""Largest mean number, some 500 over the square of epsilon = 0.002; beyond, a* is taken as 1."""


@dataclass(frozen=True, slots=True)
class LocalView:
    """One message of an (epsilon, delta)-private single-message shuffled protocol.

    Parameters
    ----------
    users : int
        n.
    epsilon, delta : Fraction
        The guarantee; delta above 0.
    """

    users: int
    epsilon: Fraction
    delta: Fraction

    def most(self, p: Fraction) -> Fraction:
        """A number at or above a*(p), next to it."""
        with working_precision(_BITS):
            upper = self.at_least(p, self._best(p, 1, self._upper_estimate))
            lower = self.at_most(p, self._best(p, 0, self._lower_estimate))
            found = min(1.0, round_up(upper), round_up(lower))
        return max(p, Fraction(found))

    def least(self, p: Fraction) -> Fraction:
        """A number at or below a*(p), next to it: both divergences are certified to be at most delta there."""
        found, step = self.most(p), Fraction(1, 1 << 40)
        while step < 1:
            a = p + (found - p) * (1 - step)
            if self._keeps(p, a):
                return a
            step *= 64
        return p

    def at_least(self, p: Fraction, k: int) -> flint.arb:
        """What the event "at least k messages" says."""
        e, m = ball(self.epsilon).exp(), self.users - 1
        return e * ball(p) + (ball(self.delta) + (e - 1) * binomial_upper(m, p, k)) / binomial_pmf(m, p, k - 1)

    def at_most(self, p: Fraction, k: int) -> flint.arb:
        """What the event "at most k messages" says."""
        e, m = ball(self.epsilon).exp(), self.users - 1
        told = (ball(self.delta) + (e - 1) * binomial_lower(m, p, k - 1)) / binomial_pmf(m, p, k)
        return 1 - (ball(1 - p) - told) / e

    def _keeps(self, p: Fraction, a: Fraction) -> bool:
        """Whether a is at most what the two events at which the likelihood ratio crosses e**epsilon say."""
        with working_precision(_BITS):
            e, n = ball(self.epsilon).exp(), self.users
            slope = ball((a - p) / (n * p * (1 - p)))
            ratio_at_0 = ball((1 - a) / (1 - p))
            above, below = ((limit - ratio_at_0) / slope for limit in (e, 1 / e))
            bounds = [self.at_least(p, k) for k in _around(above, 1, n)]
            bounds += [self.at_most(p, k) for k in _around(below, 0, n - 1)]
            return all(ball(a) <= bound for bound in bounds)

    def _best(self, p: Fraction, least: int, estimate: Callable[[float, int], float]) -> int:
        """The k of n numbers from `least` that says most, as far as floats tell: the bound falls in k, and then rises."""
        q, mean = float(p), (self.users - 1) * float(p)
        reach = 50 + 40 * math.sqrt(mean)
        low, high = max(least, int(mean - reach)), min(self.users - 1 + least, int(mean + reach))
        return halved(lambda k: estimate(q, k) <= estimate(q, k + 1), low, max(low, high))

    def _upper_estimate(self, p: float, k: int) -> float:
        from scipy.special import betainc

        m = self.users - 1
        tail = float(betainc(k, m - k + 1, p)) if k <= m else 0.0
        return _over(float(self.delta) + math.expm1(self.epsilon) * tail, _log_pmf(m, k - 1, p))

    def _lower_estimate(self, p: float, k: int) -> float:
        from scipy.special import betaincc

        m = self.users - 1
        tail = float(betaincc(k, m - k + 1, p)) if k else 0.0
        return _over(float(self.delta) + math.expm1(self.epsilon) * tail, _log_pmf(m, k, p))


def _around(place: flint.arb, least: int, most: int) -> list[int]:
    """The two integers next to a place where a likelihood ratio crosses, cut to a range."""
    middle = math.floor(min(max(float(place), least), most))
    return sorted({middle, min(middle + 1, most)})


def _over(value: float, log: float) -> float:
    return value * math.exp(min(-log, 700.0))


def _log_pmf(n: int, k: int, p: float) -> float:
    """Float estimate of the logarithm of a binomial probability; of a Poisson law's where n is beyond a float's digits."""
    if not 0 <= k <= n:
        return -math.inf
    if n > _FLOATS:
        return k * math.log(n * p) - n * p - math.lgamma(k + 1)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return ways + k * math.log(p) + (n - k) * math.log1p(-p)


@lru_cache(maxsize=64)
def points(view: LocalView) -> tuple[Point, ...]:
    """Numbers at or above a*(p), for p from where a* is about delta up to where nothing is known: the last one is 1."""
    found: list[Point] = []
    mean = max(_SMALLEST, float(view.delta * _LEAST))
    while mean < min(_MOST_MEAN, view.users):
        p = Fraction(mean) / view.users
        if p >= 1:
            break
        found.append((p, view.most(p)))
        if found[-1][1] == 1:
            return tuple(found)
        mean *= _FINE if mean >= _FEW else _COARSE
    return (*found, (Fraction(1), Fraction(1)))


def corners(view: LocalView) -> tuple[Point, ...]:
    """Points such that a* lies below the polygon that joins them, a level line at the first one's height on its left.

    Between two neighbours of `points`, a* is at most the later one's, and at most on the line from 0 through the earlier one.
    """
    known = points(view)
    return (known[0], *((p * after / a, after) for (p, a), (_, after) in pairwise(known)))


def exp_local_epsilon(view: LocalView, delta: Fraction) -> Fraction:
    r"""A number r for which one message is (ln r, delta)-LDP, for a delta that is at least the shuffled one.

    .. math:: r = \sup_p \frac{a^*(p) - \delta'}{p}

    On the left of the first point, "at least one message" says that the quotient is at most what it says at that point.
    """
    first, _ = points(view)[0]
    with working_precision(_BITS):
        rarest = (first, Fraction(round_up(view.at_least(first, 1))))
    return max(Fraction(1), *((a - delta) / p for p, a in (rarest, *corners(view))))


def curve_information(curve: Iterable[Point], most: Fraction) -> flint.arb:
    r"""Upper bound, in bits, of the information of a message about a uniform one of `most` values.

    .. math:: I \le \int_0^1 \tilde a'(p) \log_2 \tilde a'(p)\, dp

    with the concave majorant :math:`\tilde a` of :math:`\min(a^*(p), most \cdot p)`: an event has at most this probability
    given a value, where it has p on average over values, for it has at most p given some value. The information is
    the average divergence of a value's law from the average law, and of two pairs of laws the one whose curve lies higher has
    the larger divergence. Source: Blackwell 1953, for the last step; not in the paper.

    Parameters
    ----------
    curve : iterable of Point
        Corners of a polygon at or above a rising a*, which is level on their left.
    most : Fraction
        Number of values, at least 1.
    """
    line = [(Fraction(0), Fraction(0)), *((max(p, a / most), a) for p, a in curve), (Fraction(1), Fraction(1))]
    total = flint.arb(0)
    for (p, a), (p2, a2) in pairwise(_concave(line)):
        if a2 > a:
            total += ball(a2 - a) * ball((a2 - a) / (p2 - p)).log()
    return total / flint.arb(2).log()


def local_curve(exp_epsilon: Fraction, delta: Fraction) -> tuple[Point, ...]:
    r"""Corners of :math:`\min(r p + \delta,\, 1 - (1 - p - \delta)/r,\, 1)`, where a message is (ln r, delta)-LDP."""
    crossing = (1 - delta) / (exp_epsilon + 1)
    return ((Fraction(0), delta), (crossing, exp_epsilon * crossing + delta), (1 - delta, Fraction(1)))


def _concave(line: list[Point]) -> list[Point]:
    """The corners of the smallest concave function at or above a rising polygon."""
    kept: list[Point] = []
    for p, a in sorted(line):
        while kept and kept[-1][0] == p:
            kept.pop()
        while len(kept) > 1 and _below(kept[-2], kept[-1], (p, a)):
            kept.pop()
        kept.append((p, a))
    return kept


def _below(first: Point, middle: Point, last: Point) -> bool:
    """Whether the middle point lies on or below the line through the two others."""
    return (middle[1] - first[1]) * (last[0] - first[0]) <= (last[1] - first[1]) * (middle[0] - first[0])
