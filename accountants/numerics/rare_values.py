r"""The expected positive part of a sum of n iid values of which all but one are rare: summed by how many copies are rare.

With r the probability of all rare values together, the number M of copies that have one is binomial. The values of at most m
such copies are enumerated; the rest is at most what the positive values add up to there,

.. math:: E\Bigl[\Bigl(\sum_i X_i\Bigr)_+; M > m\Bigr] \le n v_0^+ P[\mathrm{Bin}(n, r) > m]
          + n \sum_j p_j v_j^+ \, P[\mathrm{Bin}(n - 1, r) \ge m],

for a copy with the value j leaves n - 1 others. Beyond its mean a binomial law falls faster than a geometric series, which bounds
its tail by its first term.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import between

PointMass: TypeAlias = tuple[flint.arb, flint.arb]  # (value, probability) of a discrete law

MOST_EXPECTED = 64  # copies with a rare value that may be expected: of more, the sums have too many terms
MOST_SUMS = 4_000  # multisets of rare values that are enumerated, at some microseconds each
_HARDLY = flint.arb(2) ** -50  # relative size of the rest at which no tolerance asks for more


def rarely(atoms: Sequence[PointMass], n: int, tolerance: float) -> flint.arb | None:
    """Enclose the expectation of the positive part of a sum of `n` independent copies, where nearly all have one value.

    Probabilities may lie below every float; ``tolerance``: relative width. None where so few sums do not suffice.
    """
    (usual, _), *others = sorted(atoms, key=lambda atom: -float(atom[1]))
    zero = flint.arb(0)
    rare = sum((p for _, p in others), zero)
    if not others or not n * rare < min(MOST_EXPECTED, n / 2):
        return None
    expected = float(n * rare)
    if math.comb(int(expected + 4 * math.sqrt(expected)) + len(others), len(others)) > MOST_SUMS:
        return None  # the sums that are likely are too many already
    once, gains = n * usual.max(zero), n * sum((p * value.max(zero) for value, p in others), zero)
    goal = flint.arb(tolerance / 4).max(_HARDLY)
    odds, usually = rare / (1 - rare), (1 - rare) ** n
    # chance is P[M = m], and ways n!/(n - m)! (1 - r)^(n - m): the sums bring p^c / c! of each value.
    found, chance, ways, m = zero, usually, usually, 0
    while math.comb(m + len(others), m) <= MOST_SUMS:
        found += ways * sum((weight * ((n - m) * usual + total).max(zero) for total, weight in _sums(others, m)), zero)
        if m == n:
            return found
        left = (n - m) * chance
        rest = once * _tail(left * odds / (m + 1), (n - m - 1) * odds / (m + 2))
        rest += gains * _tail(left / (n * (1 - rare)), (n - m - 1) * odds / (m + 1))
        if rest <= goal * found:
            return found + between(0, rest.abs_upper())
        chance, ways, m = left * odds / (m + 1), ways * (n - m) / (1 - rare), m + 1
    return None


def _tail(first: flint.arb, falls: flint.arb) -> flint.arb:
    """Upper bound of a binomial tail by its first chance and how this falls to the second; 1 before the mean."""
    return first / (1 - falls) if falls < 1 else flint.arb(1)


def _sums(atoms: Sequence[PointMass], m: int) -> Iterator[PointMass]:
    r"""The multisets of m values, each its sum and the product of :math:`p_j^c / c!`."""
    (value, p), *others = atoms
    if not others:
        yield m * value, p**m / math.factorial(m)
        return
    weight = flint.arb(1)
    for count in range(m + 1):
        for total, others_weight in _sums(others, m - count):
            yield total + count * value, weight * others_weight
        weight = weight * p / (count + 1)
