r"""The blanket of a report of independent bits, each of which has one of two laws: Bloom filters with noise (RAPPOR).

A value x sets the bits of its signature B(x), at most h of them. With base the law of a report of no value, and
r(y) the ratio of a set bit's law to an unset one's,

.. math:: R(x)(y) = \mathrm{base}(y) \prod_{i \in B(x)} r(y_i) \ge \mathrm{base}(y)\, (\min r)^h

which is the blanket. What it is worth depends on how many bits only x1 or only x2 sets, and how many both set: all sizes
that signatures can have are evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.rationals import rational
from ldpaudit.accountants.shuffling.blanket import Blanket, Cells, grown
from ldpaudit.accountants.shuffling.replaced import Replacement, replacement

BitLaw: TypeAlias = Sequence[Fraction]
"""Probability of each symbol that a bit may show."""
Group: TypeAlias = tuple[int, tuple[int, int, int]]
"""A number of bits, and whether user 1's first value, their second value, and the other users' value set them."""

MOST_CELLS = 300
"""Kinds of messages; one of 36 kinds took 0.16 s to evaluate, so that one of 300 takes a second and more."""
MOST_SIZES = 100
"""Sizes of two signatures and their overlap, each of which is evaluated; 5 hashes of 10 bits or more have 85."""


def blanket(groups: Sequence[Group], laws: tuple[BitLaw, BitLaw], share: Fraction = Fraction(1)) -> Blanket | None:
    """User 1's message among the other users', or None where there are more than 300 kinds of messages.

    ``share`` is the part of the other users' law that is known.
    """
    cells = _start(share)
    for count, kind in groups:
        for _ in range(count):
            cells = cells and _grown(cells, kind, laws)
    return Blanket.of_cells(cells) if cells else None


def _start(share: Fraction) -> Cells | None:
    one = flint.fmpq(1)
    return {(one, one): (one, one, rational(share))}


def _grown(cells: Cells, kind: tuple[int, int, int], laws: tuple[BitLaw, BitLaw]) -> Cells | None:
    """One bit more; None where there are more than 300 kinds of messages."""
    first, second, other = kind
    symbols = zip(*(map(rational, laws[held]) for held in (first, second, other)), strict=True)
    found = grown(cells, symbols)
    return found if len(found) <= MOST_CELLS else None


def blankets(bits: int, hashes: int, laws: tuple[BitLaw, BitLaw]) -> tuple[Blanket, ...] | None:
    """One for every two sizes of signatures and every overlap; None where there are too many of them, or of messages."""
    share = min(one / zero for zero, one in zip(*laws, strict=True)) ** hashes

    @cache
    def cells(first: int, second: int, both: int) -> Cells | None:
        """With so many bits that only one of two signatures sets, or both."""
        if not first + second + both:
            return _start(share)
        if both:
            before, kind = cells(first, second, both - 1), (1, 1, 0)
        elif second:
            before, kind = cells(first, second - 1, 0), (0, 1, 0)
        else:
            before, kind = cells(first - 1, 0, 0), (1, 0, 0)
        return before and _grown(before, kind, laws)

    sizes = range(1, hashes + 1)
    # Two signatures of one size without a common bit have the most kinds of messages: where these are too many, it is soon known.
    if not all(cells(size, size, 0) for size in sizes if 2 * size <= bits):
        return None
    overlaps = ((s1, s2, both) for s1 in sizes for s2 in sizes for both in range(min(s1, s2) + 1))
    found: list[Blanket] = []
    for s1, s2, both in overlaps:
        if s1 + s2 - both <= bits and (s1, s2) != (both, both):
            each = cells(s1 - both, s2 - both, both)
            if each is None or len(found) == MOST_SIZES:
                return None
            found.append(Blanket.of_cells(each))
    return tuple(found)


def replaced(hashes: int, laws: tuple[BitLaw, BitLaw]) -> Replacement | None:
    r"""The replacement of all values: of the types of three signatures of all sizes and overlaps; None where messages are too many.

    Those are enough in which all three have `hashes` bits, and user 1's two have none in common: their others' i bits of the
    first one and j of the second, for all i and j. For the ratio of a bit that others do not set is independent of the rest, and
    of the mean 1. So one more bit that one signature alone sets makes the term W larger in the convex order: it is multiplied, or a
    part of it is, by a ratio (or the inverse one under the others' law). A bit that both of user 1's values set, and the others do
    not, is a ratio on both parts of W; two bits instead, one for each value, make these independent, and a convex function of the
    difference larger in the mean. And a bit that all three set cancels.
    """
    types = []
    for i, j in product(range(hashes + 1), repeat=2):
        if i + j > hashes:
            continue
        alone = (hashes - i, (1, 0, 0)), (hashes - j, (0, 1, 0)), (hashes - i - j, (0, 0, 1))
        found = blanket([*alone, (i, (1, 0, 1)), (j, (0, 1, 1))], laws)
        if found is None:
            return None
        types.append(found)
    return replacement(types, min(one / zero for zero, one in zip(*laws, strict=True)) ** hashes)


def others_alike(sets: tuple[set[int], set[int], set[int]], laws: tuple[BitLaw, BitLaw]) -> Blanket | None:
    """User 1 sets the first or the second set of bits, and all other users set the third."""
    anybody = sorted(set.union(*sets))
    return blanket([(1, (int(i in sets[0]), int(i in sets[1]), int(i in sets[2]))) for i in anybody], laws)
