"""The tail of a sample without replacement, in units of its first term: a sum of integers."""

from __future__ import annotations

import flint

_SPARE = 48
"""Bits above the precision: each of fewer than 2**24 terms is rounded down once more than the last."""


def urn_factor(marked: int, draws: int, left: int, k: int) -> flint.arb:
    r"""P[X >= k] / P[X = k] for the number X of marked ones among the drawn.

    .. math:: 1 + r_k + r_k r_{k+1} + \dots, \qquad r_j = \frac{(K - j)(n - j)}{(j + 1)(N - K - n + j + 1)} \le 1

    A term in units of 2**-b, rounded down, is too small by fewer units than its number, as no ratio is above 1. Ratios
    fall, so what is left after some terms is at most geometric.

    Parameters
    ----------
    marked, draws, left : int
        K, n and N - K - n.
    k : int
        Above the mean n K / N, and possible.

    Returns
    -------
    flint.arb
        At the current precision.
    """
    bits = flint.ctx.prec + _SPARE
    term = total = 1 << bits
    above, below, done = (marked - k) * (draws - k), (k + 1) * (left + k + 1), 0
    if above > below:
        raise ArithmeticError(f"ratios fall below 1 only above the mean: K={marked}, n={draws}, N-K-n={left}, k={k}")
    check, last = 8, min(marked, draws) - k
    while done < last:
        for j in range(k + done, k + min(check, last)):
            term = term * ((marked - j) * (draws - j)) // ((j + 1) * (left + j + 1))
            total += term
        done = min(check, last)
        j = k + done
        above, below = (marked - j) * (draws - j), (j + 1) * (left + j + 1)
        # Every ratio from here on is at most this one.
        rest = (term + done) * above // (below - above) + 1 if above < below else total
        if above == 0 or rest < total >> flint.ctx.prec:
            return _scaled(total, done * done + (rest if above else 0), bits)
        check += 8 + check // 8
    return _scaled(total, done * done, bits)


def _scaled(low: int, width: int, bits: int) -> flint.arb:
    """The ball from `low` to `low + width` units."""
    return flint.arb(low).union(flint.arb(low + width)) * flint.arb(2) ** -bits
