r"""Replacement: what a shuffle costs, if the adversary is told names in place of who sent from the blanket.

User 1 holds x1 or x2, n - 1 others hold anything, and b is a part of every other user's law, of mass :math:`\gamma`. With

.. math:: W_x = \frac{R_{x_1}(Y) - e^\varepsilon R_{x_2}(Y)}{R_x(Y)}, \qquad Y \sim R_x

the divergence of any data set is at most

.. math:: \sum_{s=1}^{n-1} \gamma (1 - \gamma)^{s-1} \max_{x_1, \dots, x_{n-s}} \frac{E\bigl(\sum_k W_{x_k}\bigr)_+}{n-s}
          + (1 - \gamma)^{n-1} \delta_1(\varepsilon)

where :math:`\delta_1` is that of one report.

*Proof.* Each of the others draws its report from :math:`b/\gamma` with probability :math:`\gamma`, and else from what is left of
its law. Go through the others in a random order, up to the first one, K, who draws from :math:`b/\gamma`; s - 1 users F were
passed. The adversary is told: F with their reports; the report of each of the n - s users left with its name, but under the name
of K that of user 1; and the report of K, whose law is :math:`b/\gamma`, without a name. The multiset of all reports follows from
that. Given F, K is any of those left, with equal chances, and the coins of the others were not looked at. So the named reports
have the density :math:`\frac1{n-s} \sum_k R_{x_j}(y_k)/R_{x_k}(y_k)` with respect to the product of the laws of those left, and
the rest has one law on both sides. If nobody draws from b, user 1's report alone tells them apart.

The largest mean over m users falls with m, for the mean of m values is the mean of all means of m - 1 of them, and the positive
part is convex. So a block of s is bounded by its last one, and a mean by one integral (`numerics.largest_positive_part`), which
is linear in each law: mixtures of laws are covered, too.

Nearly tight: the data set in which all others hold x has exactly :math:`E(\sum_{k \le n} W_x)_+ / n` (`blanket`), so that no more
than some :math:`1/\gamma` of n users are lost. It needs more than ten times as many; else the blanket is better.

*Any* :math:`\varepsilon_0`-LDP plan: :math:`R_{x_1}/R_x`, :math:`R_{x_2}/R_x` and their ratio lie between
:math:`e^{\pm\varepsilon_0}`, and the first two have the mean 1 under :math:`R_x`. To spread their law to the six vertices of that
hexagon makes every mean of positive parts larger, and each law on the vertices is a mixture of such on at most three. With
:math:`\gamma = e^{-\varepsilon_0}`, for :math:`e^{-\varepsilon_0} R_{x_1}` is a part of every law.

Source: derived here; enumerated in tests/shuffling. The limit for many users is the largest chi-squared divergence of arXiv
2601.19154.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from ldpaudit.accountants.numerics.balls import Probability, as_ball
from ldpaudit.accountants.numerics.largest_positive_part import largest_positive_part
from ldpaudit.accountants.numerics.quotient_laws import QuotientLaws
from ldpaudit.accountants.numerics.rare_values import PointMass
from ldpaudit.accountants.shuffling.blanket import Blanket

_BLOCKS = (0.3, 0.1, 0.02, 2e-3, 1e-4, 1e-6)
"""Probabilities that more users are passed, at which blocks end where users are so few that it makes a difference."""
_SAME = 1e-5
"""Part of the users that may be lost without a block of its own: less than that part of some dozen times delta."""
_MANY = 10**5
"""Users from which on three moments of each law are as good as its transform."""
_ROUNDED = 1e-13
"""Relative error of a sum of two logarithms."""
_LEFT = 1e-5
"""Part of delta that may be lost to the chance that nobody draws from the blanket."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The bound of one shuffled plan."""

    # R1, R2 and Rx in place of the blanket, for every pair of user 1's inputs in both orders and every input of another user
    types: tuple[Blanket, ...]
    gamma: Probability  # the mass of b, in (0, 1]
    # the same by pairs, where they are too many to list as types, which are some that hide least then
    pairs: QuotientLaws | None = None

    def delta(self, exp_epsilon: flint.arb, users: int, quick: bool = False) -> flint.arb:
        """Upper bound of delta, at most 1; at the current precision, which should be `blanket.precision`."""
        missed = 1 - as_ball(self.gamma)
        last, alone = 1, self.mean(exp_epsilon, users - 1, quick)
        if alone == 0:
            return alone
        if missed > 0:
            nats = -float(missed.log())
            # First as if a single user were passed; then with as many as may be passed at such a delta.
            last = math.ceil(-float((alone * _LEFT).log()) / nats)
        if last >= users:
            return flint.arb(1)
        ends = [last]
        for chance in reversed(_BLOCKS if missed > 0 else ()):
            end = max(1, math.ceil(-math.log(chance) / nats))
            if ends[-1] - end > _SAME * users:
                ends.append(end)
        total, reached = missed**last, flint.arb(1)
        for end in reversed(ends):
            beyond = missed**end
            total += (reached - beyond) * self.mean(exp_epsilon, users - end, quick)
            reached = beyond
        return total.min(flint.arb(1)).upper()

    def mean(self, exp_epsilon: flint.arb, left: int, quick: bool = False) -> flint.arb:
        """Upper bound of the largest mean of `left` terms, whatever the others hold; at most 1."""
        found = flint.arb(1)
        if self.pairs is not None or left >= _MANY:
            laws = self.pairs or quotients([self.types])
            if laws is not None:
                found = _power(laws.log_largest(exp_epsilon - 1, left) - math.log(left))
        if self.pairs is None and not found < 1:
            found = largest_positive_part(self._laws(exp_epsilon), left, quick) / left
        return found.min(flint.arb(1))

    def _laws(self, exp_epsilon: flint.arb) -> list[list[PointMass]]:
        return [
            [
                ((as_ball(r1) - exp_epsilon * as_ball(r2)) / as_ball(b), as_ball(b))
                for r1, r2, b in each.cells
                if not b == 0
            ]
            for each in self.types
        ]


def _power(nats: float) -> flint.arb:
    """Upper bound of e to the power of a float that was rounded, and 1 from 0 on."""
    return flint.arb(min(nats + _ROUNDED * (1 + abs(nats)), 0.0)).exp() if nats > -math.inf else flint.arb(0)


def quotients(pairs: Sequence[Sequence[Blanket]]) -> QuotientLaws | None:
    """In floats, at the current precision: of each pair all its types; None where floats do not hold them."""
    shape = len(pairs), max(map(len, pairs)), max(len(each.cells) for types in pairs for each in types)
    high, low = np.zeros((3, *shape)), np.zeros((3, *shape))
    for i, types in enumerate(pairs):
        # Repeated, a type adds nothing.
        for j, each in enumerate([*types, *[types[0]] * (shape[1] - len(types))]):
            for k, cell in enumerate(each.cells):
                if not cell[2] == 0:
                    for r, p in enumerate(cell):
                        high[r, i, j, k], low[r, i, j, k] = halves(p)
    return QuotientLaws.of(high[0] - high[1] + (low[0] - low[1]), high[1], high[2])


def halves(p: Probability) -> tuple[float, float]:
    """A number as the sum of two floats, to 100 bits."""
    high = float(p)
    return high, float(p - flint.arb(high)) if isinstance(p, flint.arb) else float(p - Fraction(high))


def replacement(types: Iterable[Blanket], gamma: Probability) -> Replacement | None:
    """Of all types and the mass of the blanket; None where user 1 may say what another user never does, or gamma is 0."""
    found = tuple(dict.fromkeys(types))
    never = any(b == 0 and not r1 == r2 == 0 for each in found for r1, r2, b in each.cells)
    return None if never or not gamma > 0 else Replacement(found, gamma)


def of_any_map(epsilon0: flint.arb) -> Replacement:
    """Of any plan that is epsilon0-LDP, at the current precision.

    The only laws on two or three vertices of the hexagon with the mean (1, 1) are those on opposite ones, of which two are
    binary randomized response and one has equal laws for user 1's inputs, and two on three vertices, of which one is ternary.
    """
    e = epsilon0.exp()
    one, less = flint.arb(1), 1 / e
    two, three, last = 1 / (1 + e), 1 / (2 + e), 1 / (1 + 2 * e)
    laws = (
        ((less, less, e * two), (e, e, two)),
        ((one, less, e * two), (one, e, two)),
        ((less, one, e * two), (e, one, two)),
        ((less, less, e * three), (e, one, three), (one, e, three)),
        ((e, e, last), (one, less, e * last), (less, one, e * last)),
    )
    return Replacement(tuple(Blanket(tuple((u * w, v * w, w) for u, v, w in law)) for law in laws), less)
