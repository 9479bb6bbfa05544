r"""A binary user among N others, t of whom hold 1: the divergence, exactly for one t, from above for a range of t.

User 1's value is 1 or 0, Z counts the others' reports "1", and with p the truth, l = 1 - p the lie,
:math:`u = p - e^\varepsilon l`, :math:`v = e^\varepsilon p - l`,

.. math:: D_t = \sum_j \bigl(u P[Z = j-1] - v P[Z = j]\bigr)_+ = \max_x \; u P[Z \ge x-1] - v P[Z \ge x]

Tilt Z by :math:`\rho = v/u = e^c`, where the two terms balance: a truth then has probability :math:`\hat p`, a lie
:math:`\hat l`, and the mean is :math:`\mu_t = t \hat p + (N-t) \hat l`. With m = x - 1, a sum over the M-th parts
:math:`y_k` of the circle, and :math:`\chi_t` the transform of the tilted Z, centred,

.. math:: D_t = v\, e^{-t\, \mathrm{KL}(\hat p \| p) - (N-t)\, \mathrm{KL}(\hat l \| l)} \max_m U_t(m - \mu_t), \quad
          U_t(\psi) = e^{-c(\psi + 1/2)} \frac1M \sum_k \chi_t(y_k)\, e^{-i y_k \psi}\,
                      \frac{i \sin(y_k/2)}{\sinh((c + i y_k)/2)}

but for aliasing (`_aliasing`). The best m is the mode of the tilted law, which is next to the mean (Darroch 1964). So U
is wanted only for :math:`|\psi| \le 1`; it is bounded there by second-order Taylor expansions, and with t a ball, that
bounds it for a range of t. The excess over the best integer m is of second order, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, repeat
from operator import mul
from typing import Self

import flint

from ldpaudit.accountants.numerics.balls import ball, between, floor
from ldpaudit.accountants.numerics.float_masses import bernstein_reach
from ldpaudit.core.cached import cached
from ldpaudit.errors import Unsupported

_NATS = 80.0  # what the sums leave out is about e**-80 of v, which is e**c times u
_MOST_NODES = 4000
"""A tenth of a second. One t takes some hundreds at most, a range with very different spreads may take any number."""
_SLACK = 1e-6
"""Relative; the floats below are right to 1e-9."""
_PIECES = 16
_MIDDLES = [flint.arb(2 * piece + 1) / _PIECES for piece in range(_PIECES // 2)]  # of the pieces of [0, 1]
_POINT = 2.0**-64
"""Largest radius of a psi that is a number, not a range."""


@dataclass(frozen=True)
class TiltedResponse:
    """The mechanism, tilted for one epsilon; at the precision at which it was made."""

    p: Fraction  # probability of the truth, 1/2 < p < 1
    exp_epsilon: flint.arb  # ``e**epsilon``, at least 1 and below p/(1 - p)

    @cached
    def weights(self) -> tuple[flint.arb, flint.arb]:
        """u and v."""
        truth, lie = ball(self.p), ball(1 - self.p)
        return truth - self.exp_epsilon * lie, self.exp_epsilon * truth - lie

    @cached
    def c(self) -> flint.arb:
        """Logarithm of the tilt; exactly 0 at epsilon 0."""
        return flint.arb(0) if self.exp_epsilon == 1 else (self.weights[1] / self.weights[0]).log()

    @cached
    def heads(self) -> tuple[flint.arb, flint.arb]:
        """Tilted probability of a report "1" by one who holds 1, and by one who holds 0."""
        rho = self.c.exp()
        truth, lie = ball(self.p), ball(1 - self.p)
        return truth * rho / (lie + truth * rho), lie * rho / (truth + lie * rho)

    @cached
    def divergences(self) -> tuple[flint.arb, flint.arb]:
        """Kullback-Leibler divergence of a tilted report from the true one, for holders of 1 and of 0."""
        rho = self.c.exp()
        truth, lie = ball(self.p), ball(1 - self.p)
        one, zero = self.heads
        return self.c * one - (lie + truth * rho).log(), self.c * zero - (truth + lie * rho).log()

    def mean(self, t: int, others: int) -> flint.arb:
        """Tilted mean of Z."""
        return self.heads[0] * t + self.heads[1] * (others - t)

    def plain_mean(self, t: int, others: int) -> flint.arb:
        """Mean of Z."""
        return ball(self.p) * t + ball(1 - self.p) * (others - t)

    def moment(self, t: int, others: int, third: bool = False) -> float:
        """Tilted variance, or third cumulant, of Z; in floats."""
        one, zero = (float(h * (1 - h) * (1 - 2 * h if third else 1)) for h in self.heads)
        return t * one + (others - t) * zero

    def top(self, t: int, others: int) -> float:
        """About the psi at which U is largest: a law's mode is about half its skewness below its mean."""
        return max(-1.0, min(1.0, -self.moment(t, others, third=True) / (2 * self.moment(t, others))))

    def nodes(self, parts: int, many: int) -> list[Node]:
        """The first of that many parts of the circle beyond y = 0; all sums over as many parts share them."""
        found = self._nodes.setdefault(parts, [])
        found.extend(Node.of(self, 2 * flint.arb.pi() * k / parts) for k in range(len(found) + 1, many + 1))
        return found[:many]

    @cached
    def _nodes(self) -> dict[int, list[Node]]:
        return {}

    def level(self, t: flint.arb, others: int) -> flint.arb:
        """What stands before the maximum of U; t a number or a ball."""
        one, zero = self.divergences
        return self.weights[1] * (-(others * zero + t * (one - zero))).exp()

    def value(self, t: int, others: int) -> flint.arb:
        """D_t."""
        (_, one), (_, other) = self._at_modes(t, others)
        return one.max(other)

    def cutoff(self, t: int, others: int) -> int:
        """How many of all reports must be "1" for the event that attains D_t."""
        return max(self._at_modes(t, others), key=lambda each: float(each[1]))[0] + 1

    def _at_modes(self, t: int, others: int) -> list[tuple[int, flint.arb]]:
        """The two m that may be the mode, and their values."""
        mean = self.mean(t, others)
        below = floor(mean)
        comb = Comb.of(self, t, t, others)
        if comb is None:
            raise Unsupported(f"{others} others, {t} of whom hold 1", "too many parts of their law count")
        level, rest = self.level(flint.arb(t), others), self.weights[1] * comb.aliased
        return [(m, level * (comb.u(m - mean) + comb.error) + rest) for m in (below, below + 1)]

    def bound(self, first: int, last: int, others: int) -> flint.arb:
        """Upper bound of D_t over ``first <= t <= last``; 1 where a better one would cost too much."""
        comb = Comb.of(self, first, last, others)
        if comb is None:
            return flint.arb(1)
        curve = comb.u(flint.arb(0, 1), 2)
        if curve < 0:
            at = flint.arb(self.top((first + last) // 2, others))
            best = comb.u(at) - comb.u(at, 1) ** 2 / (2 * curve.upper())
        else:
            best = comb.highest()
        level = self.level(between(flint.arb(first), flint.arb(last)), others)
        return (level * (best + comb.error) + self.weights[1] * comb.aliased).abs_upper()


@dataclass(frozen=True)
class Node:
    """A part of the circle."""

    y: flint.arb  # above 0
    one: flint.acb  # logarithm of the centred transform of one tilted report, of a holder of 1
    zero: flint.acb  # and of a holder of 0
    factor: flint.acb  # ``i sin(y/2) / sinh((c + i y)/2)``
    slope: flint.acb  # ``-(c + i y)``: what a derivative with respect to psi multiplies a term by

    @classmethod
    def of(cls, tilt: TiltedResponse, y: flint.arb) -> Self:
        """The part at y."""
        turned = flint.acb(0, y).exp() - 1
        one, zero = ((1 + head * turned).log() - flint.acb(0, y * head) for head in tilt.heads)
        factor = flint.acb(0, (y / 2).sin()) / flint.acb(tilt.c / 2, y / 2).sinh()
        return cls(y, one, zero, factor, flint.acb(-tilt.c, -y))

    def term(self, t: flint.arb, others: int) -> flint.acb:
        """The transform of the tilted Z, centred, times the factor; t a number or a ball."""
        return (others * self.zero + t * (self.one - self.zero)).exp() * self.factor

    @cached
    def turns(self) -> list[tuple[flint.arb, flint.arb]]:
        """Sine and cosine of y psi in the middles of the pieces with psi > 0."""
        return [(self.y * psi).sin_cos() for psi in _MIDDLES]


@dataclass(frozen=True)
class Comb:
    """U for the t of a range."""

    c: flint.arb  # logarithm of the tilt
    parts: int  # M, odd, so that no y is pi
    nodes: list[Node]  # the parts that count
    terms: list[flint.acb]  # their terms at psi = 0, for all t of the range
    left_out: flint.arb  # bound of the terms that are not listed, over M
    error: flint.arb  # ball around 0: what U of an integer m may be off
    aliased: flint.arb  # what is to be added to the divergence, over v

    @classmethod
    def of(cls, tilt: TiltedResponse, first: int, last: int, others: int) -> Self | None:
        """Choose how many parts, and evaluate them; None where there are too many."""
        spreads = [tilt.moment(t, others) for t in (first, last)]  # linear in t
        shift = max(float(tilt.mean(t, others) - tilt.plain_mean(t, others)) for t in (first, last)) * (1 + _SLACK)
        parts, aliased, error = _aliasing(tilt, max(spreads), shift, others)
        many = _nodes(parts, min(spreads), _nats(tilt))
        if many > _MOST_NODES:
            return None
        t = between(flint.arb(first), flint.arb(last))
        left_out = 0.0
        if 2 * many + 1 < parts:
            # |chi|**2 <= exp(-4 V sin(y/2)**2); and |sin(y/2)| <= |sinh((c + iy)/2)|.
            left_out = math.exp(-2 * min(spreads) * math.sin(math.pi * many / parts) ** 2 * (1 - _SLACK))
        off = (flint.arb(error) * tilt.c.exp()).abs_upper()
        nodes = tilt.nodes(parts, many)
        terms = [node.term(t, others) for node in nodes]
        return cls(tilt.c, parts, nodes, terms, flint.arb(left_out), between(-off, off), aliased)

    def at(self, t: int, others: int) -> list[flint.acb]:
        """The terms for one t of the range."""
        return [node.term(flint.arb(t), others) for node in self.nodes]

    def u(self, psi: flint.arb, derivative: int = 0) -> flint.arb:
        """U or its derivative of order 1 or 2 at psi, in [-1, 1]."""
        total = flint.arb(0)  # the term of y = 0 is 0
        for node, term, turn in zip(self.nodes, self.terms, self._turns(psi), strict=True):
            total += (term * turn if derivative == 0 else term * node.slope**derivative * turn).real
        return self._scaled(psi, total, derivative)

    def _turns(self, psi: flint.arb) -> Iterable[flint.acb]:
        """exp(-i y psi): the powers of the first, but where psi is a range, whose powers would be too wide."""
        if psi.rad() > _POINT:
            return (flint.acb(0, -node.y * psi).exp() for node in self.nodes)
        first = flint.acb(0, -2 * flint.arb.pi() * psi / self.parts).exp()
        return accumulate(repeat(first, len(self.nodes)), mul)

    def _scaled(self, psi: flint.arb, total: flint.arb, derivative: int) -> flint.arb:
        """U or its derivative, from half of the sum over all y but 0."""
        return (-self.c * (psi + 0.5)).exp() * (2 * total / self.parts + self._lost(derivative))

    def _lost(self, derivative: int) -> flint.arb:
        error = (self.left_out * (self.c + 4) ** derivative).abs_upper()
        return between(-error, error)

    def highest(self) -> flint.arb:
        """Upper bound of U over [-1, 1], piece by piece."""
        pairs = list(zip(self.nodes, self.terms, strict=True))
        total = sum((abs(term) * (self.c**2 + node.y**2) for node, term in pairs), flint.arb(0))
        curve = (self.c / 2).exp() * (2 * total / self.parts + self._lost(2))
        slopes = [term * node.slope for node, term in pairs]
        both = [[(z.real, z.imag) for z in each] for each in (self.terms, slopes)]
        best, half = flint.arb(0), flint.arb(1) / _PIECES
        for piece, middle in enumerate(_MIDDLES):
            turns = [node.turns[piece] for node in self.nodes]
            # The real part of z exp(-i y psi), whose second half changes its sign with psi.
            even = [sum((x * cos for (x, _), (_, cos) in zip(each, turns, strict=True)), flint.arb(0)) for each in both]
            odd = [sum((x * sin for (_, x), (sin, _) in zip(each, turns, strict=True)), flint.arb(0)) for each in both]
            for sign in (-1, 1):
                value, slope = (self._scaled(sign * middle, even[d] + sign * odd[d], d) for d in (0, 1))
                best = best.max(value + abs(slope) * half + curve * half**2 / 2)
        return best


def _nats(tilt: TiltedResponse) -> float:
    """What may be left out, so that it is small beside u as well."""
    return _NATS + 3 * float(tilt.c)


def _nodes(parts: int, spread: float, nats: float) -> int:
    """How many parts on one side of y = 0 count."""
    edge = 2 * math.asin(math.sqrt(nats / (2 * spread))) if spread > nats / 2 else math.pi
    return min(math.ceil(edge * parts / (2 * math.pi)), (parts - 1) // 2)


def _aliasing(tilt: TiltedResponse, spread: float, shift: float, others: int) -> tuple[int, flint.arb, float]:
    r"""How many parts M; what they take from the divergence, over v; and a bound of what they do to S beyond that.

    With :math:`S_m = e^{c\psi} U` at integers, :math:`S_m = \sum_{i \ge 1} \rho^{-i} (P[\hat Z = m+i-1] - P[\hat Z = m+i])`,
    the M-th parts give :math:`\sum_r S_{m+rM}`. Each of the two sums in S is at most :math:`P[\hat Z \ge m]`, which
    serves r > 0, and at most :math:`P[\hat Z \le m + I] + \rho^{-I}` for any I, which serves r < 0 where c is not small.
    Where it is, :math:`\rho^{-j} P[\hat Z = j] = P[Z = j]/M(c)`, M(c) the moment generating function, says that
    :math:`S_m = (\rho^{-1} - 1)\, \rho^m/M(c)` but for at most :math:`P[Z \le m]\, \rho^m/M(c)`: a geometric series in
    r. Bernstein's inequality bounds the tails of the tilted law, of variance `spread`, and of the plain one, whose mean
    is `shift` lower.
    """
    c, nats = float(tilt.c), _nats(tilt)
    reach = bernstein_reach(spread, nats)
    if c * reach >= nats:
        parts = 2 * _rounded(reach) + 3
        half = (parts / 2 - 1) * (1 - _SLACK)
        return parts, flint.arb(0), 2 * _series(_bernstein(spread, half)) + _series(math.exp(-c * half))
    plain = others * float(tilt.p * (1 - tilt.p))
    parts = 2 * _rounded(max(reach, bernstein_reach(plain, nats) + shift) / 2) + 3
    rho = tilt.c.exp()
    aliased = (1 - 1 / rho) / (rho**parts - 1) if c else flint.arb(1) / parts
    error = flint.arb(_series(_bernstein(plain, (parts - 1) * (1 - _SLACK) - shift)))
    return parts, aliased + between(-error, error), _series(_bernstein(spread, (parts - 1) * (1 - _SLACK)))


def _rounded(number: float) -> int:
    """A whole number that is at most a sixteenth larger, and shared by many."""
    whole = math.ceil(number)
    step = 1 << max(0, whole.bit_length() - 5)
    return -(-whole // step) * step


def _bernstein(variance: float, distance: float) -> float:
    return math.exp(-distance * distance / (2 * (variance * (1 + _SLACK) + distance / 3)))


def _series(share: float) -> float:
    """Powers of the share, and some slack; Bernstein's exponents grow at least in proportion to the distance."""
    return share / (1 - share) * (1 + _SLACK)
