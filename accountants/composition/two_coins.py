r"""Exact composition of M randomized bits with losses alpha, -alpha and N randomized bits with losses beta, -beta.

With i of the M bits and j of the N bits reported truthfully, the loss is :math:`(2i - M)\alpha + (2j - N)\beta`. With I
and J binomial, and :math:`i_j` the least i at which the loss exceeds epsilon, {loss > epsilon} has the probabilities

.. math:: P = \sum_{j=0}^{N} P[J = j]\,P[I \ge i_j], \qquad Q = \sum_{j=0}^{N} Q[J = j]\,Q[I \ge i_j], \qquad
          \delta(\varepsilon) = P - e^\varepsilon Q

and because this event is the best one at epsilon (Neyman, Pearson), :math:`\varepsilon(\delta)` is the largest
:math:`\log\frac{P - \delta}{Q}` over all epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import crossing, step_up
from ldpaudit.accountants.pld.distribution import Loss
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import RESOLUTION, Number

_BITS = 160  # of the search for epsilon: P - delta cancels, and a float result needs 53 of them

_STEPS = 16  # Newton's steps after which a search takes over
_FACTOR, _CLOSE = 1.5, 1e-3  # first factor, and relative width, of that search


@dataclass(frozen=True)
class TwoCoins(OnePairProfile):
    """Profile of M bits that are truthful with probability p and N bits that are truthful with probability q.

    Tight for two inputs that differ in all bits: attained on the event {loss > epsilon}. Source: the module docstring.
    """

    p: Fraction  # in [1/2, 1)
    m: int  # M, at least 0
    q: Fraction  # in [1/2, 1)
    n: int  # N, at least 0
    source: str  # what the numbers rest on

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT; relative width below 1e-15, except where delta underflows."""
        if math.isinf(epsilon):
            return Enclosure(0.0, 0.0, Rigour.EXACT, self.source)
        exact = Fraction(epsilon)
        return narrow(lambda: self._gain(exact), self.source).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """EXACT; relative width below 1e-13."""
        if delta == 0:
            return narrow(self.pure, self.source)
        low, reached, steps = 0.0, self._reached(0.0, Fraction(delta)), 1
        # Newton's method on a convex function, from the left: every iterate is a lower bound.
        while reached > low * (1 + RESOLUTION):
            if steps == _STEPS:  # a small delta is hundreds of steps away: any event gives a lower bound
                near = crossing(lambda e: self.delta(e).high, delta, reached, _FACTOR, _CLOSE)[0]
                reached = max(reached, self._reached(near, Fraction(delta)))
            low, reached, steps = reached, self._reached(reached, Fraction(delta)), steps + 1
        high = step_up(lambda e: self.delta(e).high <= delta, low, max(low, RESOLUTION) * RESOLUTION)
        return Enclosure(low, high, Rigour.EXACT, self.source)

    def pure(self) -> flint.arb:
        """The largest loss."""
        alpha, beta = self._losses()
        return self.m * alpha + self.n * beta

    def _losses(self) -> tuple[flint.arb, flint.arb]:
        return Loss(self.p / (1 - self.p)).ball(), Loss(self.q / (1 - self.q)).ball()

    def _reached(self, epsilon: float, delta: Fraction) -> float:
        """Lower bound of epsilon(delta) from the event {loss > `epsilon`}, rounded down."""
        with working_precision(_BITS + (self.m + self.n).bit_length()):
            p = q = flint.arb(0)
            for j, least in enumerate(self._least(ball(Fraction(epsilon)))):
                p += _mass(self.n, self.q, j) * _tail(self.m, self.p, least[0])
                q += _mass(self.n, 1 - self.q, j) * _tail(self.m, 1 - self.p, least[0])
            kept = p - ball(delta)
            return max(0.0, round_down((kept / q).log())) if kept > 0 and q > 0 else 0.0

    def _gain(self, epsilon: Fraction) -> flint.arb:
        """delta, at the current precision."""
        with working_precision(working_bits() + (self.m + self.n).bit_length() + 8):
            factor, total = ball(epsilon).exp(), flint.arb(0)
            for j, leasts in enumerate(self._least(ball(epsilon))):
                p, q = _mass(self.n, self.q, j), factor * _mass(self.n, 1 - self.q, j)
                best = flint.arb(0)
                # Where the least i is undecided, all possible ones are tried: none beats the right one.
                for i in leasts:
                    best = best.max(p * _tail(self.m, self.p, i) - q * _tail(self.m, 1 - self.p, i))
                total += best
        return total

    def _least(self, epsilon: flint.arb) -> list[range]:
        """For every j, the possible values of the least i at which the loss exceeds epsilon; M + 1 where none does."""
        alpha, beta = self._losses()
        return [self._between(epsilon - (2 * j - self.n) * beta, alpha) for j in range(self.n + 1)]

    def _between(self, needed: flint.arb, alpha: flint.arb) -> range:
        if self.m == 0 or self.p == Fraction(1, 2):
            return range(0 if not needed >= 0 else self.m + 1, 1 if needed < 0 else self.m + 2)
        place = (self.m + needed / alpha) / 2
        low, high = (min(max(math.floor(end) + 1, 0), self.m + 1) for end in (round_down(place), round_up(place)))
        return range(low, high + 1)


def _mass(coins: int, chance: Fraction, heads: int) -> flint.arb:
    """`binomial_pmf` at the current precision, kept for the next query."""
    return _kept(binomial_pmf, coins, chance, heads, working_bits())


def _tail(coins: int, chance: Fraction, heads: int) -> flint.arb:
    """`binomial_upper` at the current precision, kept for the next query."""
    return _kept(binomial_upper, coins, chance, heads, working_bits())


@lru_cache(maxsize=1 << 15)
def _kept(law: Callable[[int, Fraction, int], flint.arb], coins: int, chance: Fraction, heads: int, bits: int) -> flint.arb:
    with working_precision(bits):
        return law(coins, chance, heads)
