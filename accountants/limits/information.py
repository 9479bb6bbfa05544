r"""How much one private message tells, in bits, about which of B values its user holds; and what a shuffled guarantee says of it.

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

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count, pairwise
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.search import halved
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.mechanisms.shared.parameters import log2

_CELLS = 150
"""Intervals into which [0, 1] is cut for the largest information of a private message; with 600 it changes by less than 1e-6."""
_LISTED = 512
"""Up to this many values each number of likelier values is tried, which takes no longer."""


def as_printed(users: int, values: int, epsilon: Fraction, delta: Fraction, shuffled: int) -> flint.arb:
    r"""Upper bound :math:`\varepsilon_L \log_2 e`, or for delta > 0 :math:`1 + \varepsilon_L \log_2 e + 2 \delta \log_2 B`.

    With :math:`\varepsilon_L = \varepsilon` in the local model and :math:`\varepsilon + \ln n` in the single-message shuffled
    one: the ratio of a message's law given a value to its mean exceeds :math:`2 e^{\varepsilon_L}` with probability at most
    :math:`2 \delta`, and B never. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemma 3.8.
    """
    local = (ball(epsilon) + (flint.arb(users).log() if shuffled else 0)) / flint.arb(2).log()
    return (local if delta == 0 else 1 + local + 2 * ball(delta) * log2(values)).min(log2(values))


def sharpened(users: int, values: int, epsilon: Fraction, delta: Fraction, shuffled: int) -> flint.arb:
    """The least upper bound known here: for delta = 0 the largest information of any private message.

    A shuffled guarantee with delta = 0 is a local one with the same epsilon: all messages are in E, or they are not.
    """
    if delta == 0:
        return largest_of_private(values, epsilon, Fraction(1))
    if shuffled and users > 1:
        curve = corners(LocalView(users, epsilon, delta))
    else:
        curve = local_curve(Fraction(round_up(ball(epsilon).exp())), delta)
    return curve_information(curve, Fraction(values)).min(as_printed(users, values, epsilon, delta, shuffled))


def largest_of_private(values: int, epsilon: Fraction, weight: Fraction) -> flint.arb:
    r"""Largest information of an epsilon-LDP message about V, where its user holds V with probability w, else a uniform value.

    .. math:: \max_x\; x\, \varphi(w (e^\varepsilon r - 1)) + (1-x)\, \varphi(w (r - 1)), \qquad
              r = \frac{1}{1 + x (e^\varepsilon - 1)}, \quad \varphi(t) = (1+t) \log_2(1+t)

    over x = d/B, for which subset selection attains it, or where there are many values over all x in [0, 1]; and never above
    the bits of a value. Given a message, its likelihood ratios over values have mean 1 and lie within a factor
    :math:`e^\varepsilon`; the information is convex in them, so largest where each is one of two numbers at that factor. A share
    x of values has the larger one.
    Source: Kairouz, Oh, Viswanath 2014, for the two numbers; Ye, Barg 2018, for the mechanism.
    """
    if epsilon == 0:
        return flint.arb(0)
    nats, w = ball(epsilon), ball(weight)

    def told(place: flint.arb_series) -> flint.arb_series:
        least, most = (-nats * place).exp(), (nats * (1 - place)).exp()  # no quotient, so that any epsilon is enclosed
        x = ((nats * place).exp() - 1) / nats.expm1()
        return x * _gap_series(w * (most - 1)) + (1 - x) * _gap_series(w * (least - 1))

    found = largest_of_few(values, nats, w) if values <= _LISTED else largest_value(told)
    return (found / flint.arb(2).log()).min(log2(values))


def largest_of_few(values: int, nats: flint.arb, w: flint.arb) -> flint.arb:
    """The same maximum over x = d/B alone, in nats: all that are possible, one by one."""
    e, largest = nats.exp(), flint.arb(0)
    for d in range(1, values):
        x = ball(Fraction(d, values))
        least = 1 / (1 + x * (e - 1))
        more, less = (_gap(w * (ratio - 1)) for ratio in (e * least, least))
        largest = largest.max(x * more + (1 - x) * less)
    return largest


def _gap(t: flint.arb) -> flint.arb:
    r"""The function :math:`(1+t) \ln(1+t) - t`: a term linear in t cancels on average over values."""
    return (1 + t) * t.log1p() - t


def _gap_series(t: flint.arb_series) -> flint.arb_series:
    """The same function to first order, for a ball.

    By the mean value theorem, so that a ball of width h around 0 becomes one of width about :math:`h^2`.
    """
    middle, slope = t[0].mid(), t[0].log1p()
    value = _gap(middle) + slope * (t[0] - middle)
    return flint.arb_series([value, slope * t[1]], prec=2)


def largest_value(function: Callable[[flint.arb_series], flint.arb_series]) -> flint.arb:
    """Upper bound of a smooth function of [0, 1], by halving the interval on which its bound is largest.

    On each interval the bound is the value in the middle plus the largest slope times half the length.
    ``function``: of a power series to first order; it is enclosed for balls.
    """
    order = count()

    def bounded(low: Fraction, high: Fraction) -> tuple[float, int, Fraction, Fraction]:
        middle, half = (low + high) / 2, ball((high - low) / 2)
        slope = function(flint.arb_series([between(ball(low), ball(high)), 1], prec=2))[1]
        value = function(flint.arb_series([ball(middle), 0], prec=2))[0] + abs(slope).upper() * half
        return -round_up(value), next(order), low, high

    cells = [bounded(Fraction(0), Fraction(1))]
    for _ in range(_CELLS):
        _, _, low, high = heapq.heappop(cells)
        middle = (low + high) / 2
        for ends in ((low, middle), (middle, high)):
            heapq.heappush(cells, bounded(*ends))
    most = -cells[0][0]
    return ball(Fraction(most)) if math.isfinite(most) else flint.arb.pos_inf()


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
    """One message of an (epsilon, delta)-private single-message shuffled protocol."""

    users: int  # n
    epsilon: Fraction
    delta: Fraction  # above 0

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

    ``curve``: corners of a polygon at or above a rising a*, which is level on their left; ``most``: number of values, at least
    1.
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
