"""Features of what a report holds wherever it stands: tokens, numbers after a key, equal entries, sums modulo small numbers, pairs.

There are many more of them than reports to learn from. So they are sought in the reports that scores are fitted to, as bits are,
and those become features in which inputs differ by more than luck.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.bits import least_surprise, surprise
from ldpaudit.attacks.blackbox.encoding import Group, Skeleton, mixed, numbers
from ldpaudit.attacks.blackbox.features import BAG, VALUES, Feature, feature
from ldpaudit.attacks.blackbox.folding import Items, in_short, layout

TOKENS, FIELDS, SUMS, PAIRS = 24, 32, 2, 6
"""Tokens, numbers after a key or at a place, sums modulo small numbers, and pairs of numbers that become features, at most."""
SOUGHT = 1 << 18  # parts of reports in which tokens are sought, for each input
ENDS = 8  # items at either end that are told apart by their places
MODULI = (*range(2, 17), 32, 64, 100)  # small numbers modulo which sums are looked at
FEW, BITS, INDICATORS, WORK = 8, 16, 1024, 1 << 30
"""Values of a number that is looked at in pairs; low bits of any other one that are; such values and bits of all numbers, at most;
and multiplications for all pairs."""
ORDERED, ORDERS = 32, 4
"""Different numbers in all reports, of which it is looked at which comes first; and pairs of them that become features, at most."""
USUAL = 0.9  # share of the reports that hold a key once

Words: TypeAlias = NDArray[np.uint64]
Groups: TypeAlias = Sequence[Group | None]


def with_tokens(skeleton: Skeleton, groups: Groups, fitting: Groups) -> Iterator[Feature]:
    """Features of one skeleton, or of many whose reports are read in short.

    ``groups``: each input's reports, all of which are counted; ``fitting``: those by which features are chosen.
    """
    shown = [group for group in fitting if group is not None]
    some = next(group for group in groups if group is not None)
    read = partial(_items, skeleton)
    if not shown or min(len(shown), 2) < 2 or some.width < 2:
        return
    if some.items is None:
        if all(block.dtype.kind in "biu" for block in some.blocks):
            yield from _pairs(shown, groups)
            yield from _sums(shown, groups)
            yield from _orders(shown, groups)
        if some.width > 2:
            yield from (feature("count", name, partial(_equal, most), groups, VALUES) for name, most in _EQUAL)
        if in_short(skeleton):  # of a report too long for its items to be kept
            return
        few = [block[: max(SOUGHT // shown[0].width, 1)] for group in shown for block in group.blocks]
        often = np.unique(np.concatenate([numbers(block).astype(np.float64).ravel() for block in few]), return_counts=True)[1]
        many = int(np.count_nonzero(often > 1))
        if layout(skeleton).text.any():
            yield from _tokens(read, shown, groups, _ANYWHERE)
        elif many > 2:  # of which the presence is looked for one by one, where they are few
            plain = [_ONE] if many > BAG or some.width > BAG else []
            yield from _tokens(read, shown, groups, [*plain, *_REGIONS])
    else:
        yield from _fields(read, shown, groups)
        yield from _tokens(read, shown, groups, _ANYWHERE)


def _items(skeleton: Skeleton, group: Group) -> Items:
    return Items.of([(skeleton, group)]) if group.items is None else group.items


# Tokens: what is hashed, and how it is said.


def _runs(size: int, items: Items) -> tuple[Words, NDArray[np.int64], NDArray[np.int64]]:
    """As many numbers or characters in a row; each by itself, or characters alone."""
    ok = ~np.isnan(items.values) if size == 1 else items.text
    last = len(items.bits) - size + 1
    if last <= 0:
        return _NO_TOKENS
    within = ok[:last].copy()
    for step in range(1, size):
        within &= ok[step : last + step] & ~items.first[step : last + step]
    place = np.flatnonzero(within)
    found = items.bits[place] + np.uint64(size)
    for step in range(1, size):
        found = mixed(found) + items.bits[place + step]
    return found, items.report[place], place


def _whole_items(size: int, items: Items) -> tuple[Words, NDArray[np.int64], NDArray[np.int64]]:
    """One item, or two in a row, such as a key and its value."""
    (found, place), report = items.whole, items.owner
    if size == 1:
        return found, report, place
    same = report[:-1] == report[1:]
    return (mixed(found[:-1]) + found[1:])[same], report[:-1][same], place[:-1][same]


def _placed(end: bool, items: Items) -> tuple[Words, NDArray[np.int64], NDArray[np.int64]]:
    """Items at the first places, or at the last ones, with the place."""
    (found, place), report = items.whole, items.owner
    number = items.number_from_end if end else items.number
    near = number < ENDS
    return mixed(found[near]) + number[near].astype(np.uint64) + np.uint64(100 + end), report[near], place[near]


def _in_region(regions: int, items: Items) -> tuple[Words, NDArray[np.int64], NDArray[np.int64]]:
    """Each number with the part of its report in which it stands, of as many equal parts."""
    starts = np.cumsum(items.sizes) - items.sizes
    place = np.flatnonzero(~np.isnan(items.values))
    report = items.report[place]
    region = (place - starts[report]) * regions // items.sizes[report]
    return mixed(items.bits[place]) + region.astype(np.uint64) + np.uint64(100 * regions), report, place


_NO_TOKENS = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
_KINDS: tuple[tuple[str, int, Callable[[Items], Any]], ...] = (
    *((f"{size} in a row", size, partial(_runs, size)) for size in (1, 2, 3, 5)),
    ("item", 1, partial(_whole_items, 1)),
    ("items in a row", 2, partial(_whole_items, 2)),
    ("item at the beginning", 1, partial(_placed, False)),
    ("item at the end", 1, partial(_placed, True)),
    *((f"in one {words} of the report", 1, partial(_in_region, parts)) for words, parts in (("half", 2), ("quarter", 4))),
)
_ONE, _ANYWHERE, _REGIONS = 0, range(len(_KINDS) - 2), range(len(_KINDS) - 2, len(_KINDS))
"""Which of these are single numbers; anywhere or at an end; and in parts of a report of one length."""


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """Tokens that are looked for in reports."""

    read: Callable[[Group], Items]
    tokens: dict[int, Words]  # of each kind, in order
    columns: dict[int, NDArray[np.int64]]  # where each of them is counted
    size: int

    def table(self, group: Group) -> NDArray[np.bool_]:
        """Which report holds which of them; shape ``(reports, size)``."""
        if self not in group.told:
            items, held = self.read(group), np.zeros((len(group.rows), self.size), dtype=np.bool_)
            for kind, tokens in self.tokens.items():
                found, report, _ = _KINDS[kind][2](items)
                place = np.minimum(np.searchsorted(tokens, found), len(tokens) - 1)
                hit = tokens[place] == found
                held[report[hit], self.columns[kind][place[hit]]] = True
            group.told[self] = held
        return np.asarray(group.told[self])

    def column(self, j: int, group: Group) -> NDArray[np.int64]:
        """Whether each report holds token `j`."""
        return self.table(group)[:, j].astype(np.int64)


def _tokens(
    read: Callable[[Group], Items], shown: Sequence[Group], groups: Groups, sought_kinds: Iterable[int]
) -> Iterator[Feature]:
    """The tokens of these kinds in which inputs differ most."""
    few = [_first(read(group)) for group in shown]
    sizes = np.array([len(items.sizes) for items in few], dtype=np.float64)
    found: list[tuple[float, int, int, str]] = []
    tried = 0
    for kind, (name, size, tell) in ((kind, _KINDS[kind]) for kind in sought_kinds):
        tokens, often, example = _often([tell(items) for items in few])
        surprises = surprise(often, sizes)
        tried += int(np.count_nonzero(often.sum(axis=0) > 1))
        for j in np.argsort(-surprises, kind="stable")[:TOKENS].tolist():
            x, place = int(example[0][j]), int(example[1][j])
            found.append((float(surprises[j]), kind, int(tokens[j]), f"{_said(few[x], kind, size, place)} ({name})"))
    least = least_surprise(len(shown), tried)
    best = [each for each in nlargest(TOKENS, found, key=lambda each: each[0]) if each[0] > least]
    if best:
        kinds = {kind: np.array([token for _, k, token, _ in best if k == kind], dtype=np.uint64) for _, kind, _, _ in best}
        order = {kind: np.argsort(tokens) for kind, tokens in kinds.items()}
        places = {kind: np.array([j for j, each in enumerate(best) if each[1] == kind]) for kind in kinds}
        sought = Sought(read, {k: kinds[k][order[k]] for k in kinds}, {k: places[k][order[k]] for k in kinds}, len(best))
        for j, (*_, said) in enumerate(best):
            yield feature("token", f"whether it holds {said}", partial(sought.column, j), groups, 2, np.arange(2))


def _first(items: Items) -> Items:
    """Those of the first reports, so few that all their tokens can be counted."""
    few = int(np.searchsorted(np.cumsum(items.sizes), SOUGHT, side="right"))
    return items if few >= len(items.sizes) else items.take(np.arange(max(few, 1)))


def _often(told: Sequence[Any]) -> tuple[Words, NDArray[np.float64], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """All tokens, how many reports on each input hold them, and an input and a place where each is found."""
    tokens = np.concatenate([each[0] for each in told])
    sample = np.repeat(np.arange(len(told)), [len(each[0]) for each in told])
    report, place = (np.concatenate([each[k] for each in told]) for k in (1, 2))
    every, which = np.unique(tokens, return_inverse=True)
    # A report that holds a token twice holds it.
    once = np.unique(((which * len(told)) + sample) * (int(report.max(initial=0)) + 1) + report, return_index=True)[1]
    counts = np.bincount(which[once] * len(told) + sample[once], minlength=len(every) * len(told))
    example = np.zeros(len(every), dtype=np.int64)
    example[which] = np.arange(len(tokens))
    return every, counts.reshape(-1, len(told)).T.astype(np.float64), (sample[example], place[example])


def _said(items: Items, kind: int, size: int, place: int) -> str:
    """A token in the report's own terms."""
    if kind < 4 or kind in _REGIONS:
        end = place + size
    else:
        starts = items.whole[1]
        after = np.searchsorted(starts, place) + size
        end = int(starts[after]) if after < len(starts) else len(items.bits)
    parts, text = items.values[place:end], items.text[place:end]
    if text.any():
        whole = zip(parts.tolist(), text.tolist(), strict=True)
        return repr("".join(chr(int(part)) if is_text else " " for part, is_text in whole if not np.isnan(part)))
    told = [f"{part:.12g}" for part in parts[~np.isnan(parts)].tolist()]
    return ", ".join(told) or "a type or length"


# Numbers after a key, and at the first and last places.


def _fields(read: Callable[[Group], Items], shown: Sequence[Group], groups: Groups) -> Iterator[Feature]:
    few = [_first(read(group)) for group in shown]
    keys: set[int] | None = None
    for items in few:
        found, report = items.whole[0], items.owner
        every, which = np.unique(found, return_inverse=True)
        times = np.bincount(which)
        held = np.bincount(np.unique(which * len(items.sizes) + report) // len(items.sizes), minlength=len(every))
        usual = set(every[(times == held) & (held >= USUAL * len(items.sizes))].tolist())
        keys = usual if keys is None else keys & usual
    named = [(f"the item after {_key(few[0], key)}", partial(_after, read, np.uint64(key))) for key in sorted(keys or ())[:FIELDS]]
    ends = (("beginning", False), ("end", True))
    placed = [(f"item {j} from the {words}", partial(_nth, read, j, end)) for words, end in ends for j in range(ENDS)]
    for name, tell in (*named, *placed):
        made = feature("leaf", name, tell, groups, VALUES)
        if len(made.cells) > 1:
            yield made


def _key(items: Items, key: int) -> str:
    found, place = items.whole
    return _said(items, len(_KINDS), 1, int(place[np.flatnonzero(found == np.uint64(key))[0]]))


def _after(read: Callable[[Group], Items], key: np.uint64, group: Group) -> NDArray[np.float64]:
    items = read(group)
    found, report = items.whole[0], items.owner
    here = np.flatnonzero((found[:-1] == key) & (report[:-1] == report[1:]))
    made = np.full(len(group.rows), -np.finfo(np.float64).max)
    made[report[here]] = items.said[here + 1]
    return made


def _nth(read: Callable[[Group], Items], j: int, end: bool, group: Group) -> NDArray[np.float64]:
    items = read(group)
    here = np.flatnonzero((items.number_from_end if end else items.number) == j)
    made = np.full(len(group.rows), -np.finfo(np.float64).max)
    made[items.owner[here]] = items.said[here]
    return made


# Counts of a report of a fixed form.

_EQUAL = (("how many different numbers it has", False), ("how often its most frequent number comes", True))


def _equal(most: bool, group: Group) -> NDArray[np.int64]:
    if _equal not in group.told:
        table = np.sort(np.hstack([numbers(block).astype(np.float64) for block in group.blocks]), axis=1)
        new = np.ones(table.shape, dtype=np.bool_)
        new[:, 1:] = table[:, 1:] != table[:, :-1]
        runs, many = np.flatnonzero(new), np.count_nonzero(new, axis=1)
        lengths = np.diff(runs, append=new.size)  # each report begins with a new run
        group.told[_equal] = many, np.maximum.reduceat(lengths, np.cumsum(many) - many) if len(many) else many
    return np.asarray(group.told[_equal][most])


def _sums(shown: Sequence[Group], groups: Groups) -> Iterator[Feature]:
    """The sums modulo small numbers in which inputs differ most."""
    sums, sizes = [_sum(group) for group in shown], np.array([len(group.rows) for group in shown], dtype=np.float64)
    if len(np.unique(np.concatenate(sums))) <= 2:
        return
    found = []
    for modulus in MODULI:
        often = np.array([np.bincount(total % modulus, minlength=modulus) for total in sums], dtype=np.float64)
        found.append((float(surprise(often, sizes).max()), modulus))
    least = least_surprise(len(shown), sum(MODULI))
    for _, modulus in nlargest(SUMS, (each for each in found if each[0] > least)):
        yield feature("count", f"the sum of the report modulo {modulus}", partial(_sum_modulo, modulus), groups, modulus)


def _sum(group: Group) -> NDArray[np.int64]:
    """The sum of each report; a larger one keeps its low bits."""
    sums = [numbers(block).sum(axis=1, dtype=np.int64) for block in group.blocks]
    return np.asarray(np.sum(sums, axis=0, dtype=np.int64))


def _sum_modulo(modulus: int, group: Group) -> NDArray[np.int64]:
    return np.asarray(_sum(group) % modulus)


def _pairs(shown: Sequence[Group], groups: Groups) -> Iterator[Feature]:
    """Pairs of numbers with few values whose covariance differs most between inputs: each may look fair alone."""
    tables = [np.hstack([numbers(block) for block in group.blocks]) for group in shown]
    pooled = np.concatenate(tables)
    if pooled.shape[1] > INDICATORS:
        return
    columns = _indicators(pooled)[:INDICATORS]
    if not len({j for j, *_ in columns}) > 1:
        return
    place, bit, value = np.array(columns, dtype=np.int64).T
    most = WORK // (len(columns) ** 2 * len(tables))
    laws = [_covariance(np.where(bit < 0, some, some >> np.maximum(bit, 0) & 1) == value)
            for some in (table[:most, place] for table in tables)]  # fmt: skip
    # Of two inputs the covariances' difference, in units of its variance if numbers were independent; of more, the largest.
    surprising = np.zeros((len(columns), len(columns)))
    for a in range(len(laws)):
        for b in range(a):
            spread = sum(np.outer(v, v) / max(n, 1) for _, v, n in (laws[a], laws[b]))
            surprising = np.maximum(surprising, (laws[a][0] - laws[b][0]) ** 2 / (spread + 1 / min(laws[a][2], laws[b][2]) ** 2))
    surprising[place[:, None] >= place] = 0
    least, best = least_surprise(2, surprising.size * len(laws) ** 2 // 4), dict[tuple[int, int, int, int], float]()
    for flat in np.argsort(-surprising, axis=None, kind="stable")[: FEW * FEW * PAIRS].tolist():
        i, j = divmod(flat, len(columns))
        if surprising[i, j] > least and len(best) < PAIRS:
            best.setdefault((int(place[i]), int(bit[i]), int(place[j]), int(bit[j])), float(surprising[i, j]))
    for i, a, j, b in best:
        words = [f"bit {k} of number {n}" if k >= 0 else f"number {n}" for n, k in ((i, a), (j, b))]
        yield feature("pair", f"{' and '.join(words)} together", partial(_both, i, j, a, b), groups, FEW * FEW)


def _orders(shown: Sequence[Group], groups: Groups) -> Iterator[Feature]:
    """Which of two values comes first, of those pairs in which inputs differ most."""
    tables = [np.hstack([numbers(block) for block in group.blocks]) for group in shown]
    values = np.unique(np.concatenate(tables))
    if not 2 < len(values) <= ORDERED:
        return
    first = [_first_places(values, table[: 16 * SOUGHT // len(values) ** 2]) for table in tables]
    often = np.array([(each[:, :, None] < each[:, None, :]).sum(axis=0).ravel() for each in first], dtype=np.float64)
    surprises = surprise(often, np.array([len(each) for each in first], dtype=np.float64))
    least = least_surprise(len(tables), len(surprises))
    for flat in np.argsort(-surprises, kind="stable")[:ORDERS].tolist():
        if surprises[flat] > least:
            v, w = (int(values[k]) for k in divmod(flat, len(values)))
            yield feature("pair", f"whether {v} comes before {w}", partial(_comes_before, v, w), groups, 2)


def _first_places(values: NDArray[np.int64], table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each value comes first in each row; the width where it does not. Of values in order, all that are there."""
    found = np.full((len(table), len(values)), table.shape[1], dtype=np.int64)
    for j in reversed(range(table.shape[1])):
        found[np.arange(len(table)), np.searchsorted(values, table[:, j])] = j
    return found


def _comes_before(v: int, w: int, group: Group) -> NDArray[np.int64]:
    table = np.hstack([numbers(block) for block in group.blocks])
    held = np.stack([table == v, table == w])
    first = np.where(held.any(axis=2), held.argmax(axis=2), table.shape[1])
    return np.asarray(first[0] < first[1], dtype=np.int64)


def _indicators(table: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Numbers that are one of few values, -1 and the value; and of the others the bits that vary, low ones first, and 1."""
    values = [np.unique(column) for column in table.T]
    few = [(j, -1, v) for j, told in enumerate(values) if 1 < len(told) <= FEW for v in told[1:].tolist()]
    varying = [(j, int(np.bitwise_or.reduce(told ^ told[0]))) for j, told in enumerate(values) if len(told) > FEW]
    return [*few, *((j, bit, 1) for bit in range(BITS) for j, bits in varying if bits >> bit & 1)]


def _covariance(shown: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Of all indicators with each other; their variances, and of how many reports."""
    centred = shown.astype(np.float32) - shown.mean(axis=0, dtype=np.float32)
    share = shown.mean(axis=0)
    return (centred.T @ centred).astype(np.float64) / max(len(shown), 1), share * (1 - share), len(shown)


def _both(i: int, j: int, a: int, b: int, group: Group) -> NDArray[np.int64]:
    first, second = (group.leaves[n] if bit < 0 else group.leaves[n] >> bit & 1 for n, bit in ((i, a), (j, b)))
    return np.asarray((first << 32) + second)
