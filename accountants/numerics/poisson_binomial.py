r"""Certified tails of a sum of coins that are not all alike.

Tilting makes the point of interest the mean: with odds multiplied by :math:`\theta` in every group,

.. math:: P[X = j] = P_\theta[X = j]\; \theta^{-j} \prod_i (q_i + p_i \theta)^{n_i}

so absolute errors of the tilted law, which is convolved in balls, are relative errors of the tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.laws import (
    Probability,
    as_ball,
    between,
    binomial_lower,
    binomial_pmf,
    binomial_upper,
)
from ldpaudit.errors import Unsupported

Groups: TypeAlias = Sequence[tuple[int, Probability]]
"""Groups of equal coins: how many, and the probability of heads."""

_GUARD = 32
_LARGEST_WINDOW = 1 << 22
"""Coefficients of a group's law that are kept at most: about n = 1e10."""


def poisson_binomial_pmf(groups: Groups, k: int) -> flint.arb:
    """P[X = k] for the number X of heads among all coins of all groups.

    Parameters
    ----------
    groups : sequence of (int, Fraction or flint.arb)
        Counts, at least 0, with probabilities in [0, 1].
    k : int
        Any integer.

    Returns
    -------
    flint.arb
        At the current precision.

    Raises
    ------
    ValueError
        Where a count is negative, or a probability certainly outside [0, 1].
    Unsupported
        Where a group has more than about 1e10 coins.
    """
    coins, k = _proper(groups, k)
    if len(coins) == 1:
        return binomial_pmf(*coins[0], k)
    if not 0 <= k <= sum(n for n, _ in coins):
        return flint.arb(0)
    return _tilted_sum(coins, k, 1)


def poisson_binomial_upper(groups: Groups, k: int) -> flint.arb:
    """P[X >= k]; parameters as for `poisson_binomial_pmf`."""
    coins, k = _proper(groups, k)
    if len(coins) == 1:
        return binomial_upper(*coins[0], k)
    if k <= 0:
        return flint.arb(1)
    if k > sum(n for n, _ in coins):
        return flint.arb(0)
    if k <= sum(n * float(p) for n, p in coins):  # the mean's side: the complement loses nothing
        return 1 - poisson_binomial_lower(coins, k - 1)
    return _tilted_sum(coins, k, None)


def poisson_binomial_lower(groups: Groups, k: int) -> flint.arb:
    """P[X <= k]: at least ``n - k`` tails; parameters as for `poisson_binomial_pmf`."""
    return poisson_binomial_upper([(n, 1 - p) for n, p in groups], sum(n for n, _ in groups) - k)


def _proper(groups: Groups, k: int) -> tuple[list[tuple[int, Probability]], int]:
    """The coins that have two sides, and how many of them must show heads; at least one group."""
    for n, p in groups:
        if n < 0 or p < 0 or p > 1:
            raise ValueError(f"a Poisson-binomial law needs counts >= 0 and 0 <= p <= 1, got ({n}, {p})")
    certain = sum(n for n, p in groups if p == 1)
    return [(n, p) for n, p in groups if n and not (p == 0 or p == 1)] or [(0, 0)], k - certain


def _tilted_sum(coins: Groups, k: int, terms: int | None) -> flint.arb:
    """Sum of the first `terms` (or all) probabilities from k on."""
    with flint.ctx.workprec(flint.ctx.prec + _GUARD + sum(n for n, _ in coins).bit_length()):
        theta = flint.arb(_log_tilt(coins, k)).exp()
        law, start, scale = flint.arb_poly([1]), 0, theta ** -k
        lost = flint.arb(0)
        for n, p in coins:
            p, q = as_ball(p), as_ball(1 - p)
            weight = q + p * theta
            window, low, outside = binomial_window(n, p * theta / weight, q / weight, flint.ctx.prec)
            law, start, lost = law * flint.arb_poly(window), start + low, lost + outside
            scale *= weight**n
        here = [law[j - start] for j in range(max(k, start), start + len(law))][:terms]
        total, step = flint.arb(0), 1 / theta
        for each in reversed(here):
            total = total * step + each
        value = scale * (total * step ** max(0, start - k) + between(0, lost))
    return +value


def _log_tilt(coins: Groups, k: int) -> float:
    """A logarithm of odds that makes k about the mean; any value is valid, a good one keeps relative accuracy."""
    odds = [(n, math.log(float(p)) - math.log1p(-float(p))) for n, p in coins]
    goal = min(max(k, 0.5), sum(n for n, _ in coins) - 0.5)
    low, high = (sign * max(abs(x) for _, x in odds) + sign * 64 for sign in (-1, 1))
    for _ in range(64):
        middle = (low + high) / 2
        mean = sum(n / (1 + math.exp(-middle - x)) for n, x in odds)
        low, high = (middle, high) if mean < goal else (low, middle)
    return low


def binomial_window(n: int, p: flint.arb, q: flint.arb, bits: int) -> tuple[list[flint.arb], int, flint.arb]:
    """A binomial law where it counts, from which k on, and the probability of all else, about ``2**-bits``.

    Parameters
    ----------
    n : int
        Number of coins.
    p, q : flint.arb
        Probabilities of heads and of tails.
    bits : int
        Depth of the window.
    """
    center, sigma = int(n * float(p)), math.sqrt(n * float(p) * float(q))
    # Bernstein's tail exp(-t**2 / 2 (sigma**2 + t/3)), solved for t.
    nats = bits * math.log(2)
    reach = int(nats / 3 + math.sqrt(nats * nats / 9 + 2 * nats * sigma * sigma)) + 2
    low, high = max(0, center - reach), min(n, center + reach)
    if high - low >= _LARGEST_WINDOW:
        found = f"its law has {high - low} coefficients that count, more than {_LARGEST_WINDOW}"
        raise Unsupported(f"a group of {n} coins", found)
    odds = p / q
    above = [binomial_pmf(n, p, center, q)]
    for j in range(center, high):
        above.append(above[-1] * odds * (n - j) / (j + 1))
    below = above[:1]
    for j in range(center, low, -1):
        below.append(below[-1] * j / (odds * (n - j + 1)))
    with flint.ctx.workprec(32):
        outside = binomial_lower(n, p, low - 1, q) + binomial_upper(n, p, high + 1, q)
    return below[:0:-1] + above, low, outside
