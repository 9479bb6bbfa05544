r"""The prefix that is worth most to a crowd, by its size: a certified maximum of a quotient, by tangents.

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
"""How far above the maximum, times n, the bound may be: so many nats, and such a part of it."""
_TANGENTS = 400


@dataclass(frozen=True, slots=True)
class _Tangent:
    """z at a size, its slope there, and psi(w)/w."""

    size: float
    value: flint.arb
    slope: flint.arb

    def quotient(self, w: float) -> flint.arb:
        """An upper bound of psi(w)/w."""
        return (self.value + self.slope * (flint.arb(w) - self.size)).exp().log1p() / w

    def meets(self, other: _Tangent) -> float:
        """Where the two lines meet, about; somewhere between the two sizes at any rate."""
        a, b = float(self.size), float(other.size)
        bend = float(self.slope - other.slope)
        at = a + float(other.value - self.value - other.slope * (flint.arb(b) - a)) / bend if bend > 0 else a
        inside = a + 1e-3 * (b - a) < at < b - 1e-3 * (b - a)
        return at if inside else (a + b) / 2


def largest_slope(users: int, draws: int, votes: int, slope: flint.arb, level: flint.arb) -> flint.arb:
    r"""An upper bound of the maximum of :math:`\psi(w)/w` over the integers from k to n.

    Parameters
    ----------
    users, draws, votes : int
        n, d and k, with p = d/n; ``0 < d < n`` and ``1 <= k < n``.
    slope, level : flint.arb
        a and b, neither negative, not both 0.

    Returns
    -------
    flint.arb
        Above the maximum by so little that n times it is told to a thousandth of a nat, or to 1e-5 of itself.
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

    # Of k users the weight is the level: nothing, or what counts in both cases.
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
