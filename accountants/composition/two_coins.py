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
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import step_up
from ldpaudit.accountants.pld.distribution import Loss
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import RESOLUTION, Number, require_delta, require_epsilon
from ldpaudit.working_precision import working_bits, working_precision

_BITS = 160
"""Bits of the search for epsilon; P - delta cancels, and a float result needs 53 of them. With 80 or 320 an epsilon of
200 and 100 bits has the same width and time."""


@dataclass(frozen=True)
class TwoCoins(OnePairProfile):
    """Profile of M bits that are truthful with probability p and N bits that are truthful with probability q.

    Tight for two inputs that differ in all bits: attained on the event {loss > epsilon}. Source: the module docstring.

    Parameters
    ----------
    p : Fraction
        In [1/2, 1).
    m : int
        M, at least 0.
    q : Fraction
        In [1/2, 1).
    n : int
        N, at least 0.
    source : str
        What the numbers rest on.
    """

    p: Fraction
    m: int
    q: Fraction
    n: int
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT; relative width below 1e-15, except where delta underflows."""
        if math.isinf(require_epsilon(epsilon)):
            return Enclosure(0.0, 0.0, Rigour.EXACT, self.source)
        exact = Fraction(epsilon)
        return narrow(lambda: self._gain(exact), self.source).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """EXACT; relative width below 1e-13."""
        if require_delta(delta) == 0:
            return narrow(self.pure, self.source)
        low, reached = 0.0, self._reached(0.0, Fraction(delta))
        # Newton's method on a convex function, from the left: every iterate is a lower bound.
        while reached > low * (1 + RESOLUTION):
            low, reached = reached, self._reached(reached, Fraction(delta))
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
                p += binomial_pmf(self.n, self.q, j) * binomial_upper(self.m, self.p, least[0])
                q += binomial_pmf(self.n, 1 - self.q, j) * binomial_upper(self.m, 1 - self.p, least[0])
            kept = p - ball(delta)
            return max(0.0, round_down((kept / q).log())) if kept > 0 and q > 0 else 0.0

    def _gain(self, epsilon: Fraction) -> flint.arb:
        """delta, at the current precision."""
        with working_precision(working_bits() + (self.m + self.n).bit_length() + 8):
            factor, total = ball(epsilon).exp(), flint.arb(0)
            for j, leasts in enumerate(self._least(ball(epsilon))):
                p, q = binomial_pmf(self.n, self.q, j), factor * binomial_pmf(self.n, 1 - self.q, j)
                best = flint.arb(0)
                # Where the least i is undecided, all possible ones are tried: none beats the right one.
                for i in leasts:
                    best = best.max(p * binomial_upper(self.m, self.p, i) - q * binomial_upper(self.m, 1 - self.p, i))
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
