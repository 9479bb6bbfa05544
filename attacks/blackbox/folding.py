"""Reports in short: what is looked at where a report is longer than can be kept, or its form is too rare to learn from.

Reports of many different forms share no place that could be compared. In their place stand the length, both ends, sums over groups
of places and counts over groups of values: a fixed function of the report, to which every number adds something. Beside them
stand its items one after the other, in which tokens are sought, unless they are too many to keep. An item is a number, a text, or
the type and length of a container: reports of many forms share items where they share no place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.encoding import ARRAY, TEXT, Encoded, Group, Remembered, Skeleton, mixed, numbers, together, words
from ldpaudit.core.cached import cached

SHORT = 64  # numbers of a report that is kept as it is, whatever its length
ENDS, GROUPS = 16, 64
"""Numbers at either end that are kept, and groups of places and of values: place and hash modulo 64."""
LONG = "long"  # the last entry but one of a report whose items are not kept
FOLDED = "in short"  # the last entry in the skeleton of a folded report
_ODD = np.uint64(0xD6E8FEB86659FD93)  # tells the places of an item's parts apart
_SEED = np.uint64(0xA0761D6478BD642F)  # tells a type and a length from a number

_PARTS = ("sizes", "bits", "values", "text", "first")

Words: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the reports of one skeleton are made of items."""

    marks: Words  # types and lengths as words; 0 in the places of numbers
    held: NDArray[np.bool_]  # which of these are places of numbers
    text: NDArray[np.bool_]  # which of these are characters
    first: NDArray[np.bool_]  # where an item begins


@lru_cache(maxsize=1 << 14)
def layout(skeleton: Skeleton) -> Layout:
    """The layout of a skeleton."""
    marks, held, text, first = list[int](), list[bool](), list[bool](), list[bool]()

    def add(mark: int, size: int, one: bool, is_text: bool = False) -> None:
        """A type and a length, and as many numbers, which are items with it or each by itself."""
        marks.extend([mark, *[0] * size])
        held.extend([False, *[True] * size])
        text.extend([False, *[is_text] * size])
        first.extend([True, *[not one] * size])

    for bone in [skeleton] if skeleton[:1] == (ARRAY,) else skeleton:
        mark = hash_of(bone)
        match bone:
            case str():
                add(mark, 1, one=True)
            case (_, int(size), str(kind)) if kind == TEXT:
                add(mark, size, one=True, is_text=True)
            case (_, int(more), bool()):
                add(mark, more + 1, one=True)
            case (_, int(size), str()):
                add(mark, size, one=False)
            case (_, str(), tuple(shape)):
                add(mark, prod(shape), one=False)
            case _:
                add(mark, 0, one=True)
    return Layout(np.array(marks, dtype=np.uint64), *(np.array(each, dtype=np.bool_) for each in (held, text, first)))


@lru_cache(maxsize=1 << 14)
def hash_of(bone: Any) -> int:
    """A type and a length as a word that is the same in every process."""
    bits = np.frombuffer(repr(bone).encode(), dtype=np.uint8).astype(np.uint64)
    return int(mixed(bits + np.arange(len(bits), dtype=np.uint64) * _ODD).sum(dtype=np.uint64) ^ _SEED)


@dataclass(frozen=True, eq=False)
class Items:
    """The parts of reports one after the other, those of the first report first."""

    sizes: NDArray[np.int64]  # parts of each report
    bits: Words  # of each part: a number, a character, or a type and length
    values: NDArray[np.float64]  # of each number and character; not-a-number of others
    text: NDArray[np.bool_]  # which parts are characters
    first: NDArray[np.bool_]  # where an item begins

    @classmethod
    def of(cls, found: Sequence[tuple[Skeleton, Group]], held: tuple[Words, Floats] | None = None) -> Items:
        """Those of groups of reports, one group after the other; `held` is what `flat` makes of them."""
        bits, values = flat([group for _, group in found]) if held is None else held
        plans = [(layout(skeleton), len(group.rows)) for skeleton, group in found]
        marks, is_held, text, first = (
            np.concatenate([part if size == 1 else np.tile(part, size) for plan, size in plans for part in [getattr(plan, name)]])
            for name in ("marks", "held", "text", "first")
        )
        every, of_all = marks.copy(), np.full(len(marks), np.nan)
        every[is_held], of_all[is_held] = bits, values
        return cls(np.repeat([len(plan.marks) for plan, _ in plans], [size for _, size in plans]), every, of_all, text, first)

    def take(self, reports: NDArray[np.int64]) -> Items:
        """Those of some reports, in this order."""
        sizes, starts = self.sizes[reports], (np.cumsum(self.sizes) - self.sizes)[reports]
        place = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        return Items(sizes, *(each[place] for each in (self.bits, self.values, self.text, self.first)))

    @staticmethod
    def joined(parts: Sequence[Items]) -> Items:
        """Those of several samples, one after the other."""
        made: list[Any] = [np.concatenate([getattr(part, name) for part in parts]) for name in _PARTS]
        return Items(*made)

    @cached
    def report(self) -> NDArray[np.int64]:
        """The report of each part."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached
    def whole(self) -> tuple[Words, NDArray[np.int64]]:
        """Each item as a word, and the place of its first part."""
        starts = np.flatnonzero(self.first)
        inside = np.arange(len(self.bits)) - np.repeat(starts, np.diff([*starts, len(self.bits)]))
        parts = mixed(self.bits + inside.astype(np.uint64) * _ODD)
        return (np.add.reduceat(parts, starts) if len(starts) else parts[:0]), starts

    @cached
    def owner(self) -> NDArray[np.int64]:
        """The report of each item."""
        return np.asarray(self.report[self.whole[1]])

    @cached
    def number(self) -> NDArray[np.int64]:
        """The place of each item in its report."""
        many = np.bincount(self.owner, minlength=len(self.sizes))
        return np.asarray(np.arange(len(self.owner)) - (np.cumsum(many) - many)[self.owner])

    @cached
    def number_from_end(self) -> NDArray[np.int64]:
        """The same from the end."""
        return np.asarray(np.bincount(self.owner, minlength=len(self.sizes))[self.owner] - 1 - self.number)

    @cached
    def said(self) -> Floats:
        """What each item says as a number: its own, or how many parts it has."""
        starts = self.whole[1]
        ends = np.append(starts[1:], len(self.bits)) - 1
        last = self.values[ends]
        return np.where(np.isnan(last) | self.text[ends], (ends - starts).astype(np.float64), last)


def flat(groups: Sequence[Group]) -> tuple[Words, Floats]:
    """All numbers of all reports, one after the other: the bits of each as one word, and its value."""
    size = sum(len(group.rows) * group.width for group in groups)
    bits, values = np.empty(size, dtype=np.uint64), np.empty(size)
    # By type, because one call for many small tables takes as long as one for one of them.
    parts: dict[np.dtype[Any], tuple[list[NDArray[Any]], list[NDArray[np.int64]]]] = {}
    start = 0
    for group in groups:
        width, column = group.width, 0
        for block in group.blocks:
            tables, places = parts.setdefault(block.dtype, ([], []))
            tables.append(block.ravel())
            if len(block) == 1 or width == block.shape[1]:
                places.append(np.arange(start + column, start + column + block.size))
            else:
                rows = np.arange(start + column, start + len(block) * width, width)[:, None]
                places.append((rows + np.arange(block.shape[1])).ravel())
            column += block.shape[1]
        start += len(group.rows) * width
    for tables, places in parts.values():
        table, place = np.concatenate(tables), np.concatenate(places)
        told = words(table)
        bits[place] = told[..., 0] if told.shape[-1] == 1 else told[..., 0] ^ mixed(told[..., 1])
        values[place] = numbers(table)
    return bits, values


@dataclass(frozen=True, slots=True)
class Kept:
    """Which reports are kept as they are: short ones, and those in a form that was seen before, if they are not too long.
    """

    known: frozenset[Skeleton]  # the forms
    most: int  # numbers of a report, at most

    def keeps(self, skeleton: Skeleton, group: Group) -> bool:
        """Whether reports of this skeleton are."""
        return group.width <= SHORT or (group.width <= self.most and skeleton in self.known)


def fold(encoded: Encoded, kept: Kept) -> Encoded:
    """The reports, those in short that are not kept."""
    rest = {skeleton: group for skeleton, group in encoded.items() if not kept.keeps(skeleton, group)}
    return Remembered({s: g for s, g in encoded.items() if s not in rest} | _folded(rest, kept.most)) if rest else encoded


def beyond(encoded: Encoded, looked: frozenset[Skeleton]) -> Encoded:
    """All reports in short whose forms are not among those that are looked at one by one."""
    told = encoded.told if isinstance(encoded, Remembered) else {}
    if looked not in told:
        told[looked] = _folded({skeleton: group for skeleton, group in encoded.items() if skeleton not in looked}, None)
    found: Encoded = told[looked]
    return found


def _folded(encoded: Encoded, most: int | None) -> Encoded:
    """Reports in short, by what is left of their forms; without items where they have more numbers than `most`."""
    made: dict[Skeleton, list[Group]] = {}
    fresh: dict[Skeleton, list[tuple[Skeleton, Group]]] = {}
    for skeleton, group in encoded.items():
        if in_short(skeleton):
            made.setdefault(skeleton, []).append(group)
        else:
            fresh.setdefault(_form(skeleton, most is not None and group.width > most), []).append((skeleton, group))
    for form, found in fresh.items():
        made.setdefault(form, []).append(_in_short(found, form[-2] != LONG))
    return {form: together(groups) for form, groups in made.items()}


def in_short(skeleton: Skeleton) -> bool:
    """Whether its reports were folded."""
    return skeleton[-1:] == (FOLDED,)


def _form(skeleton: Skeleton, long: bool) -> Skeleton:
    """What is left of a skeleton: the kinds of the container and its parts, or all of an array's, which many reports share."""
    last = (LONG, FOLDED) if long else (FOLDED,)
    if skeleton[0] == ARRAY:
        return (*skeleton, *last)
    outermost = skeleton[0] if isinstance(skeleton[0], tuple) else skeleton[:1]
    return (*(kind for kind in outermost if isinstance(kind, str)), *last)


def _in_short(found: Sequence[tuple[Skeleton, Group]], items: bool) -> Group:
    """Groups of many skeletons as one, in short, in the order of their rows."""
    rows = np.concatenate([group.rows for _, group in found])
    parts = np.concatenate([np.full(len(group.rows), len(skeleton)) for skeleton, group in found])
    widths = np.concatenate([np.full(len(group.rows), group.width) for _, group in found])
    bits, values = flat([group for _, group in found])
    starts, some = np.cumsum(widths) - widths, widths > 0
    report = np.repeat(np.arange(len(rows)), widths)
    place = np.arange(len(values)) - starts[report]
    both = np.zeros(len(rows), dtype=np.uint64)
    both[some] = np.bitwise_xor.reduceat(bits, starts[some]) if some.any() else 0
    whole = np.stack([widths, parts, both.view(np.int64)], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = _grouped(report, place % GROUPS, len(rows), values)
    often = _grouped(report, (mixed(bits) % np.uint64(GROUPS)).astype(np.int64), len(rows), None).astype(np.int64)
    near = np.hstack([np.tile(np.arange(ENDS), (len(rows), 1)), widths[:, None] - np.arange(ENDS, 0, -1)])
    inside = (near >= 0) & (near < widths[:, None])
    ends = np.where(inside, np.append(values, 0.0)[np.where(inside, starts[:, None] + near, len(values))], 0.0)
    order = np.argsort(rows, kind="stable")
    held = Items.of(found, (bits, values)).take(order) if items else None
    return Group(rows[order], (np.hstack([whole, often])[order], np.hstack([ends, sums])[order]), held)


def _grouped(report: NDArray[np.int64], group: NDArray[np.int64], size: int, values: Any) -> NDArray[Any]:
    """Counts, or sums of values, of each report's groups; shape ``(size, GROUPS)``."""
    return np.bincount(report * GROUPS + group, values, size * GROUPS).reshape(size, GROUPS)


def number_in_short(j: int) -> str:
    """What number `j` of a report in short says of the report."""
    of_values, at_ends, at_end, sums = np.cumsum([3, GROUPS, ENDS, ENDS]).tolist()
    if j < of_values:
        return ("the number of its numbers", "the number of its parts", "all numbers' exclusive or")[j]
    if j < at_ends:
        return f"the number of its numbers in group {j - of_values} of {GROUPS} by hash"
    if j < at_end:
        return f"its number {j - at_ends}"
    if j < sums:
        return f"its number {sums - j} from the end"
    return f"the sum of every {GROUPS}th number from its number {j - sums} on"
