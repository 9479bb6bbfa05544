"""Reports as numbers: what an adversary can tell apart stays apart, types, lengths and order included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import Reports, in_a_row
from ldpaudit.attacks.blackbox.kinds import NUMERIC, attributes, opened
from ldpaudit.errors import ImplementationError

Skeleton: TypeAlias = tuple[Any, ...]  # a report without its numbers: types, lengths and their order

ARRAY = "array"  # the first entry in the skeleton of a report that was a row of an array
TEXT, ATTRIBUTES = "text", "attributes"
"""Tell the bones of a text or of bytes, and of what a number, a text or a container carries besides, from others."""
_WORD = 62  # bits of a large integer per leaf: an int64 holds them and a sign
_LIMIT = 1 << _WORD  # integers below it in size are one leaf
_DEEPEST = 32  # containers inside each other, at most: well below the limit of recursion
PIECE = 1 << 20  # numbers of which something is made at a time: 8 MB of words
_SHORT = 32  # numbers that are as quickly read one by one
_X87 = 63  # bits of the mantissa of the x87's long double, without the first
_ODD = np.uint64(0x9E3779B97F4A7C15)  # tells the places of a report apart in its fingerprint
Part: TypeAlias = Sequence[Any] | NDArray[Any]  # numbers of one report that have one type


@dataclass(frozen=True, slots=True)
class Group:
    """The reports of one skeleton."""

    rows: NDArray[np.int64]  # their places among all reports
    # their numbers, as they were returned: tables with a row for each report. A number is made of them only when it is
    # asked for, so that a long report costs what is looked at
    blocks: tuple[NDArray[Any], ...]
    items: Any = None  # of reports in short: what they hold, as `folding.Items`
    told: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)  # what was computed before

    @property
    def width(self) -> int:
        """Numbers of a report."""
        return sum(block.shape[1] for block in self.blocks)

    @property
    def leaves(self) -> Leaves:
        """Its numbers, one array for each place in the skeleton."""
        return Leaves(self.blocks)

    def words(self, j: int) -> NDArray[np.uint64]:
        """The bits of number `j`, as one word or, of a long double, two; shape ``(reports, words)``."""
        block, place = _at(self.blocks, j)
        return words(block[:, place : place + 1])[:, 0]

    def xor(self) -> NDArray[np.uint64]:
        """The words of each report, exclusive-or'ed."""
        return self._over_words(np.bitwise_xor, lambda word, _: word)

    def whole(self) -> NDArray[np.uint64]:
        """A 64-bit fingerprint of each report, bit for bit: 1.0 and the next float differ, as do 0.0 and -0.0."""
        if Group.whole not in self.told:
            self.told[Group.whole] = self._over_words(np.add, lambda word, place: mixed(word + place * _ODD))
        return np.asarray(self.told[Group.whole])

    def _over_words(self, add: np.ufunc, told: Callable[..., NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """What each word and its place tell, added up."""
        total, start = np.zeros(len(self.rows), dtype=np.uint64), 1
        for piece in pieces(self.blocks):
            table = words(piece).reshape(len(self.rows), -1)
            places = np.arange(start, start + table.shape[1], dtype=np.uint64)
            total = add(total, add.reduce(told(table, places), axis=1))
            start += table.shape[1]
        return total


@dataclass(frozen=True, slots=True)
class Leaves:
    """The columns of tables side by side: integers as int64, floats as float64."""

    blocks: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return sum(block.shape[1] for block in self.blocks)

    def __getitem__(self, j: int) -> NDArray[Any]:
        block, place = _at(self.blocks, j)
        return numbers(block[:, place])

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (numbers(column) for block in self.blocks for column in block.T)


def _at(blocks: Sequence[NDArray[Any]], j: int) -> tuple[NDArray[Any], int]:
    """The table that holds column `j`, and the column's place in it."""
    for block in blocks:
        if j < block.shape[1]:
            return block, j
        j -= block.shape[1]
    raise IndexError("a report has fewer numbers")


def pieces(blocks: Sequence[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """The tables' columns, in order, so few at a time that what is made of them stays small."""
    for block in blocks:
        step = max(1, PIECE // max(len(block), 1))
        yield from (block[:, i : i + step] for i in range(0, block.shape[1], step))


def numbers(table: NDArray[Any]) -> NDArray[Any]:
    """Integers as int64, floats as float64; not-a-numbers compare equal to each other and above all numbers."""
    if table.dtype.kind != "f":
        return table.astype(np.int64, copy=False)  # a larger unsigned number keeps its bits
    with np.errstate(over="ignore"):
        wide = table.astype(np.float64, copy=False)
    none = np.isnan(wide)
    return np.where(none, np.finfo(np.float64).max, wide) if none.any() else wide


def words(table: NDArray[Any]) -> NDArray[np.uint64]:
    """The bits of numbers: shape ``(*table.shape, 1)``, or 2 at the end for long doubles that are longer than doubles.

    Sign, exponent, each bit of the mantissa, and what a not-a-number carries.
    """
    if table.dtype.kind != "f":
        return table.astype(np.int64).view(np.uint64)[..., None]
    plain = np.ascontiguousarray(table, dtype=table.dtype.newbyteorder("="))
    if plain.dtype.itemsize <= np.dtype(np.float64).itemsize:
        return plain.view(f"u{plain.dtype.itemsize}").astype(np.uint64)[..., None]
    pair = plain[..., None].view(np.uint64)
    # The x87's long double has ten bytes; the six beside them are whatever was there before.
    return pair & np.array([~0, 0xFFFF], dtype=np.int64).view(np.uint64) if np.finfo(plain.dtype).nmant == _X87 else pair


def mixed(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A permutation of words in which each bit depends on all: splitmix64's finalizer."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))


Encoded: TypeAlias = dict[Skeleton, Group]


class Remembered(dict[Skeleton, Group]):
    """Encoded reports that remember what was made of them."""

    __slots__ = ("told",)

    def __init__(self, groups: Encoded) -> None:
        super().__init__(groups)
        self.told: dict[Any, Any] = {}


def between(encoded: Encoded, start: int, end: int) -> Encoded:
    """These of the reports, with places counted from 0 again."""
    part: Encoded = {}
    for skeleton, group in encoded.items():
        first, last = np.searchsorted(group.rows, (start, end)).tolist()
        if first < last:
            items = None if group.items is None else group.items.take(np.arange(first, last))
            part[skeleton] = made = Group(group.rows[first:last] - start, tuple(b[first:last] for b in group.blocks), items)
            made.told[Group.whole] = group.whole()[first:last]
    return Remembered(part)


def join(parts: Sequence[tuple[Encoded, int]]) -> Encoded:
    """The reports of all parts, one part after the other, each with the number of its reports."""
    found: dict[Skeleton, list[Group]] = {}
    start = 0
    for encoded, size in parts:
        for skeleton, group in encoded.items():
            found.setdefault(skeleton, []).append(Group(group.rows + start, group.blocks, group.items))
        start += size
    return Remembered({skeleton: together(groups) for skeleton, groups in found.items()})


def together(groups: Sequence[Group]) -> Group:
    """Groups of one skeleton as one."""
    if len(groups) == 1:
        return groups[0]
    blocks = zip(*(group.blocks for group in groups), strict=True)
    held = [group.items for group in groups if group.items is not None]
    items = held[0].joined(held) if held else None
    return Group(np.concatenate([group.rows for group in groups]), tuple(map(np.concatenate, blocks)), items)


def encode(reports: Any, size: int, x: Any) -> Encoded:
    """Group reports by skeleton.

    ``reports``: the first axis counts reports; ``size``: how many there must be; ``x``: the input that they are on,
    for the error message. Raises ImplementationError where there are more or fewer, or one is made of something else
    than numbers, strings, bytes, None, tuples, lists, sets, dicts, arrays and what `kinds` opens.
    """
    many = isinstance(reports, Sequence) and not isinstance(reports, str | bytes)
    if not (reports.ndim if isinstance(reports, np.ndarray) else many):
        raise ImplementationError(f"needs {size} reports, got {type(reports).__name__}", x)
    if len(reports) != size:
        raise ImplementationError(f"needs {size} reports, got {len(reports)}", x)
    if isinstance(reports, np.ndarray) and reports.dtype.kind in NUMERIC:
        skeleton = (ARRAY, reports.dtype.str, reports.shape[1:])
        return Remembered({skeleton: Group(np.arange(size), (reports.reshape(size, -1),))})
    places: dict[Skeleton, tuple[list[int], list[list[Part]]]] = {}
    told = reports.rows if isinstance(reports, Reports) else map(in_a_row, reports)
    for row, (report, numbers_of) in enumerate(zip(reports, told, strict=True)):
        bones: list[Any] = []
        parts: list[Part] = []
        _flatten(report, bones, parts, x, row=numbers_of)
        rows, held = places.setdefault(tuple(bones), ([], []))
        rows.append(row)
        held.append(parts)
    return Remembered({skeleton: Group(np.array(rows), _tables(held)) for skeleton, (rows, held) in places.items()})


def _tables(held: list[list[Part]]) -> tuple[NDArray[Any], ...]:
    """The parts of reports of one skeleton as tables; neighbours of one type are one table."""
    tables = [np.array(part).reshape(len(held), -1) for part in zip(*held, strict=True)]
    runs = groupby((table for table in tables if table.shape[1]), key=lambda table: table.dtype)
    return tuple(run[0] if len(run) == 1 else np.hstack(run) for run in (list(same) for _, same in runs))


def require_alike(encoded: Encoded, before: Iterable[Skeleton], x: Any) -> Encoded:
    """The reports of one call, checked to be in the same form as those of another call.

    An array has one type and one shape for all its reports. Where these depend on what the reports are, each report says
    something about all others of its call, and what one of them shows would be counted for all.

    ``encoded``: from an array, or not; ``before``: of another call on the same input; ``x``: the input, for the error
    message. Raises ImplementationError where one call returned an array, and the other none, or one of another type
    or shape.
    """
    shown = {*encoded, *before}
    if encoded and len(shown) > 1 and any(skeleton[:1] == (ARRAY,) for skeleton in shown):
        told = " and ".join(sorted(str(skeleton) for skeleton in shown))
        raise ImplementationError(f"needs arrays of one type and shape, or else lists of reports, got {told:.200}", x)
    return encoded


def _flatten(value: Any, bones: list[Any], parts: list[Part], x: Any, depth: int = 0, row: Part | None = None) -> None:
    """Append the value's types and lengths to `bones`, and its numbers, of a whole report those that are in a row, to `parts`."""
    kind = type(value).__name__
    if (more := attributes(value)) and depth < _DEEPEST:
        bones.append((kind, ATTRIBUTES))
        _flatten(more, bones, parts, x, depth + 1)
    match value:
        case list() | tuple() if (row := _plain(value, in_a_row(value) if depth else row)) is not None:
            bones.append((kind, len(value), type(value[0]).__name__))
            parts.append(row)
        case None:
            bones.append((kind, 0))
        case bool() | np.bool_() | float() | np.floating():
            bones.append(kind)
            parts.append([value])
        case Enum() | np.timedelta64():  # some of which are integers, too
            _flatten_opened(value, bones, parts, x, depth)
        case int() | np.integer():
            number = int(value)
            # A large integer as its words, with the sign among the bones.
            words = number.bit_length() // _WORD
            bones.append((kind, words, number < 0) if words else kind)
            parts.append([(abs(number) >> _WORD * i) & (_LIMIT - 1) for i in range(words + 1)] if words else [number])
        case str():
            bones.append((kind, len(value), TEXT))
            parts.append(list(map(ord, value)) if len(value) < _SHORT else _characters(value))
        case bytes() | bytearray():
            bones.append((kind, len(value), TEXT))
            parts.append(np.frombuffer(value, dtype=np.uint8))
        case np.ndarray() if value.dtype.kind in NUMERIC:
            # How it lies in memory is sent with it, as by `np.save`.
            order = " in Fortran order" if value.flags.f_contiguous and not value.flags.c_contiguous else ""
            bones.append((f"{kind}{order}", value.dtype.str, value.shape))
            parts.append(value.ravel())
        case tuple() | list() | set() | frozenset() | dict() if depth < _DEEPEST:
            # In the order of iteration, because that is the order in which it is sent.
            bones.append((kind, len(value)))
            for part in value.items() if isinstance(value, dict) else value:
                _flatten(part, bones, parts, x, depth + 1)
        case _:
            _flatten_opened(value, bones, parts, x, depth)


def _flatten_opened(value: Any, bones: list[Any], parts: list[Part], x: Any, depth: int) -> None:
    """The same of a value of a less usual type."""
    found = opened(value) if depth < _DEEPEST else None
    if found is None:
        raise ImplementationError(
            f"needs reports of numbers, strings, bytes, None, and times, enums, dataclasses, arrays, frames and, at most "
            f"{_DEEPEST} deep, containers of these, got {type(value).__name__}",
            x,
        )
    bones.append(found[0])
    _flatten(found[1], bones, parts, x, depth + 1)


def _plain(value: list[Any] | tuple[Any, ...], row: Part | None) -> Part | None:
    """A row of numbers of one type, one leaf each: such a report need not be walked through. None for anything else."""
    if row is not None:
        return row
    types = set(map(type, value))
    if len(types) != 1 or not types <= {bool, int, float}:
        return None
    return value if types != {int} or -_LIMIT < min(value) <= max(value) < _LIMIT else None


def _characters(text: str) -> NDArray[np.int64]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
