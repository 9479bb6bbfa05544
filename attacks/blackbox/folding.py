"""Long reports in short: what is looked at where a report is longer than can be kept, or its length is its own.

Reports of many different lengths share no place that could be compared, and each length alone is too rare to learn from. In
their place stand the length, both ends, sums over groups of places and counts over groups of values: a fixed function of
the report, to which every number adds something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.encoding import ARRAY, Encoded, Group, Skeleton, mixed, numbers, words

SHORT = 64
"""Numbers of a report that is kept as it is, whatever its length."""
ENDS, GROUPS = 16, 64
"""Numbers at either end that are kept, and groups of places and of values: place and hash modulo 64."""
FOLDED = "in short"
"""The last entry in the skeleton of a folded report."""


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
    made: Encoded = {}
    long: dict[Skeleton, list[tuple[Skeleton, Group]]] = {}
    for skeleton, group in encoded.items():
        if kept.keeps(skeleton, group):
            made[skeleton] = group
        else:
            long.setdefault(_form(skeleton), []).append((skeleton, group))
    return made | {form: _in_short(found) for form, found in long.items()}


def in_short(skeleton: Skeleton) -> bool:
    """Whether its reports were folded."""
    return skeleton[-1:] == (FOLDED,)


def _form(skeleton: Skeleton) -> Skeleton:
    """What is left of a skeleton: the kinds of the container and its parts, or all of an array's, which many reports share."""
    if skeleton[0] == ARRAY:
        return (*skeleton, FOLDED)
    outermost = skeleton[0] if isinstance(skeleton[0], tuple) else skeleton[:1]
    return (*(kind for kind in outermost if isinstance(kind, str)), FOLDED)


def _in_short(found: Sequence[tuple[Skeleton, Group]]) -> Group:
    """Groups of many skeletons as one, in short, in the order of their rows."""
    rows = np.concatenate([group.rows for _, group in found])
    parts = np.concatenate([np.full(len(group.rows), len(skeleton)) for skeleton, group in found])
    widths = np.concatenate([np.full(len(group.rows), group.width) for _, group in found])
    values = np.concatenate([_side_by_side(group, numbers, np.float64).ravel() for _, group in found])
    bits = np.concatenate([_side_by_side(group, _one_word, np.uint64).ravel() for _, group in found])
    starts = np.cumsum(widths) - widths
    report = np.repeat(np.arange(len(rows)), widths)
    place = np.arange(len(values)) - starts[report]
    whole = np.stack([widths, parts, np.bitwise_xor.reduceat(bits, starts).view(np.int64)], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = _grouped(report, place % GROUPS, len(rows), values)
    often = _grouped(report, (mixed(bits) % np.uint64(GROUPS)).astype(np.int64), len(rows), None).astype(np.int64)
    ends = np.concatenate([starts[:, None] + np.arange(ENDS), (starts + widths)[:, None] - np.arange(ENDS, 0, -1)], axis=1)
    order = np.argsort(rows, kind="stable")
    return Group(rows[order], (np.hstack([whole, often])[order], np.hstack([values[ends], sums])[order]))


def _grouped(report: NDArray[np.int64], group: NDArray[np.int64], size: int, values: Any) -> NDArray[Any]:
    """Counts, or sums of values, of each report's groups; shape ``(size, GROUPS)``."""
    return np.bincount(report * GROUPS + group, values, size * GROUPS).reshape(size, GROUPS)


def _side_by_side(group: Group, read: Any, kind: Any) -> NDArray[Any]:
    """What is read of all numbers of each report, one row a report."""
    return np.hstack([read(block).astype(kind) for block in group.blocks])


def _one_word(block: NDArray[Any]) -> NDArray[np.uint64]:
    """The bits of each number as one word; the second word of a long double is mixed in."""
    bits = words(block)
    return bits[..., 0] if bits.shape[2] == 1 else bits[..., 0] ^ mixed(bits[..., 1])
