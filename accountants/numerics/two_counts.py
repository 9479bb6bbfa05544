r"""The expected positive part of a linear form in two binomial counts, summed term by term without cancellation.

.. math:: E\bigl[(\alpha A - \beta B - \theta)_+\bigr]

where A has the law Bin(m, p) and B, given A, that of Bin(m, q) or of Bin(m - A, q). Terms are summed from small A to
large. Each follows from the one before by additions of positive numbers, so that nothing cancels and only last bits are
lost. With :math:`y = \alpha A - \theta` and u the largest integer below :math:`y/\beta`,

.. math:: E(y + \alpha - \beta B)_+ = E(y - \beta B)_+ + \alpha P[B \le u] + \text{new terms}, \qquad
          E(y - \beta B_{m-1})_+ = E(y - \beta B_m)_+ + q\bigl(\beta P[B_{m-1} < u] + (y - \beta u) P[B_{m-1} = u]\bigr)

the latter because :math:`B_m = B_{m-1} + \mathrm{Bern}(q)`. The terms left out below the first A are at most that A's
term times the lower tail, because terms grow with A; those beyond the last A are at most :math:`E(\alpha A; A > a)`, a
series with falling ratios.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import flint

from ldpaudit.accountants.numerics.balls import Probability, as_ball, between, ceil, floor
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf
from ldpaudit.core.working_precision import working_precision

_LEFT_OUT = 2.0**-44  # share of the sum left out above the last term, and below the first: `expectation` promises 1e-12
_REACHES = (8, 16, 32, 64)
"""Standard deviations below the largest term at which the sum may start: the first that leaves out at most that share.
8 do where delta is not tiny, as exp(-8**2 / 2) is 1e-14; each further one doubles the time."""
_PRECISION = 128  # bits; the recurrences lose about 17 for 1e5 terms, and 44 are needed


@dataclass(frozen=True, slots=True)
class TwoCounts:
    r"""The expectation of :math:`(\alpha A - \beta B - \theta)_+`."""

    trials: int  # m, at least 1
    p: Probability  # in (0, 1)
    q: Probability
    disjoint: bool  # whether a trial that counts for A cannot count for B, so that B has ``m - A`` trials
    alpha: flint.arb  # the first two above 0, the third at least 0
    beta: flint.arb
    theta: flint.arb

    @property
    def terms(self) -> float:
        """About the number of terms of the sum, where it is not very small."""
        return 2 * _REACHES[0] * math.sqrt(self.trials * float(self.p)) + 10

    def expectation(self) -> flint.arb:
        """The certified sum, of relative width below 1e-12."""
        return self._summed(lambda walk: walk.value)

    def chance(self) -> flint.arb:
        """The expectation of A on the event that the form is positive."""
        return self._summed(lambda walk: walk.a * walk.positive)

    def _summed(self, term: Callable[[_Walk], flint.arb]) -> flint.arb:
        """Mean of a term that grows with A and is at most alpha A, for alpha >= 1."""
        with working_precision(_PRECISION):
            if self._least > self.trials:
                return flint.arb(0)
            for start in sorted({self._start(reach) for reach in _REACHES}, reverse=True):
                found, left_out = self._from(start, term)
                if left_out <= found * _LEFT_OUT:
                    break
            return found + between(0, left_out)

    def _start(self, reach: int) -> int:
        """An A, `reach` standard deviations below the largest term; at least the first whose value is not 0."""
        mean = self.trials * float(self.p)
        # With e**epsilon = beta/alpha, the likeliest A with alpha A = beta B among Poisson variables.
        ratio = min(float(self.beta / self.alpha), 1e300)
        peak = mean * math.exp(math.log(ratio) / (1 + ratio))
        return max(min(math.floor(peak - reach * math.sqrt(peak) - reach), self.trials), self._least)

    @property
    def _least(self) -> int:
        """Below this A, all values are 0."""
        return max(floor(self.theta / self.alpha), 0) + 1

    def _from(self, start: int, term: Callable[[_Walk], flint.arb]) -> tuple[flint.arb, flint.arb]:
        """The sum from A = start on, and an upper bound of the terms before it."""
        walk = _Walk(self, start)
        chance, odds = binomial_pmf(self.trials, self.p, start), as_ball(self.p) / (1 - as_ball(self.p))
        below = flint.arb(0)
        if start > self._least:
            below = (binomial_lower(self.trials, self.p, start - 1) * term(walk)).upper()
        total, a, check = flint.arb(0), start, start
        while True:
            total += chance * term(walk)
            if a == self.trials:
                return total, below
            if a >= check:
                rest = self._beyond(a, chance)
                if rest <= total * _LEFT_OUT:
                    return total + between(0, rest), below
                check = a + 1 + (a - start) // 16
            chance *= odds * (self.trials - a) / (a + 1)
            a += 1
            walk.advance()

    def _beyond(self, a: int, chance: flint.arb) -> flint.arb:
        """Upper bound of the terms after this one; infinite where the ratios are not yet below 1."""
        p = as_ball(self.p)
        ratio = p * (self.trials - a) / (a * (1 - p)) if a else flint.arb(1)
        return self.alpha * a * chance * ratio / (1 - ratio) if ratio < 1 else flint.arb("inf")


class _Walk:
    """The expectation given A, from one A to the next; `below` is P[B < u], `here` P[B = u]."""

    def __init__(self, form: TwoCounts, start: int) -> None:
        self.alpha, self.beta, self.disjoint = form.alpha, form.beta, form.disjoint
        self.q = as_ball(form.q)
        self.odds, self.tails = self.q / (1 - self.q), 1 - self.q
        self.a = start
        self.trials = form.trials - start if form.disjoint else form.trials
        self.y = form.alpha * start - form.theta
        self.u = min(max(0, ceil(self.y / form.beta) - 1), self.trials)
        self.over = self.y - form.beta * self.u
        self.here = binomial_pmf(self.trials, form.q, self.u)
        self.below = binomial_lower(self.trials, form.q, self.u - 1)
        self.value = self._first()

    def _first(self) -> flint.arb:
        total, chance = flint.arb(0), self.here
        for v in range(self.u, -1, -1):
            total += (self.y - self.beta * v) * chance
            ratio = v / (self.odds * (self.trials - v + 1))
            if ratio < 1 and (rest := self.y * chance * ratio / (1 - ratio)) <= total * _LEFT_OUT:
                return total + between(0, rest)
            chance *= ratio
        return total

    @property
    def positive(self) -> flint.arb:
        """Probability that the form is positive."""
        return self.below + self.here if self.over > 0 else between(self.below, self.below + self.here)

    def advance(self) -> None:
        """Go on to the next A."""
        self.a += 1
        if self.disjoint:
            t, u = self.trials, self.u
            self.below += self.here * u / t  # q P[B = u - 1] with t - 1 trials
            self.here *= (t - u) / (t * self.tails)
            self.value += self.q * (self.beta * self.below + self.over * self.here)
            self.trials = t - 1
        self.value += self.alpha * (self.below + self.here)
        self.y += self.alpha
        self.over += self.alpha
        # Where it is not certain that the next term is positive, it is next to 0: counted or not, it is enclosed.
        while self.u < self.trials and not (over := self.over - self.beta) <= 0:
            self.below += self.here
            self.here *= self.odds * (self.trials - self.u) / (self.u + 1)
            self.u += 1
            self.over = over
            self.value += over * self.here
