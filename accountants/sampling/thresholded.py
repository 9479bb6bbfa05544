r"""Votes of a sample: one prefix, one round.

A sample is drawn, sampled users vote for what they hold, and a prefix with at least ``threshold`` votes is released. One
user more, who holds the prefix too, changes the probability of its release from

.. math:: g(w) = P[N \ge \theta] \quad\text{to}\quad g'(w) = (1-q)\,g(w) + q\,P[N^- \ge \theta - 1]

where w others hold it, N counts their votes, q is the probability that the new user is sampled, and :math:`N^-` are the
others' votes if the new user is. The adversary chooses w, and for every c > 1 - q the difference :math:`g'(w) - c\,g(w)`
rises until

.. math:: w^\star(c) = \max\Bigl(\theta - 1,\;
          \Bigl\lceil \theta - 2 + (\theta - 1)\frac{1-q}{c - 1 + q} \Bigr\rceil\Bigr)

and falls from there on: its step from w to w + 1 is, for sampling without replacement of m from n and for Poisson
sampling alike, a positive multiple of :math:`(\theta-1)(1-q) - (c-1+q)(w-\theta+2)`. So the worst w is known exactly.
It is :math:`\theta - 1` only where :math:`(\theta-1)(1-q) \le c - 1 + q`.

Nothing cancels in :math:`g' - c g = (g' - g) - (c - 1) g`: one more holder changes the number of votes by one at most, so
that the gain :math:`g' - g` is the probability of one number of votes, times a rational.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_pmf, hypergeometric_tail
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import Number

_ESTIMATE_BITS = 80
"""Bits: more than the 53 of the estimate, so that rounding does not decide its last steps."""
_NEWTON_STEPS = 60
"""Most steps. Measured on nine mechanisms and seven deltas: at most 58 where the epsilon is finite and above 0."""
_CLOSE = 0.1
"""Nats from the goal below which Newton's step is taken for the cost itself, not for its logarithm."""
_ENOUGH = 2.0**-46
"""Relative change of the last step, the resolution of every profile's epsilon."""
_GUARD = 48
"""Bits beyond the current precision for e**epsilon: subtracting 1 cancels no more than these for an epsilon above 2**-48."""
_UNDECIDED = 2
"""How far apart two ends of a worst integer may be, all of which are evaluated; beyond, the caller takes more bits."""


class Sampling(ABC):
    """Who votes. `users` counts the data set without the user in question."""

    users: int

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """q, the probability that the user in question is sampled."""

    def gain(self, holders: int, votes: int, neighbours: Neighbours = ADD_REMOVE) -> tuple[flint.arb, flint.arb]:
        """g' - g and g, where g' and g are P[at least `votes` votes] with the user in question and without.

        For add-remove neighbours, the user is absent without; for replace-one, the user holds a value of their own.
        """
        return self._replaced(holders, votes) if neighbours == REPLACE_ONE else self._added(holders, votes)

    def release(self, holders: int, votes: int, neighbours: Neighbours = ADD_REMOVE) -> tuple[flint.arb, flint.arb]:
        """g' and g, see `gain`."""
        more, fewer = self.gain(holders, votes, neighbours)
        return fewer + more, fewer

    @abstractmethod
    def _added(self, holders: int, votes: int) -> tuple[flint.arb, flint.arb]:
        """`gain` for add-remove neighbours."""

    def _replaced(self, holders: int, votes: int) -> tuple[flint.arb, flint.arb]:
        """`gain` for replace-one neighbours: the same, where what the user holds otherwise changes no other prefix's votes."""
        return self._added(holders, votes)

    @abstractmethod
    def without_one(self) -> Sampling:
        """The same sampling of as many users in all, one of whom now counts as the additional one."""


@dataclass(frozen=True, slots=True)
class FixedBatch(Sampling):
    """`batch` of the users, without replacement; with the user in question, of one user more."""

    users: int  # n, at least 1
    batch: int  # m, with ``1 <= m <= n``

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= self.users:
            raise ValueError(f"FixedBatch needs 1 <= batch <= users, got batch={self.batch}, users={self.users}")

    @property
    def rate(self) -> Fraction:
        """m / (n + 1)."""
        return Fraction(self.batch, self.users + 1)

    def _added(self, holders: int, votes: int) -> tuple[flint.arb, flint.arb]:
        r"""The user is sampled, in place of a non-holder, where one vote is missing: its probability is

        .. math:: q\, P[N^- = \theta-1]\, \frac{n-m-w+\theta}{n-m+1}
        """
        n, m, w = self.users, self.batch, holders
        fewer, point = hypergeometric_tail(n, w, m, votes)
        if w >= votes:
            # P[N- = theta - 1] is a rational multiple of P[N = theta].
            return point * (votes * (n - m - w + votes)) / ((n + 1) * (w - votes + 1)), fewer
        return hypergeometric_pmf(n + 1, w + 1, m, votes), fewer

    def _replaced(self, holders: int, votes: int) -> tuple[flint.arb, flint.arb]:
        r"""The user is sampled, where one vote is missing: :math:`q P[N^- = \theta - 1]`."""
        n, m, w = self.users + 1, self.batch, holders
        fewer, point = hypergeometric_tail(n, w, m, votes)
        if w >= votes:
            return point * (votes * (n - w - m + votes)) / ((w - votes + 1) * (n - w)), fewer
        return ball(self.rate) * hypergeometric_pmf(n - 1, w, m - 1, votes - 1), fewer

    def without_one(self) -> FixedBatch:
        """One user less, the same batch."""
        return FixedBatch(self.users - 1, self.batch)


@dataclass(frozen=True, slots=True)
class PoissonBatch(Sampling):
    """Every user is sampled independently, with the same probability."""

    users: int  # n, at least 1
    coin: Fraction  # in (0, 1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coin", Fraction(self.coin))
        if not (self.users >= 1 and 0 < self.coin < 1):
            raise ValueError(f"PoissonBatch needs users >= 1 and 0 < coin < 1, got {self.users} and {self.coin}")

    @property
    def rate(self) -> Fraction:
        """The coin."""
        return self.coin

    def _added(self, holders: int, votes: int) -> tuple[flint.arb, flint.arb]:
        r"""The user is sampled, where one vote is missing: :math:`q P[N = \theta - 1]`."""
        return ball(self.coin) * binomial_pmf(holders, self.coin, votes - 1), binomial_upper(holders, self.coin, votes)

    def without_one(self) -> PoissonBatch:
        """One user less, the same coin."""
        return PoissonBatch(self.users - 1, self.coin)


def _ceilings(value: flint.arb | Fraction) -> tuple[int, int]:
    """Ceilings of the value's lower and upper end."""
    if isinstance(value, Fraction):
        return math.ceil(value), math.ceil(value)
    return int(value.lower().ceil().fmpz()), int(value.upper().ceil().fmpz())


def worst_holders(sampling: Sampling, threshold: int, c: flint.arb | Fraction, least: int = 0) -> tuple[int, int]:
    """Between which two w the largest ``g'(w) - c g(w)`` with ``w >= least`` lies; they differ only where balls cannot decide."""
    q, n = sampling.rate, sampling.users
    slope = c - 1 + q if isinstance(c, Fraction) else c - ball(1 - q)
    if not slope > 0:
        # Below 1 - q more holders are always better; next to it the formula is beyond every n anyway.
        return (n if isinstance(slope, Fraction) or slope <= 0 else min(n, max(least, threshold - 1))), n
    limit = (threshold - 1) * ((1 - q) / slope if isinstance(slope, Fraction) else ball(1 - q) / slope)
    if limit > n:
        return n, n
    low, high = (min(n, max(least, threshold - 1, threshold - 2 + end)) for end in _ceilings(limit))
    return low, high


def single_prefix(sampling: Sampling, threshold: int, c: flint.arb | Fraction, least: int = 0) -> tuple[flint.arb, int]:
    r"""The largest :math:`g'(w) - c\,g(w)` over all ``w >= least``, and the w: the cost of one prefix, others aside.

    Tight: attained by any data set in which w users hold the prefix, on the event that it is released. Negative where every w
    costs nothing.
    """
    low, high = worst_holders(sampling, threshold, c, least)
    if high - low > _UNDECIDED:  # next to c = 1 - q
        return flint.arb.nan(), high
    return reduce(flint.arb.max, (_excess(sampling, threshold, c, w) for w in range(low, high + 1))), low


def removed_prefix(sampling: Sampling, threshold: int, c: flint.arb) -> flint.arb:
    r"""The largest :math:`(1 - g(w)) - c\,(1 - g'(w))`: the remove direction, on the event that the prefix is not released.

    It is :math:`1 - c + c \max_w (g'(w) - g(w)/c)`, so the worst w is that of 1/c; where :math:`c \ge 1/(1 - q)` it is 0. Not
    a number where balls cannot decide which w is worst.
    """
    low, high = worst_holders(sampling, threshold, 1 / c)
    if c * ball(1 - sampling.rate) >= 1:
        return flint.arb(0)
    if high - low > _UNDECIDED:
        return flint.arb.nan()
    gains = (sampling.gain(w, threshold) for w in range(low, high + 1))
    return reduce(flint.arb.max, (more - (c - 1) * (1 - fewer - more) for more, fewer in gains), flint.arb(0))


def _excess(sampling: Sampling, votes: int, c: flint.arb | Fraction, w: int) -> flint.arb:
    more, fewer = sampling.gain(w, votes)
    return more - (ball(c - 1) if isinstance(c, Fraction) else c - 1) * fewer


def revealed(sampling: Sampling, threshold: int, c: flint.arb, least: int) -> flint.arb:
    r"""The largest hockey-stick divergence over ``w >= least`` if a released prefix's votes were shown as well.

    .. math:: \max_{w \ge w_0} \max_{t \ge \theta} P'[N \ge t] - c\,P[N \ge t]

    The ratio grows with the votes, hence the tail events. Raising t by one at w + 1 is a coin toss between t and t + 1
    at w (condition on whether one holder is sampled), so the maximum over all w does not grow with t: at
    :math:`w^\star` it is `single_prefix`. Where :math:`w_0 > w^\star`, the worst w is :math:`w_0`, at its own best t.
    """
    low, high = worst_holders(sampling, threshold, c)
    if high >= least:
        best, _ = single_prefix(sampling, threshold, c, least)
        if low >= least:
            return best.max(flint.arb(0))
    else:
        best = flint.arb(0)
    # Votes j with ratio above c: j > (c - 1 + q)(w + 1) / c.
    edge = (c - ball(1 - sampling.rate)) * (least + 1) / c
    first, last = (max(threshold, end) for end in _ceilings(edge))
    if last - first > _UNDECIDED:
        return flint.arb.nan()
    return reduce(flint.arb.max, (_excess(sampling, votes, c, least) for votes in range(first, last + 2)), best)


def exp_ball(epsilon: Number) -> flint.arb:
    """e**epsilon, more precise than the current precision by `_GUARD` bits."""
    with working_precision(working_bits() + _GUARD):
        return ball(Fraction(epsilon)).exp()


def prefix_inverse(sampling: Sampling, threshold: int, delta: Number, neighbours: Neighbours) -> float:
    """Float estimate of the epsilon at which D is delta; meaningless where no finite epsilon above 0 is."""
    rate, goal = float(sampling.rate), float(delta)
    if not goal > 0:
        return 0.0
    start = _first(threshold, math.log(rate) - math.log(goal)) * rate
    with working_precision(_ESTIMATE_BITS):
        found = growth_at(lambda growth: _prefix_cost(sampling, threshold, growth, neighbours), goal, rate, start)
    return math.log1p(found) if math.isfinite(found) else 0.0


def growth_at(cost: Callable[[flint.arb], tuple[flint.arb, flint.arb]], goal: float, rate: float, start: float) -> float:
    """Float estimate of the c - 1 at which a decreasing convex cost falls to the goal."""
    low, high, growth = 0.0, math.inf, start
    for _ in range(_NEWTON_STEPS):
        value, fall = cost(flint.arb(growth))
        excess, step = float((value / goal).log()) if value > 0 else -math.inf, math.nan
        if excess == 0:
            break
        if fall > 0 and abs(excess) < _CLOSE:
            step = float((value - goal) / fall)
        elif fall > 0 and value > 0:
            power = float(value / fall) * excess / (growth + rate)
            step = (growth + rate) * math.expm1(max(-5.0, min(5.0, power)))
        low, high = (growth, high) if excess > 0 else (low, growth)
        found = growth + step
        if not low < found < high:
            found = (low + high) / 2 if high < math.inf else 2 * growth
        if abs(found - growth) <= _ENOUGH * growth:
            return found
        growth = found
    return growth


def _prefix_cost(sampling: Sampling, threshold: int, growth: flint.arb, neighbours: Neighbours) -> tuple[flint.arb, flint.arb]:
    """D at c = 1 + growth, and minus its slope."""
    w, _ = worst_holders(sampling, threshold, 1 + growth)
    more, fewer = sampling.gain(w, threshold, neighbours)
    return (more - growth * fewer).mid(), fewer.mid()


def _first(threshold: int, nats: float) -> float:
    """(c - 1)/q for a Poisson number of votes: the x - 1 at which theta (ln x - 1 + 1/x) is this number of nats."""
    x, wanted = 1.0, max(nats, 1e-3) / threshold
    x = 1 + math.sqrt(2 * wanted) + wanted
    for _ in range(20):
        step = (math.log(x) - 1 + 1 / x - wanted) / (1 / x - 1 / (x * x))
        # The root of a concave function from its right: by the logarithm.
        x = max(1 + 1e-9, x * math.exp(max(-2.0, min(2.0, -step / x))))
        if abs(step) < 1e-3 * x:
            break
    return max(x - 1, 1e-6)
