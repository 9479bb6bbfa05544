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
from typing import TypeAlias

from ldpaudit.accountants.shuffling.blanket import Blanket

BitLaw: TypeAlias = Sequence[Fraction]
"""Probability of each symbol that a bit may show."""
Group: TypeAlias = tuple[int, tuple[int, int, int]]
"""A number of bits, and whether user 1's first value, their second value, and the other users' value set them."""

Cells: TypeAlias = dict[tuple[Fraction, Fraction], tuple[Fraction, Fraction, Fraction]]
"""By the ratios of the laws of user 1's values to the others', the probabilities of the messages so far."""

MOST_CELLS = 300
"""Kinds of messages; one of 36 kinds took 0.16 s to evaluate, so that one of 300 takes a second and more."""


def blanket(groups: Sequence[Group], laws: tuple[BitLaw, BitLaw], share: Fraction = Fraction(1)) -> Blanket | None:
    """User 1's message among the other users', or None where there are more than 300 kinds of messages.

    Parameters
    ----------
    groups : sequence of Group
        All bits that anybody sets.
    laws : pair of BitLaw
        Of an unset bit, and of a set one.
    share : Fraction
        Part of the other users' law that is known.
    """
    cells = _start(share)
    for count, kind in groups:
        for _ in range(count):
            cells = cells and _grown(cells, kind, laws)
    return Blanket.of(cells.values()) if cells else None


def _start(share: Fraction) -> Cells | None:
    return {(Fraction(1), Fraction(1)): (Fraction(1), Fraction(1), share)}


def _grown(cells: Cells, kind: tuple[int, int, int], laws: tuple[BitLaw, BitLaw]) -> Cells | None:
    """One bit more; None where there are more than 300 kinds of messages."""
    first, second, other = kind
    grown: Cells = {}
    for (ratio1, ratio2), (r1, r2, b) in cells.items():
        for p1, p2, pb in zip(laws[first], laws[second], laws[other], strict=True):
            key = ratio1 * p1 / pb, ratio2 * p2 / pb
            a1, a2, c = grown.get(key, (0, 0, 0))
            grown[key] = a1 + r1 * p1, a2 + r2 * p2, c + b * pb
    return grown if len(grown) <= MOST_CELLS else None


def blankets(bits: int, hashes: int, laws: tuple[BitLaw, BitLaw]) -> tuple[Blanket, ...] | None:
    """One for every two sizes of signatures and every overlap; None where there are too many messages.

    Parameters
    ----------
    bits : int
        Length of a report.
    hashes : int
        The most bits that a value sets, at least 1.
    laws : pair of BitLaw
        Of an unset bit, and of a set one.
    """
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
    overlaps = ((s1, s2, both) for s1 in sizes for s2 in sizes for both in range(min(s1, s2) + 1))
    found = []
    for s1, s2, both in overlaps:
        if s1 + s2 - both <= bits and (s1, s2) != (both, both):
            each = cells(s1 - both, s2 - both, both)
            if each is None:
                return None
            found.append(Blanket.of(each.values()))
    return tuple(found)


def others_alike(sets: tuple[set[int], set[int], set[int]], laws: tuple[BitLaw, BitLaw]) -> Blanket | None:
    """User 1 sets the first or the second set of bits, and all other users set the third."""
    anybody = sorted(set.union(*sets))
    return blanket([(1, (int(i in sets[0]), int(i in sets[1]), int(i in sets[2]))) for i in anybody], laws)
