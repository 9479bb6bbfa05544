"""Features of the bits of numbers, and of the places of long reports: those that tell the inputs apart in a part of the reports.

All bits of all numbers are looked at: sign, exponent and mantissa of floats, what a not-a-number carries, the parity of each
number's bits, and the exclusive or of all numbers. Only those that differ most between inputs become features, so that the
scores which are compared stay few. They are sought in the reports that scores are fitted to, and judged by others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.blackbox.encoding import Group, mixed, words
from ldpaudit.attacks.blackbox.features import FILLED, LEAVES, VALUES, Feature, feature, frequent, leaf, near_values

BITS, PLACES = 8, 64  # bits, and places of a long report, that become features, at most
WORD, PARITY = 64, 64  # bits of a word; and the number of its parity among them
HASHES = 4
"""Bits of a hash of a number. They differ where none of its own bits does: 0, 1, 6 or 7 on one input, 2, 3, 4 or 5 on another."""
FEW = 16
"""Numbers of a report whose exclusive or is looked at even if each has few values: of fewer, the whole report says more."""
_PIECE = 1 << 21  # numbers that are looked at together: 16 MB of words

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bit:
    """One bit of a report: of a word of number `leaf`, or of all numbers' exclusive or where `leaf` is None."""

    leaf: int | None
    word: int
    bit: int

    def __call__(self, group: Group) -> NDArray[np.int64]:
        """The bit of each report."""
        return _plane(group.xor() if self.leaf is None else group.words(self.leaf)[:, self.word], self.bit).astype(np.int64)

    def __str__(self) -> str:
        of = "all numbers' exclusive or" if self.leaf is None else f"number {self.leaf}"
        which = "the parity of the bits" if self.bit == PARITY else f"bit {self.bit + WORD * self.word}"
        return f"{which} of {of}"


def with_bits(groups: Sequence[Group | None], fitting: Sequence[Group | None]) -> Iterator[Feature]:
    """Features of one skeleton.

    ``groups``: each input's reports, all of which are counted; ``fitting``: those by which bits and places are
    chosen.
    """
    width = next(group.width for group in groups if group is not None)
    shown = [group for group in fitting if group is not None]
    looked: Sequence[int] = range(width)
    if width > LEAVES:
        looked = leading_places(shown) if shown else []
        yield from (feature("place", f"number {j} of the report", partial(leaf, j), groups, VALUES) for j in looked)
    poor = {start + i for start, tables, *_ in near_values(groups) for i in range(tables[0].shape[1])}
    rich = [j for j in looked if j not in poor and _says_more(j, groups)]
    yield from (made for j in rich if (made := _patterns(j, groups)))
    if shown:
        wanted = np.ones(width, dtype=np.bool_) if width > LEAVES else np.isin(np.arange(width), rich)
        yield from (feature("bit", str(bit), bit, groups, 2) for bit in leading_bits(shown, wanted))
    if width > 1:
        yield from _specials(groups)


def leading_bits(groups: Sequence[Group], wanted: NDArray[np.bool_]) -> list[Bit]:
    """The bits in which inputs differ most, where luck would make fewer than one of all bits differ as much.

    ``groups``: each input's reports; ``wanted``: for each number of a report, whether its bits are looked at.
    """
    starts = _starts(groups)
    # For each bit of a word, at some places: at how many it was seen to vary, and the most surprising of them.
    found: list[tuple[int, list[tuple[float, Bit]]]] = []
    for start, table in _tables(groups):
        if not wanted[start : start + table.shape[1]].any():
            continue
        for word, bit, surprises in _bit_surprises(words(table), starts):
            told = np.where(wanted[start : start + len(surprises)], surprises, 0.0)
            few = np.argsort(-told, kind="stable")[:BITS].tolist()
            found.append((int(np.count_nonzero(told)), [(float(told[j]), Bit(start + j, word, bit)) for j in few]))
    if wanted.any() or len(wanted) >= FEW:
        both = np.concatenate([group.xor() for group in groups])[:, None, None]
        found += [(1, [(float(told[0]), Bit(None, word, bit))]) for word, bit, told in _bit_surprises(both, starts)]
    least = least_surprise(len(groups), sum(bits for bits, _ in found))
    best = nlargest(BITS, (each for _, leading in found for each in leading), key=lambda each: each[0])
    return [bit for told, bit in best if told > least]


def leading_places(groups: Sequence[Group]) -> list[int]:
    """The numbers of a report in which inputs differ most, by one bit of theirs or another, or by size."""
    surprises = np.concatenate([_place_surprises(table, groups) for _, table in _tables(groups)])
    return sorted(map(int, np.argsort(-surprises, kind="stable")[:PLACES]))


def _place_surprises(table: NDArray[Any], groups: Sequence[Group]) -> Floats:
    """For each place, the most surprising of its bits, and of a hash's bits."""
    starts, bits = _starts(groups), words(table)
    best = np.zeros(table.shape[1])
    for _, _, told in _bit_surprises(bits, starts):
        best = np.maximum(best, told)
    hashed = mixed(bits[..., 0])
    for bit in range(HASHES):
        best = np.maximum(best, _bit_surprise(_plane(hashed, bit), starts))
    return best


def _tables(groups: Sequence[Group]) -> Iterator[tuple[int, NDArray[Any]]]:
    """The numbers of all groups below each other, a few columns at a time, with the place of the first."""
    size, start = sum(len(group.rows) for group in groups), 0
    for blocks in zip(*(group.blocks for group in groups), strict=True):
        step = max(1, _PIECE // size)
        for i in range(0, blocks[0].shape[1], step):
            yield start + i, np.concatenate([block[:, i : i + step] for block in blocks])
        start += blocks[0].shape[1]


def _bit_surprises(table: Words, starts: list[int]) -> Iterator[tuple[int, int, Floats]]:
    """For each bit that is not always the same: its word, its number, and how surprising it is at each place."""
    together = max(1, _PIECE // table[..., 0].size)
    for word in range(table.shape[2]):
        bits = table[..., word]
        varying = int(np.bitwise_or.reduce(bits ^ bits[:1], axis=None))
        every = [*(i for i in range(WORD) if varying >> i & 1), PARITY]
        for some in (every[i : i + together] for i in range(0, len(every), together)):
            told = _bit_surprise(np.hstack([_plane(bits, bit) for bit in some]), starts).reshape(len(some), -1)
            yield from zip(repeat(word), some, told, strict=False)


def _plane(table: Words, bit: int) -> NDArray[np.bool_]:
    """One bit of each word, or its parity."""
    if bit != PARITY:
        return np.asarray((table & np.uint64(1 << bit)) != 0)
    folded = table
    for half in (32, 16, 8, 4, 2, 1):
        folded = folded ^ (folded >> np.uint64(half))
    return np.asarray((folded & np.uint64(1)) != 0)


def _bit_surprise(plane: NDArray[np.bool_], starts: list[int]) -> Floats:
    """How surprising it is at each place how often each input shows a bit."""
    shown = np.add.reduceat(plane, starts, axis=0, dtype=np.int64).astype(np.float64)
    return surprise(shown, np.diff([*starts, len(plane)]))


def surprise(shown: Floats, sizes: NDArray[Any]) -> Floats:
    """The chi-square statistic of how often each input shows something in this many reports; shape ``(inputs, things)``."""
    share, sizes = shown.sum(axis=0) / sizes.sum(), sizes[:, None]
    # A half beside the variance, as by Jeffreys' prior: what is seen once is no surprise.
    return np.asarray(((shown - sizes * share) ** 2 / (sizes * share * (1 - share) + 0.5)).sum(axis=0))


def least_surprise(inputs: int, tried: int) -> float:
    """What luck makes fewer than one of this many surprises exceed."""
    return float(special.chdtri(max(inputs - 1, 1), 1 / max(tried, 2)))


def _starts(groups: Sequence[Group]) -> list[int]:
    """Where each group's reports begin among all."""
    return [0, *np.cumsum([len(group.rows) for group in groups])[:-1].tolist()]


def _says_more(j: int, groups: Sequence[Group | None]) -> bool:
    """Whether the bits of a number say more than the counts of its values do."""
    shown = [group for group in groups if group is not None]
    patterns = len(np.unique(np.concatenate([_pattern(j, group) for group in shown])))
    # More patterns than values: some are equal and not the same, as zeros and not-a-numbers are.
    return patterns > VALUES or patterns > len(np.unique(np.concatenate([group.leaves[j] for group in shown])))


def _patterns(j: int, groups: Sequence[Group | None]) -> Feature | None:
    """The bit patterns that a number shows often: -0.0 beside 0.0, what a not-a-number carries, one value among many."""
    cells = frequent([_pattern(j, group) for group in groups if group is not None], VALUES, FILLED)
    read = partial(_pattern, j)
    return feature("pattern", f"frequent bit patterns of number {j}", read, groups, VALUES, cells) if len(cells) else None


def _pattern(j: int, group: Group) -> NDArray[np.int64]:
    """All bits of a number, as one integer; those of a long double mixed."""
    bits = group.words(j)
    one = bits[:, 0] if bits.shape[1] == 1 else mixed(bits[:, 0]) ^ bits[:, 1]
    return np.ascontiguousarray(one).view(np.int64)


def _specials(groups: Sequence[Group | None]) -> Iterator[Feature]:
    """How many of a report's floats are -0.0, not-a-number, infinite; of those that some are."""
    for name, kind in (("-0.0", _is_negative_zero), ("not-a-number", np.isnan), ("infinite", np.isinf)):
        made = feature("special", f"how many numbers are {name}", partial(_count, kind), groups, VALUES)
        if len(made.cells) > 1:
            yield made


def _is_negative_zero(table: NDArray[np.floating]) -> NDArray[np.bool_]:
    return np.asarray((table == 0) & np.signbit(table))


def _count(kind: Callable[..., Any], group: Group) -> NDArray[np.int64]:
    total = np.zeros(len(group.rows), dtype=np.int64)
    for block in group.blocks:
        if block.dtype.kind == "f":
            total += np.count_nonzero(kind(block), axis=1)
    return total
