r"""The blanket divergence where only two answers matter, summed over how many others answer: exact to the last digits.

With C of the n - 1 others answering, A of them with the first of the two answers,

.. math:: \delta = \sum_c P[C = c]\, D_c, \qquad D_c = \max_x \; g_1\, P[A \ge x - 1 \mid c] + g_2\, P[A \ge x \mid c]

where :math:`g_i = R_1(i) - e^\varepsilon R_2(i)`, :math:`g_1 > 0 > g_2`. The likelihood ratio rises with the number of
first answers, and reaches :math:`e^\varepsilon` where that number among the c + 1 passes :math:`(c+1)\theta`,
:math:`\theta = -w_2/(w_1 - w_2)`, :math:`w_i = g_i/b_i`. So the best x is :math:`\lfloor (c+1)\theta \rfloor + 1`, it
moves by at most one when c does, and one step in c or x updates a binomial term and a tail in O(1). D_c does not
increase with c, since an adversary who sees one answer fewer can add one: that bounds what lies outside the window.
"""

from __future__ import annotations

import math

import flint

from ldpaudit.accountants.numerics.balls import Probability, as_ball, between, floor
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.positive_part import INVISIBLE, Contour, PointMass, rarely

Answer = tuple[flint.arb, flint.arb]
"""(gain g, density b of the others)."""

_FEW_STEPS, _MOST_STEPS = 4_000, 120_000
"""Steps of some microseconds each. Up to the first number the walk is faster than the contour, and is taken; beyond the second
it would take most of a second, and the contour's value is returned however wide."""
_MARKOV_LOSS = 10.0
_ACCURATE = 80
"""Bits; a tail that subtractions have left with fewer is computed anew."""


def two_answers(high: Answer, low: Answer, silence: Probability, users: int, tolerance: float) -> flint.arb:
    """The divergence of `blanket` for a gain above 0 and one below; the silence is exactly 0 where all others answer."""
    walk = _Walk(high, low)
    if silence == 0:
        return walk.start(users - 1)
    atoms: list[PointMass] = [(high[0] / high[1], high[1]), (low[0] / low[1], low[1]), (flint.arb(0), as_ball(silence))]
    if (found := rarely(atoms, users, tolerance)) is not None:
        return found / users
    contour = Contour.of(atoms, users)
    ceiling = contour.ceiling() / users
    if ceiling < INVISIBLE:
        return between(0, ceiling)
    rate = 1 - as_ball(silence)
    mean = users * float(rate)
    # Markov's bound is a few digits too large; that much the window is too narrow otherwise.
    first = _first(users - 1, float(rate), _MARKOV_LOSS - float(ceiling.log()) - math.log(tolerance))
    steps = mean - first + 8 * math.sqrt(mean)
    if steps > _FEW_STEPS:
        found = contour.value(tolerance) / users
        if steps > _MOST_STEPS or (found > 0 and found.rad() <= found.mid() * tolerance / 2):
            return found
    return walk.sum(users - 1, rate, first, tolerance)


def _first(others: int, rate: float, nats: float) -> int:
    """Where to start: by Chernoff's bound less than e**-nats lies below. In floats: an error costs width or time only."""
    low, high = 0, int(others * rate) if rate < 1 else 0
    while low < high:
        c = (low + high + 1) // 2
        x = c / others
        far = others * (x * math.log(x / rate) + (1 - x) * (math.log1p(-x) - math.log1p(-rate))) > nats
        low, high = (c, high) if far else (low, c - 1)
    return low


class _Walk:
    """D_c for one c after the other."""

    def __init__(self, high: Answer, low: Answer) -> None:
        self.gains = high[0], low[0]
        self.p = high[1] / (high[1] + low[1])
        w1, w2 = high[0] / high[1], low[0] / low[1]
        self.theta = -w2 / (w1 - w2)

    def start(self, c: int) -> flint.arb:
        """D_c, from scratch."""
        self.c, self.x = c, self._cutoff(c)
        self.pmf = binomial_pmf(c, self.p, self.x - 1)
        self.tail = binomial_upper(c, self.p, self.x)
        return self._value()

    def _cutoff(self, c: int) -> int:
        return floor(self.theta * (c + 1)) + 1

    def _value(self) -> flint.arb:
        g1, g2 = self.gains
        value = g1 * (self.pmf + self.tail) + g2 * self.tail
        if self.theta * (self.c + 1) < self.x:
            return value
        # Which side of the cutoff an integer lies on is open; D_c is the larger of the two events' values.
        below = self.pmf * (self.c - self.x + 1) / self.x * self.p / (1 - self.p) if self.x else flint.arb(0)
        return value.max(g1 * self.tail + g2 * (self.tail - below))

    def step(self) -> flint.arb:
        """D_(c+1)."""
        self.tail += self.p * self.pmf
        self.pmf *= (1 - self.p) * (self.c + 1) / (self.c + 2 - self.x)
        self.c += 1
        if self._cutoff(self.c) > self.x:
            self.pmf *= self.p / (1 - self.p) * (self.c - self.x + 1) / self.x
            self.tail -= self.pmf
            self.x += 1
        return self._value() if self.tail.rel_accuracy_bits() >= _ACCURATE else self.start(self.c)

    def sum(self, others: int, rate: flint.arb, first: int, tolerance: float) -> flint.arb:
        """The sum over c from `first` until the rest is within the tolerance, and enclosures of what is left out."""
        odds = rate / (1 - rate)
        weight = binomial_pmf(others, rate, first)
        divergence = self.start(first)
        # Alone, user 1 is seen: D_0 is the gain.
        total = weight * divergence + between(0, self.gains[0] * binomial_lower(others, rate, first - 1))
        while self.c < others:
            ratio = odds * (others - self.c) / (self.c + 1)
            weight *= ratio
            divergence = self.step()
            total += weight * divergence
            if ratio < 1 and self.c % 16 == 0:
                rest = weight * divergence * ratio / (1 - ratio)
                if rest < total * tolerance / 4:
                    return total + between(0, rest)
        return total
