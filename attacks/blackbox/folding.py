"""Reports in short: what is looked at where a report is longer than can be kept, or its form is too rare to learn from.

Reports of many different forms share no place that could be compared. In their place stand the length, both ends, sums over groups
of places and counts over groups of values: a fixed function of the report, to which every number adds something. Beside them
stand its items, in which tokens are sought, unless they are too many to keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.encoding import ARRAY, Encoded, Group, Remembered, Skeleton, mixed, together
from ldpaudit.attacks.blackbox.items import Items, flat

SHORT = 64
"""Numbers of a report that is kept as it is, whatever its length."""
ENDS, GROUPS = 16, 64
"""Numbers at either end that are kept, and groups of places and of values: place and hash modulo 64."""
LONG = "long"
"""The last entry but one of a report whose items are not kept."""
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
