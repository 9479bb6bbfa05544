r"""Which size of a prefix contributes most per user to a Chernoff bound: a certified maximum of a quotient, by tangents.

.. math:: \max_{k \le w \le n} \frac{\psi(w)}{w}, \qquad \psi(w) = \ln\bigl(1 + e^{z(w)}\bigr), \qquad
          e^{z(w)} = P[\mathrm{Bin}(w, p) = k]\,\bigl(e^{s(w)} - 1\bigr), \qquad s(w) = a (w - k) + b

For real :math:`w > k` the exponent z is concave: :math:`\ln\binom{w}{k}` is a sum of :math:`\ln(w - i)`, and
:math:`\ln(e^s - 1) = s + \ln(1 - e^{-s})` is concave in s. So z lies below its tangents, and where T is a tangent,
:math:`\ln(1 + e^{T(w)})` is convex, its quotient by w is quasi-convex, and the larger of its two ends bounds it on an
interval. What two tangents leave between them is of second order in the interval.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.enclosure import round_up

_NATS, _PART = 0.001, 1e-5
"""How far n times the bound may be above n times the maximum: in nats, and relative to it."""
_TANGENTS = 400
"""Most tangents, and a bound is valid after any number of them."""


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
        if users * (-top - reached) <= _NATS + _PART * users * reached:
            break
        heapq.heappop(pieces)
        between = tangent(left.meets(right))
        reached = max(reached, float(between.quotient(between.size).lower()))
        push(left, between)
        push(between, right)
    return best.max(flint.arb(-pieces[0][0])).upper()
