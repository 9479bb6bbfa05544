r"""The total of many counters to which a user is added is nearly a sufficient statistic; the remainder is certified.

N counters are Bin(n, gamma) under P and Bin(n - 1, gamma) under Q, and T is their total. With
:math:`z_i = y_i - n\gamma`, :math:`x_i = z_i / (n(1-\gamma))` and :math:`v_j = (T/(nN - j) - \gamma)/(1 - \gamma)` the
losses of all and of T are

.. math:: L = -\sum_{i \le N} \ln(1 - x_i), \qquad L_T = -\sum_{j < N} \ln(1 - v_j),

and both have the same first-order term :math:`\sum x_i`. The other terms differ by at most eta, except with a
probability p that Bernstein's inequality bounds, so that
:math:`\delta(\varepsilon) \le \delta_T(\varepsilon - \eta) + p`, also in composition with other counters.

Source: Bernstein's inequality, for each count, for their total and for the sum of their squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball, between


@dataclass(frozen=True, slots=True)
class Remainder:
    """Bound of the difference between the loss of all counters and the loss of their total."""

    n: int  # coin tosses per counter under P, at least 2
    gamma: Fraction  # in (0, 1)
    counters: int  # N, at least 1
    reversed_pair: bool = False  # whether the bound is for the reversed pair: counts under Q, and losses of Q against P

    def at(self, nats: float) -> tuple[flint.arb, flint.arb] | None:
        r"""(eta, p): the loss exceeds the total's by at most eta, except with probability p, which is about e**-nats.

        None where the counts may be too far from their means for the series of the logarithms.
        """
        n, size, t = self.n, self.counters, flint.arb(nats)
        coins, gamma = n - self.reversed_pair, ball(self.gamma)
        drop, scale = (n - coins) * gamma, n * (1 - gamma)
        variance = coins * gamma * (1 - gamma)
        # All counts, and their total, around their own means: Bernstein's inequality, both tails.
        count = _bernstein(variance, t + flint.arb(2 * size).log())
        total = _bernstein(size * variance, t) + size * drop
        x = (count + drop) / scale
        v = (total / (n * size) + flint.arb(1) / (n - 1)) / (1 - gamma)
        if not (x < 0.5 and v < 0.5):
            return None
        # Squares: from below for nonnegative terms, from above for terms of at most count**2.
        fourth = (2 * size * (variance + 3 * variance**2) * t).sqrt()
        squares = size * variance + between(-fourth, fourth + count**2 * t / 3)
        squares = (squares + 2 * drop * between(-total, total) + size * drop**2) / scale**2
        squares = squares.max(flint.arb(0))
        cubes = x * squares / (3 * (1 - x))
        drift = (size * n * gamma + between(-total, total)) * (size - 1) / (n * size * (1 - gamma))
        drift *= between(flint.arb(1) / (2 * n), flint.arb(1) / (2 * (n - 1)))
        bent = size * v**2 / (2 * (1 - v))
        rest = squares / 2 - drift + between(-cubes, cubes) - between(0, bent)
        return (-rest if self.reversed_pair else rest).max(flint.arb(0)).upper(), (5 * (-t).exp()).upper()


def _bernstein(variance: flint.arb, nats: flint.arb) -> flint.arb:
    """Distance from 0 that a sum of centred coins of this variance exceeds, each way, with probability <= e**-nats."""
    return nats / 3 + (nats**2 / 9 + 2 * nats * variance).sqrt()
