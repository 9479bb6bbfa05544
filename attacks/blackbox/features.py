"""Discrete features of reports, and the scores that are made of their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.encoding import PIECE, Encoded, Group, Skeleton, numbers, pieces
from ldpaudit.attacks.blackbox.folding import beyond, in_short

SKELETONS, VALUES, WHOLES, BINS, LEAVES, BAG = 64, 64, 1 << 15, 32, 1024, 256
"""Most skeletons, values of one leaf, different whole reports, bins of a leaf with more values, leaves, and values whose
presence is looked for. They bound the memory of the counts: whole reports take the most, 256 kB per skeleton and input."""
SPLIT = 64
"""Numbers of a report that are split into bits each of which counts on its own; of longer reports, the leading bits do."""
FILLED = 8  # reports per bin, on all inputs together, where there are more than two bins
REMEMBERED = 1 << 12  # reports whose cells are remembered, at most
ALIKE = 4  # numbers with the same values that are looked at together
_NO_BIT = -2000  # in place of the lowest bit of numbers that have none: zero, infinity

Read = Callable[[Group], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Feature:
    """A number that each report of one skeleton has, and a partition of its values into cells."""

    # ``whole``, ``leaf``, ``grid``, ``difference``, ``bag`` or ``sum``; and what `bits`, `public_coins` and `tokens` add
    family: str
    name: str  # in words
    read: Read  # the number of each report
    cells: NDArray[Any]  # the values, in order, or the lower ends of the bins but the first
    binned: bool  # which of the two
    # how often each input showed each cell; shape ``(inputs, len(cells) + 1)``, the last for other values
    counts: NDArray[np.float64]

    def of(self, counts: NDArray[np.float64]) -> Feature:
        """The same feature of other reports."""
        return Feature(self.family, self.name, self.read, self.cells, self.binned, counts)

    def places(self, group: Group) -> NDArray[np.int64]:
        """The cell of each report; remembered where reports are few, for many scores ask for it."""
        key = self.read, self.binned, self.cells.dtype, self.cells.tobytes()
        if (known := group.told.get(key)) is None:
            known = _places(self.read(group), self.cells, self.binned)
            if len(known) <= REMEMBERED:
                group.told[key] = known
        return np.asarray(known)

    def count(self, groups: Sequence[Group | None]) -> NDArray[np.float64]:
        """How often each input shows each cell, of other reports."""
        places = [np.empty(0, dtype=np.int64) if group is None else self.places(group) for group in groups]
        return np.array([np.bincount(p, minlength=self.counts.shape[1]) for p in places], dtype=np.float64)


def _together(found: Sequence[Feature]) -> list[list[int]]:
    """Places of features that are looked at together, in their order: single numbers that have the same values, or values whose
    presence is looked for.
    """
    alike: dict[Any, list[int]] = {}
    for i, f in enumerate(found):
        if not f.binned and isinstance(f.read, partial) and f.read.func in (leaf, _holds):
            alike.setdefault((f.read.func, f.cells.dtype, f.cells.tobytes()), []).append(i)
    return [sorted(places, key=lambda i: found[i].read.args[0]) for places in alike.values() if len(places) >= ALIKE]  # type: ignore[attr-defined]


def _cells_of(found: Sequence[Feature], group: Group) -> NDArray[np.int64]:
    """The cells of features that are looked at together; shape ``(reports, features)``."""
    if found[0].read.func is _holds:  # type: ignore[attr-defined]
        held = _held(np.array([f.read.args[0] for f in found]), group)  # type: ignore[attr-defined]
        return _places(held.astype(np.int64), found[0].cells, binned=False)
    wanted, start, columns = np.array([f.read.args[0] for f in found]), 0, []  # type: ignore[attr-defined]
    for block in group.blocks:
        inside = wanted[(wanted >= start) & (wanted < start + block.shape[1])] - start
        start += block.shape[1]
        if len(inside):  # they are in order and, mostly, side by side
            side_by_side = np.array_equal(np.diff(inside), np.ones(len(inside) - 1))
            columns.append(numbers(block[:, inside[0] : inside[-1] + 1] if side_by_side else block[:, inside]))
    table, cells = np.hstack(columns), found[0].cells
    if cells.dtype.kind == "i" and len(cells) and cells[-1] - cells[0] == len(cells) - 1:
        within = (table >= cells[0]) & (table <= cells[-1])
        return np.where(within, table - cells[0], len(cells))
    return _places(table, cells, binned=False)


def in_tables(found: Sequence[Feature]) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
    """Places of features that have as many cells, and their counts; shape ``(features, inputs, cells)``."""
    sizes: dict[int, list[int]] = {}
    for i, f in enumerate(found):
        sizes.setdefault(f.counts.shape[1], []).append(i)
    yield from ((places, np.array([found[i].counts for i in places])) for places in sizes.values())


def subtracted(found: Sequence[Feature], others: Sequence[Feature]) -> list[Feature]:
    """The features, without what is counted in the same features of some of their reports."""
    counts: list[Any] = [None] * len(found)
    for (places, own), (_, less) in zip(in_tables(found), in_tables(others), strict=True):
        for i, left in zip(places, own - less, strict=True):
            counts[i] = left
    return [f.of(left) for f, left in zip(found, counts, strict=True)]


def weighed(found: Sequence[Feature], ratio: Callable[..., NDArray[np.float64]], a: int, b: int) -> list[Any]:
    """The features with the weights of their cells, rows of which `ratio` makes of both inputs' counts."""
    made = dict[int, NDArray[np.float64]]()
    for places, counts in in_tables(found):
        made.update(zip(places, ratio(counts[:, a], counts[:, b]), strict=True))
    return [(f, made[i]) for i, f in enumerate(found)]


def counted(found: Sequence[Feature], groups: Sequence[Group | None]) -> list[Feature]:
    """The features, with how often each input shows each cell of other reports."""
    counts: dict[int, NDArray[np.float64]] = {}
    for places in _together(found):
        own = [found[i] for i in places]
        shape = len(own), own[0].counts.shape[1]
        shift = np.arange(shape[0]) * shape[1]
        told = np.zeros((len(groups), *shape))
        for x, group in enumerate(groups):
            if group is not None:
                cells = (_cells_of(own, group) + shift).ravel()
                told[x] = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        counts |= {i: told[:, row] for row, i in enumerate(places)}
    return [f.of(counts[i] if i in counts else f.count(groups)) for i, f in enumerate(found)]


def added(terms: Sequence[tuple[Feature, NDArray[np.float64]]], group: Group) -> NDArray[np.float64]:
    """For each report the sum over features of the weight of its cell."""
    total, found = np.zeros(len(group.rows)), [made for made, _ in terms]
    rest = set(range(len(terms)))
    for places in _together(found):
        weights = np.stack([terms[i][1] for i in places])
        total += weights[np.arange(len(places)), _cells_of([found[i] for i in places], group)].sum(axis=1)
        rest -= set(places)
    for i in sorted(rest):
        total += terms[i][1][found[i].places(group)]
    return total


def _places(values: NDArray[Any], cells: NDArray[Any], binned: bool) -> NDArray[np.int64]:
    if binned:
        return np.searchsorted(cells, values, side="right")
    found = np.searchsorted(cells, values)
    known = cells[np.minimum(found, len(cells) - 1)] == values
    return np.where(known, found, len(cells))


def feature(
    family: str, name: str, read: Read, groups: Sequence[Group | None], most: int, known: NDArray[Any] | None = None
) -> Feature:
    """Choose the cells of one feature from the pooled reports of all inputs, unless they are known, and count."""
    values = [np.empty(0) if group is None else read(group) for group in groups]
    pooled = np.concatenate([v for v, group in zip(values, groups, strict=True) if group is not None])
    cells, binned = (known, False) if known is not None else _cells(family, pooled, most)
    counts = [np.bincount(_places(v, cells, binned), minlength=len(cells) + 1)[: len(cells) + 1] for v in values]
    return Feature(family, name, read, cells, binned, np.array(counts, dtype=np.float64))


def _cells(family: str, pooled: NDArray[Any], most: int) -> tuple[NDArray[Any], bool]:
    """All values, or the most frequent of whole reports, or the lower ends of bins."""
    cells, often = np.unique(pooled, return_counts=True)
    if len(cells) <= most:
        return cells, False
    if family == "whole":
        return np.sort(cells[np.argsort(-often, kind="stable")[:most]]), False
    ends = np.linspace(0, 1, min(BINS, max(len(pooled) // FILLED, 2)) + 1)[1:-1]
    return np.unique(np.quantile(pooled, ends, method="lower")), True


def frequent(values: Sequence[NDArray[Any]], most: int, least: int) -> NDArray[Any]:
    """The most frequent values, of those that are seen so often at least."""
    cells, often = np.unique(np.concatenate(values), return_counts=True)
    first = np.argsort(-often, kind="stable")[:most]
    return np.sort(cells[first[often[first] >= least]])


def whole(groups: Sequence[Group | None]) -> Feature:
    """The whole report, bit for bit."""
    return feature("whole", "the whole report", Group.whole, groups, WHOLES)


def _of_number(j: int, groups: Sequence[Group | None], split: bool) -> Iterator[Feature]:
    """Its values; of many integers, unless there are too many numbers to split, each bit; of many floats, the grid."""
    made = feature("leaf", f"number {j} of the report", partial(leaf, j), groups, VALUES)
    yield made
    if not made.binned:
        return
    values = np.concatenate([leaf(j, group) for group in groups if group is not None])
    if split and values.dtype.kind == "i":
        varying = (i for i in range(63) if np.ptp((values >> i) & 1))
        yield from (feature("leaf", f"bit {i} of number {j}", partial(_bit, j, i), groups, VALUES) for i in varying)
    if values.dtype.kind == "f":
        yield feature("grid", f"the lowest bit of number {j} of the report", partial(_lowest_bit, j), groups, VALUES)


def near_values(groups: Sequence[Group | None]) -> Iterator[tuple[int, list[NDArray[np.int64]], int, int]]:
    """Of integers that are near each other: the place of the first number, tables for the groups that there are, the
    least value, and how many follow one another from it on, at most `VALUES`.
    """
    start = 0
    for blocks in zip(*(group.blocks for group in groups if group is not None), strict=True):
        if blocks[0].dtype.kind != "f" and blocks[0].shape[1] and start < LEAVES:
            tables = [numbers(block[:, : LEAVES - start]) for block in blocks]
            low, high = min(int(table.min()) for table in tables), max(int(table.max()) for table in tables)
            if high - low < VALUES:
                yield start, tables, low, high - low + 1
        start += blocks[0].shape[1]


def _near(groups: Sequence[Group | None]) -> dict[int, Feature]:
    """The numbers whose values are near each other, counted all at once."""
    made = dict[int, Feature]()
    there = [group is not None for group in groups]
    for start, tables, low, values in near_values(groups):
        width = tables[0].shape[1]
        counts = np.zeros((len(groups), width, values))
        for x, table in zip(np.flatnonzero(there).tolist(), tables, strict=True):
            step = max(1, PIECE // len(table))
            for i in range(0, width, step):
                some = table[:, i : i + step] - low
                cells = (some + np.arange(some.shape[1]) * values).ravel()
                counts[x, i : i + step] = np.bincount(cells, minlength=some.shape[1] * values).reshape(-1, values)
        kinds, kind = np.unique(counts.any(axis=0), axis=0, return_inverse=True)
        for which, shown in enumerate(kinds):
            here, cells = np.flatnonzero(kind.ravel() == which), low + np.flatnonzero(shown)
            own = np.zeros((len(here), len(groups), len(cells) + 1))
            own[..., :-1] = counts[:, here][..., shown].transpose(1, 0, 2)
            for j, told in zip((start + here).tolist(), own, strict=True):
                made[j] = Feature("leaf", f"number {j} of the report", partial(leaf, j), cells, False, told)
    return made


def features(groups: Sequence[Group | None]) -> Iterable[Feature]:
    """All features of one skeleton, from each input's reports of it; None where an input has none."""
    some = next(group for group in groups if group is not None)
    yield whole(groups)
    leaves, near = len(some.leaves), _near(groups)
    for j in range(min(leaves, LEAVES)):
        yield from [near[j]] if j in near else _of_number(j, groups, leaves <= SPLIT)
    if leaves > 1:
        yield feature("sum", "the sum of the report", _sum, groups, VALUES)
        if leaves <= BAG and some.items is None:  # neighbours in a report in short are not neighbours
            for j in range(leaves - 1):
                yield feature("difference", f"number {j + 1} less number {j}", partial(_difference, j), groups, VALUES)
            values, often = np.unique(np.concatenate([leaf for g in groups if g for leaf in g.leaves]), return_counts=True)
            if 0 < np.count_nonzero(often > 1) <= BAG:  # a value that is seen once says nothing
                yield from _presences(values[often > 1], groups)


def leaf(j: int, group: Group) -> NDArray[Any]:
    """Number `j` of each report."""
    return group.leaves[j]


def _difference(j: int, group: Group) -> NDArray[Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        return _numbers(group.leaves[j + 1] - group.leaves[j])


def _bit(j: int, i: int, group: Group) -> NDArray[Any]:
    return (group.leaves[j] >> i) & 1


def _lowest_bit(j: int, group: Group) -> NDArray[np.int64]:
    """The exponent of the lowest set bit of each float: the grid of a sum betrays its summands.

    Source: Mironov 2012, "On significance of the least significant bits for differential privacy".
    """
    mantissa, exponent = np.frexp(group.leaves[j].astype(np.float64))
    finite = np.isfinite(mantissa)
    whole = (np.where(finite, mantissa, 0.0) * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(finite & (whole != 0), exponent.astype(np.int64) - 53 + lowest, _NO_BIT)


def _sum(group: Group) -> NDArray[np.float64]:
    total = np.zeros(len(group.rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for piece in pieces(group.blocks):
            total += numbers(piece).sum(axis=1, dtype=np.float64)
    return _numbers(total)


def _numbers(values: NDArray[Any]) -> NDArray[Any]:
    """The values, with undefined differences of infinities placed above all numbers."""
    return np.where(np.isnan(values), np.finfo(np.float64).max, values) if values.dtype.kind == "f" else values


def _presences(values: NDArray[Any], groups: Sequence[Group | None]) -> Iterator[Feature]:
    """Whether a report holds each of these values."""
    tables = [np.empty((0, len(values)), dtype=np.bool_) if group is None else _held(values, group) for group in groups]
    held = np.array([np.count_nonzero(table, axis=0) for table in tables], dtype=np.float64)
    counts = np.stack([np.array([[len(table)] for table in tables]) - held, held, np.zeros(held.shape)], axis=2)
    for v, told in zip(values.tolist(), counts.transpose(1, 0, 2), strict=True):
        shown = [*told[:, :2].any(axis=0).tolist(), True]
        yield Feature("bag", f"whether it holds {v}", partial(_holds, v), np.flatnonzero(shown[:2]), False, told[:, shown])


def _held(values: NDArray[Any], group: Group) -> NDArray[np.bool_]:
    """Which of these values, in order, each report holds; shape ``(reports, values)``."""
    held = np.zeros((len(group.rows), len(values)), dtype=np.bool_)
    for piece in pieces(group.blocks):
        table = numbers(piece)
        place = np.minimum(np.searchsorted(values, table), len(values) - 1)
        report, column = np.nonzero(values[place] == table)
        held[report, place[report, column]] = True
    return held


def _holds(value: float, group: Group) -> NDArray[np.int64]:
    held = np.zeros(len(group.rows), dtype=np.bool_)
    for piece in pieces(group.blocks):
        held |= (numbers(piece) == value).any(axis=1)
    return held.astype(np.int64)


def _read(encoded: Encoded, looked: frozenset[Skeleton], forms: Iterable[Skeleton]) -> Iterator[tuple[Skeleton, Group]]:
    """The reports of these forms, some of which may be those of reports in short."""
    for form in forms:
        if group := (beyond(encoded, looked) if in_short(form) else encoded).get(form):
            yield form, group


@dataclass(frozen=True, slots=True)
class Score:
    """A fixed function of a report: a constant per skeleton, plus a sum over features of a weight per cell."""

    name: str
    constants: dict[Skeleton, float]
    terms: dict[Skeleton, list[tuple[Feature, NDArray[np.float64]]]]
    looked: frozenset[Skeleton] = frozenset()
    """The forms that are looked at one by one: reports of all others are read in short."""

    def __call__(self, encoded: Encoded, size: int) -> NDArray[np.float64]:
        """Scores of the reports, in their order."""
        scores = np.zeros(size)
        for skeleton, group in encoded.items():
            scores[group.rows] = self.constants.get(skeleton, 0.0)
        for skeleton, group in _read(encoded, self.looked, self.terms):
            scores[group.rows] += added(self.terms[skeleton], group)
        return scores


@dataclass(frozen=True, slots=True)
class NumberScore:
    """A fixed function of a report: the signed distance of one number from a middle; 0 for another skeleton."""

    name: str
    skeleton: Skeleton
    read: Read
    middle: float
    sign: float
    looked: frozenset[Skeleton] = frozenset()

    def __call__(self, encoded: Encoded, size: int) -> NDArray[np.float64]:
        """Scores of the reports, in their order."""
        scores = np.zeros(size)
        for _, group in _read(encoded, self.looked, [self.skeleton]):
            away = self.sign * (self.read(group).astype(np.float64) - self.middle)
            scores[group.rows] = np.clip(away, -1e300, 1e300)
        return scores
