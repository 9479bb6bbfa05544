r"""Of many counters, each of which has a coin more or not, the total tells nearly everything: how nearly, certified.

N counters are Bin(n, gamma) under P and Bin(n - 1, gamma) under Q, and T is their total. With :math:`z_i = y_i - n\gamma`,
:math:`x_i = z_i / (n(1-\gamma))` and :math:`v_j = (T/(nN - j) - \gamma)/(1 - \gamma)` the losses of all and of T are

.. math:: L = -\sum_{i \le N} \ln(1 - x_i), \qquad L_T = -\sum_{j < N} \ln(1 - v_j),

and both begin with :math:`\sum x_i`. What follows differs by little, except with a probability that Bernstein's inequality
bounds, so that :math:`\delta(\varepsilon) \le \delta_T(\varepsilon - \eta) + p`, also together with other counters.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball, between


@dataclass(frozen=True, slots=True)
class Remainder:
    """How far the loss of all counters is from that of their total.

    Parameters
    ----------
    n : int
        Coins under P, at least 2.
    gamma : Fraction
        In (0, 1).
    counters : int
        N, at least 1.
    reversed_pair : bool
        Whether counts are those under Q, and the losses Q's against P.
    """

    n: int
    gamma: Fraction
    counters: int
    reversed_pair: bool = False

    def at(self, nats: float) -> tuple[flint.arb, flint.arb] | None:
        r"""(eta, p) such that the loss exceeds the total's by eta at most, except with probability p of about e**-nats.

        None where the counts may be so far from their means that this says nothing.
        """
        n, size, t = self.n, self.counters, flint.arb(nats)
        coins, gamma = n - self.reversed_pair, ball(self.gamma)
        lost, scale = (n - coins) * gamma, n * (1 - gamma)
        variance = coins * gamma * (1 - gamma)
        # All counts, and their total, around their own means: Bernstein's inequality, each side.
        count = _bernstein(variance, t + flint.arb(2 * size).log())
        total = _bernstein(size * variance, t) + size * lost
        x = (count + lost) / scale
        v = (total / (n * size) + flint.arb(1) / (n - 1)) / (1 - gamma)
        if not (x < 0.5 and v < 0.5):
            return None
        # Squares: from below for nonnegative terms, from above for terms of at most count**2.
        fourth = (2 * size * (variance + 3 * variance**2) * t).sqrt()
        squares = size * variance + between(-fourth, fourth + count**2 * t / 3)
        squares = (squares + 2 * lost * between(-total, total) + size * lost**2) / scale**2
        squares = squares.max(flint.arb(0))
        cubes = x * squares / (3 * (1 - x))
        drift = (size * n * gamma + between(-total, total)) * (size - 1) / (n * size * (1 - gamma))
        drift *= between(flint.arb(1) / (2 * n), flint.arb(1) / (2 * (n - 1)))
        bent = size * v**2 / (2 * (1 - v))
        rest = squares / 2 - drift + between(-cubes, cubes) - between(0, bent)
        return (-rest if self.reversed_pair else rest).max(flint.arb(0)).upper(), (5 * (-t).exp()).upper()


def _bernstein(variance: flint.arb, nats: flint.arb) -> flint.arb:
    """How far a sum of centred coins of this variance is from 0, but for a probability of e**-nats on either side."""
    return nats / 3 + (nats**2 / 9 + 2 * nats * variance).sqrt()
