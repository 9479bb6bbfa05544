"""What betrayed the inputs, in the report's own terms: what of it told most, how often, and reports on which the event fired.

A score adds up what many features tell. Those that tell most are named, each with how often either input showed the most telling
value in the reports that were learned from. Whoever counts the same in reports of their own sees it again.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.encoding import Skeleton, encode
from ldpaudit.attacks.blackbox.features import Feature, Score
from ldpaudit.attacks.blackbox.folding import in_short, layout, number_in_short
from ldpaudit.attacks.blackbox.scores import AnyScore
from ldpaudit.errors import shown

NAMED = 2  # features that are named, at most: the second where it tells half as much as the first
REPORT, INPUT = 160, 40  # characters that are shown of a report, and of an input
_NUMBER = re.compile(r"\bnumber (\d+)(?: of the report)?")
_HOLDS = "whether it holds "
_NONE = np.finfo(np.float64).max  # in place of not-a-number


def clue(score: AnyScore, rows: tuple[int, int], inputs: tuple[Any, Any], fired: Sequence[Any]) -> str | None:
    """In clauses; None where there are none.

    ``rows``: of the two inputs in the counts of the score's features; ``fired``: for each input one report on which the event
    fired, as the only one of several, and None where none is known.
    """
    names = [f"input {shown(x, INPUT)}" for x in inputs]
    seen = [f"{_shown(one[0])} on {name}" for one, name in zip(fired, names, strict=True) if one is not None]
    told = list(_counted(score, rows, names, fired)) if isinstance(score, Score) else []
    return "; ".join([*told, *([f"the event fired on {', and on '.join(seen)}"] if seen else [])]) or None


def _shown(report: Any) -> str:
    """In one line: only what is no text breaks it."""
    return " ".join(text.split()) if "\n" in (text := shown(report, REPORT)) else text


def _counted(score: Score, rows: tuple[int, int], names: Sequence[str], fired: Sequence[Any]) -> Iterator[str]:
    """What tells most."""
    found: list[tuple[float, int, Skeleton, Feature, NDArray[np.float64]]] = []
    for skeleton, f, weights in ((s, f, weights) for s, terms in score.terms.items() for f, weights in terms):
        counts = f.counts[list(rows)] if len(f.counts) > len(rows) else f.counts
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        gained = (shares[0] - shares[1]) * weights
        found.append((float(gained.sum()), int(np.argmax(gained)), skeleton, f, counts))
    best: dict[str, Any] = {}
    for each in sorted(found, key=lambda each: -each[0]):
        best.setdefault(each[3].name, each)  # of each name that of the form that tells most
    for gain, cell, skeleton, f, counts in list(best.values())[:NAMED]:
        if gain < next(iter(best.values()))[0] / NAMED or gain <= 0:
            break
        read = [(one[0], encode(one, 1, None)) for one in fired if one is not None]
        alike = [(report, encoded[skeleton]) for report, encoded in read if skeleton in encoded][:1]
        if f.family == "whole":  # whose cells are no words
            told = [(f"the report is {_shown(report)}", int(f.places(group)[0])) for report, group in alike]
        else:
            told = [(_said(f, cell, partial(_placed, skeleton, [report for report, _ in alike])), cell)]
        for said, place in told:
            often = [f"{int(own[place]):,} of {int(own.sum()):,} on {name}" for own, name in zip(counts, names, strict=True)]
            yield f"{said}: {', '.join(often)}"


def _said(f: Feature, cell: int, place: Callable[[int], tuple[str, bool]]) -> str:
    """What is true of a report where a feature has the value of a cell; `place` says a number, and whether it is a character."""
    if f.name.startswith(_HOLDS):  # which may be anything, numbers included
        return f"it {'holds' if 1 in f.cells[cell : cell + 1] else 'does not hold'} {f.name.removeprefix(_HOLDS)}"
    numbers = [int(j) for j in _NUMBER.findall(f.name)]
    is_text = f.family == "leaf" and not f.name.startswith("bit ") and any(place(j)[1] for j in numbers)
    return f"{_NUMBER.sub(lambda found: place(int(found[1]))[0], f.name)} {_value(f, cell, is_text)}"


def _value(f: Feature, cell: int, is_text: bool) -> str:
    if f.binned:
        low, high = (f"{end:.6g}" for end in (f.cells[max(cell - 1, 0)], f.cells[min(cell, len(f.cells) - 1)]))
        return f"< {high}" if cell == 0 else f">= {low}" if cell == len(f.cells) else f"in [{low}, {high})"
    if cell == len(f.cells):
        return "is none of the usual values"
    value = f.cells[cell]
    if f.family == "pair" and not f.name.startswith("whether "):
        return f"= {int(value) >> 32}, {int(value) - (int(value) >> 32 << 32)}"
    if f.family == "pattern":
        return f"= {int(value) & (1 << 64) - 1:#x}"
    if is_text:
        return f"= {chr(int(value))!r}"
    return "is not a number" if value == _NONE else f"= {value:.6g}" if value.dtype.kind == "f" else f"= {int(value)}"


def _placed(skeleton: Skeleton, reports: Sequence[Any], j: int) -> tuple[str, bool]:
    """Number `j` of a report, with the way to it in the first of these; and whether it is a character of a text."""
    if in_short(skeleton):
        return number_in_short(j), False
    plan, way = layout(skeleton), _way(reports[0], j) if reports else ""
    return f"number {j} of the report{f' ({way})' if way else ''}", bool(plan.text[plan.held][j])


def _way(value: Any, j: int) -> str:
    """The indices that lead to number `j`; nothing where parts are of unusual types."""
    if isinstance(value, np.ndarray):
        return str([int(i) for i in np.unravel_index(j, value.shape)]) if value.ndim and j < value.size else ""
    parts: list[tuple[str, Any]] = []
    if type(value) in (str, bytes):
        return f"[{j}]"
    if type(value) is dict:
        parts = [part for key, held in value.items() for part in ((f"[{key!r}], its key", key), (f"[{key!r}]", held))]
    elif type(value) in (list, tuple, set, frozenset):
        parts = [(f"[{i}]", part) for i, part in enumerate(value)]
    for name, part in parts:
        width = sum(group.width for group in encode([part], 1, None).values())
        if j < width:
            return f"{name}{_way(part, j)}"
        j -= width
    return ""
