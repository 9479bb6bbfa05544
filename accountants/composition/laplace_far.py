r"""Coordinates with Laplace noise that are shifted very far: close to the largest loss, delta does not depend on the steps.

Under P the loss of a coordinate shifted by s scales is s with probability 1/2, and else 2e below s, or -s if that is less,
with e an exponential variable of mean 1. Let the losses fall to any depth, 2e below s: of N coordinates whose steps sum to S,

.. math:: \delta(\varepsilon) \ge E\Bigl[\bigl(1 - e^{-2y + 2G_B}\bigr)_+\Bigr] = P[K > B'] = D_N(y), \qquad
          y = \frac{S - \varepsilon}2, \quad K \sim \mathrm{Poisson}(y),\ B \sim \mathrm{Bin}(N, \tfrac12),\
          B' \sim \mathrm{Bin}(N-1, \tfrac12)

with :math:`G_b` a sum of b exponential variables. The second equation: the Laplace transform of the first mean in x = 2y is
:math:`\frac1{z(z+1)} \bigl(\frac{z+1}{2z+1}\bigr)^N`, whose residues at 0 and -1/2 are 1 and :math:`-P[K \le B']`. One coordinate
gives :math:`1 - e^{-y}` and two :math:`1 - (1 + y/2) e^{-y}`, as in `accountants.laplace`.

The two sides differ only where some e exceeds its s, of probability :math:`e^{-s}/2`. The left one counts nothing then unless
s < y, and is at most the delta :math:`\delta'` of the other coordinates at the sum of their steps less 2(y - s). So, with a sum
over the coordinates of a step s < y,

.. math:: \delta(\varepsilon) \le D_N(y) + \sum \tfrac12 e^{-s}\, \delta', \qquad
          \delta' = D_{N-1}(y - s) \text{ where } y - s \text{ is at most the least step, and } \delta' \le 1.
"""

from __future__ import annotations

from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.core.working_precision import working_bits

_MOST = 1 << 13  # most coordinates whose probabilities are summed, one by one: some 20 milliseconds
_NOT_SEEN = 2.0**-40  # relative width that counts as none; less than the relative error of the integral, 2**-36


def delta(groups: tuple[tuple[int, Fraction], ...], epsilon: Fraction) -> flint.arb | None:
    """Delta(epsilon) of groups of coordinates; None where it is not known to a relative 2**-40, or they are too many.

    Epsilon is at most the sum of all steps.
    """
    count = sum(number for number, _ in groups)
    if count > _MOST:
        return None
    y = (sum((number * step for number, step in groups), Fraction(0)) - epsilon) / 2
    rest, least = flint.arb(0), min(step for _, step in groups)
    for number, step in groups:  # what the losses that end at the opposite of a step add
        if step < y:
            others = poisson_exceeds_coins(ball(y - step), count - 2) if count > 1 and y - step <= least else flint.arb(1)
            rest += number * (-ball(step)).exp() / 2 * others
    if rest > _NOT_SEEN:
        return None
    found = poisson_exceeds_coins(ball(y), count - 1)
    return between(found, (found + rest).min(flint.arb(1))) if rest <= found * _NOT_SEEN else None


def poisson_exceeds_coins(mean: flint.arb, coins: int) -> flint.arb:
    """P[K > B], K of a Poisson law and B heads of fair coins: a sum over B of positive terms."""
    masses = [(-mean).exp()]
    for k in range(1, coins + 1):
        masses.append(masses[-1] * mean / k)
    tail, chance, total = _beyond(masses, mean), flint.arb(2) ** -coins, flint.arb(0)
    for heads in range(coins, -1, -1):
        total += chance * tail
        tail += masses[heads]
        chance = chance * heads / (coins - heads + 1)
    return total


def _beyond(masses: list[flint.arb], mean: flint.arb) -> flint.arb:
    """Probability of more events than the masses are given for."""
    following = masses[-1] * mean / len(masses)
    if not mean < len(masses):
        return 1 - sum(masses, flint.arb(0))
    total, k = flint.arb(0), len(masses)
    while True:
        total, k = total + following, k + 1
        following *= mean / k
        rest = following / (1 - mean / (k + 1))  # the ratios fall
        if rest < total * flint.arb(2) ** -working_bits():
            return total + between(0, rest)
