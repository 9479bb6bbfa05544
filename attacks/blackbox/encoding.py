"""Reports as numbers: what an adversary can tell apart stays apart, types, lengths and order included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.errors import ImplementationError

Skeleton: TypeAlias = tuple[Any, ...]
"""A report without its numbers: types, lengths and their order."""

_ARRAY = "array"
"""The first entry in the skeleton of a report that was a row of an array."""
_WORD = 62
"""Bits of a large integer per leaf: an int64 holds them and a sign."""
_LIMIT = 1 << _WORD
"""Integers below it in size are one leaf."""
_DEEPEST = 32
"""Containers inside each other, at most: well below the limit of recursion."""


@dataclass(frozen=True, slots=True)
class Group:
    """The reports of one skeleton.

    Parameters
    ----------
    rows : ndarray of int
        Their places among all reports.
    leaves : tuple of ndarray
        Their numbers, one array for each place in the skeleton.
    """

    rows: NDArray[np.int64]
    leaves: tuple[NDArray[Any], ...]

    def whole(self) -> NDArray[np.uint64]:
        """A 64-bit fingerprint of each report, bit for bit: 1.0 and the next float differ, as do 0.0 and -0.0."""
        state = np.zeros(len(self.rows), dtype=np.uint64)
        for leaf in self.leaves:
            bits = leaf.astype(np.float64 if leaf.dtype.kind == "f" else np.int64, copy=False).view(np.uint64)
            # splitmix64's finalizer, over the state so far and the next number.
            state = (state ^ bits) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(31)
        return state


Encoded: TypeAlias = dict[Skeleton, Group]


def split(encoded: Encoded, size: int) -> tuple[Encoded, Encoded]:
    """The first `size` reports, and the rest, with places counted from 0 again."""
    parts: tuple[Encoded, Encoded] = {}, {}
    for skeleton, group in encoded.items():
        first = int(np.searchsorted(group.rows, size))
        for part, place, start in zip(parts, (slice(first), slice(first, None)), (0, size), strict=True):
            if len(rows := group.rows[place]):
                part[skeleton] = Group(rows - start, tuple(leaf[place] for leaf in group.leaves))
    return parts


def join(first: Encoded, size: int, second: Encoded) -> Encoded:
    """The reports of `first`, `size` in number, and those of `second` after them."""
    joined = dict(first)
    for skeleton, group in second.items():
        rows, leaves = group.rows + size, group.leaves
        if before := first.get(skeleton):
            rows = np.concatenate([before.rows, rows])
            leaves = tuple(np.concatenate(pair) for pair in zip(before.leaves, leaves, strict=True))
        joined[skeleton] = Group(rows, leaves)
    return joined


def encode(reports: Any, size: int, x: Any) -> Encoded:
    """Group reports by skeleton.

    Parameters
    ----------
    reports : ndarray or sequence
        The first axis counts reports.
    size : int
        How many there must be.
    x : object
        The input that they are on, for the error message.

    Raises
    ------
    ImplementationError
        Where there are more or fewer, or one is made of something else than numbers, strings, bytes, None, tuples,
        lists, sets, dicts and arrays.
    """
    many = isinstance(reports, Sequence) and not isinstance(reports, str | bytes)
    if not (reports.ndim if isinstance(reports, np.ndarray) else many):
        raise ImplementationError(f"needs {size} reports, got {type(reports).__name__}", x)
    if len(reports) != size:
        raise ImplementationError(f"needs {size} reports, got {len(reports)}", x)
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biuf":
        columns = reports.reshape(size, -1).T
        skeleton = (_ARRAY, reports.dtype.str, reports.shape[1:])
        return {skeleton: Group(np.arange(size), tuple(map(_column, columns)))}
    places: dict[Skeleton, tuple[list[int], list[list[Any]]]] = {}
    for row, report in enumerate(reports):
        bones: list[Any] = []
        leaves: list[Any] = []
        _flatten(report, bones, leaves, x)
        rows, numbers = places.setdefault(tuple(bones), ([], []))
        rows.append(row)
        numbers.append(leaves)
    return {
        skeleton: Group(np.array(rows), tuple(_column(np.array(leaf)) for leaf in zip(*numbers, strict=True)))
        for skeleton, (rows, numbers) in places.items()
    }


def require_alike(encoded: Encoded, before: Iterable[Skeleton], x: Any) -> Encoded:
    """The reports of one call, checked to be in the same form as those of another call.

    An array has one type and one shape for all its reports. Where these depend on what the reports are, each report says
    something about all others of its call, and what one of them shows would be counted for all.

    Parameters
    ----------
    encoded : Encoded
        From an array, or not.
    before : iterable of Skeleton
        Of another call on the same input.
    x : object
        The input, for the error message.

    Raises
    ------
    ImplementationError
        Where one call returned an array, and the other none, or one of another type or shape.
    """
    shown = {*encoded, *before}
    if encoded and len(shown) > 1 and any(skeleton[:1] == (_ARRAY,) for skeleton in shown):
        told = " and ".join(sorted(str(skeleton) for skeleton in shown))
        raise ImplementationError(f"needs arrays of one type and shape, or else lists of reports, got {told:.200}", x)
    return encoded


def _column(leaf: NDArray[Any]) -> NDArray[Any]:
    """Integers as int64, floats as float64; not-a-numbers compare equal to each other and above all numbers."""
    if leaf.dtype.kind != "f":
        return leaf.astype(np.int64)  # a larger unsigned number keeps its bits
    wide = leaf.astype(np.float64)
    return np.where(np.isnan(wide), np.finfo(np.float64).max, wide)


def _flatten(value: Any, bones: list[Any], leaves: list[Any], x: Any, depth: int = 0) -> None:
    """Append the value's types and lengths to `bones`, and its numbers to `leaves`."""
    kind = type(value).__name__
    match value:
        case list() | tuple() if _plain(value):
            bones.append((kind, len(value), type(value[0]).__name__))
            leaves.extend(value)
        case None:
            bones.append(kind)
        case bool() | np.bool_() | float() | np.floating():
            bones.append(kind)
            leaves.append(value)
        case int() | np.integer():
            _integer(kind, int(value), bones, leaves)
        case str():
            bones.append((kind, len(value)))
            leaves.extend(map(ord, value))
        case bytes() | bytearray():
            bones.append((kind, len(value)))
            leaves.extend(value)
        case np.ndarray() if value.dtype.kind in "biuf":
            bones.append((kind, value.dtype.str, value.shape))
            leaves.extend(value.ravel())
        case tuple() | list() | set() | frozenset() | dict() | np.ndarray() if depth < _DEEPEST:
            # In the order of iteration, because that is the order in which it is sent.
            bones.append((kind, len(value)))
            for part in value.items() if isinstance(value, dict) else value:
                _flatten(part, bones, leaves, x, depth + 1)
        case _:
            raise ImplementationError(
                f"needs reports of numbers, strings, bytes, None and, at most {_DEEPEST} deep, containers of these, "
                f"got {type(value).__name__}",
                x,
            )


def _plain(value: Sequence[Any]) -> bool:
    """Whether it is a row of numbers of one type, one leaf each: such a report need not be walked through."""
    types = set(map(type, value))
    if types == {int}:
        return bool(-_LIMIT < min(value) <= max(value) < _LIMIT)
    return len(types) == 1 and types <= {bool, float}


def _integer(kind: str, value: int, bones: list[Any], leaves: list[Any]) -> None:
    words = value.bit_length() // _WORD
    bones.append((kind, words, value < 0) if words else kind)
    if words:
        leaves.extend((abs(value) >> _WORD * i) & ((1 << _WORD) - 1) for i in range(words + 1))
    else:
        leaves.append(value)
