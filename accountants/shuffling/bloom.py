r"""The blanket of a report of independent bits, each of which has one of two laws: Bloom filters with noise (RAPPOR).

A value x sets the bits of its signature B(x), at most h of them. With base the law of a report of no value, and
r(y) the ratio of a set bit's law to an unset one's,

.. math:: R(x)(y) = \mathrm{base}(y) \prod_{i \in B(x)} r(y_i) \ge \mathrm{base}(y)\, (\min r)^h

which is the blanket. What it is worth depends on how many bits only x1 or only x2 sets, and how many both set: all sizes
that signatures can have are evaluated.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from fractions import Fraction
from itertools import permutations, product
from typing import TypeAlias

from ldpaudit.accountants.numerics.rationals import fraction
from ldpaudit.accountants.shuffling.blanket import Blanket, product_kinds
from ldpaudit.accountants.shuffling.replaced import Replacement, replacement

BitLaw: TypeAlias = Sequence[Fraction]
"""Probability of each symbol that a bit may show."""
Kind: TypeAlias = tuple[int, int, int]
"""Whether user 1's first value, their second value, and the other users' value set a bit."""
_ONLY_FIRST, _ONLY_SECOND, _BOTH = (1, 0, 0), (0, 1, 0), (1, 1, 0)

MOST_CELLS = 300
"""Kinds of messages; one of 36 kinds took 0.16 s to evaluate, so that one of 300 takes a second and more."""
MOST_SIZES = 100
"""Sizes of two signatures and their overlap, each of which is evaluated; 5 hashes of 10 bits or more have 75."""


def blanket(bits: Sequence[Kind], laws: tuple[BitLaw, BitLaw], share: Fraction = Fraction(1)) -> Blanket | None:
    """User 1's message among the other users', of whose law this share is known; None of more than 300 kinds of messages."""
    kinds = product_kinds(tuple(Blanket.of(zip(*(laws[held] for held in kind), strict=True)) for kind in bits), MOST_CELLS)
    return Blanket.of((fraction(u * b), fraction(v * b), share * fraction(b)) for u, v, b in kinds) if kinds else None


def _share(hashes: int, laws: tuple[BitLaw, BitLaw]) -> Fraction:
    """What of any value's law is part of that of no value."""
    return min(one / zero for zero, one in zip(*laws, strict=True)) ** hashes


def blankets(bits: int, hashes: int, laws: tuple[BitLaw, BitLaw]) -> tuple[Blanket, ...] | None:
    """One for every two sizes of signatures and every overlap; None where there are too many of them, or of messages."""
    share = _share(hashes, laws)

    def sized(first: int, second: int, both: int) -> Blanket | None:
        return blanket([_ONLY_FIRST] * first + [_ONLY_SECOND] * second + [_BOTH] * both, laws, share)

    sizes = range(1, hashes + 1)
    # Two signatures of one size without a common bit have the most kinds of messages: where these are too many, it is soon known.
    if not all(sized(size, size, 0) for size in sizes if 2 * size <= bits):
        return None
    overlaps = ((s1, s2, both) for s1 in sizes for s2 in sizes for both in range(min(s1, s2) + 1))
    found: list[Blanket] = []
    for s1, s2, both in overlaps:
        if s1 + s2 - both <= bits and (s1, s2) != (both, both):
            each = sized(s1 - both, s2 - both, both)
            if each is None or len(found) == MOST_SIZES:
                return None
            found.append(each)
    return tuple(found)


def replaced(hashes: int, laws: tuple[BitLaw, BitLaw], signatures: Iterable[frozenset[int]] | None = None) -> Replacement | None:
    r"""The replacement of all values, or of those with these signatures; None where messages are too many.

    Of all values the types of three signatures of all sizes and overlaps count. Those are enough in which all three have `hashes`
    bits, and user 1's two have none in common: their others' i bits of the first one and j of the second, for all i and j. For the
    ratio of a bit that others do not set is independent of the rest, of mean 1. So one more bit that one signature alone sets makes
    the term W larger in the convex order: it is multiplied, or a part of it is, by a ratio (or the inverse one under the others'
    law). A bit that both of user 1's values set, and the others do not, is a ratio on both parts of W; two bits instead, one for
    each value, make these independent, and a convex function of the difference larger in the mean. And a bit that all three set
    cancels.
    """
    kinds_of_all, types = {tuple(sorted(kinds)) for kinds in _largest_types(hashes)}, []
    occurring = kinds_of_all if signatures is None else set(_types(signatures))
    for kinds in sorted(kinds_of_all if kinds_of_all <= occurring else occurring):
        found = blanket(kinds, laws)
        if found is None:
            return None
        types.append(found)
    return replacement(types, _share(hashes, laws))


def _largest_types(hashes: int) -> Iterator[list[Kind]]:
    for i, j in product(range(hashes + 1), repeat=2):
        if i + j <= hashes:
            alone = [_ONLY_FIRST] * (hashes - i) + [_ONLY_SECOND] * (hashes - j) + [(0, 0, 1)] * (hashes - i - j)
            yield [*alone, *[(1, 0, 1)] * i, *[(0, 1, 1)] * j]


def _types(signatures: Iterable[frozenset[int]]) -> Iterable[tuple[Kind, ...]]:
    listed = tuple(signatures)
    triples = ((a, b, c) for a, b in permutations(listed, 2) for c in listed)
    return dict.fromkeys(tuple(sorted(_kind(i, triple) for i in frozenset.union(*triple))) for triple in triples)


def _kind(bit: int, triple: tuple[Set[int], Set[int], Set[int]]) -> Kind:
    first, second, third = triple
    return int(bit in first), int(bit in second), int(bit in third)


def others_alike(sets: tuple[Set[int], Set[int], Set[int]], laws: tuple[BitLaw, BitLaw]) -> Blanket | None:
    """User 1 sets the first or the second set of bits, and all other users set the third."""
    return blanket([_kind(bit, sets) for bit in sorted(set().union(*sets))], laws)
