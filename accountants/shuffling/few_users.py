r"""Few users: every data set of the others on a few values, by the exact law of the multiset of reports.

That all others hold one value is not always the worst: for k-ary response with k = 3, n = 5, epsilon0 = 1/2 and
epsilon = 0.3, two at user 1's first value and two at a third value are worse, 0.007721 against 0.006938. So where the
tables are small, all ways in which the others may hold user 1's two values and a third one are evaluated. Views whose
likelihoods under these values are proportional are one view: which of them it was carries no information.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import comb
from typing import Any, Self, TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision

_MOST_ENTRIES = 10_000
"""Data sets times multisets of reports that are evaluated, over all tables: as many as 9 users of k-ary response have, whose
tables took a second on a busy core, and a query a tenth of one."""
_PRECISION = 256
"""Bits. Sums of at most `_MOST_ENTRIES` products of probabilities lose 20 of them."""

Counts: TypeAlias = tuple[int, ...]
"""How many of the others hold each value; or how many reports are of each kind."""


@dataclass(frozen=True, slots=True)
class Reports:
    """Laws of one report of a few values."""

    values: tuple[Any, ...]  # user 1's two values, and others that the other users may hold too
    laws: tuple[tuple[Fraction, ...], ...]  # for each value, the probability of each kind of report

    @classmethod
    def of(cls, values: Sequence[Any], columns: Iterable[Sequence[Fraction]]) -> Self:
        """From the probabilities of each view under the values; proportional ones are merged, in a canonical order."""
        merged: dict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
        for column, times in Counter(map(tuple, columns)).items():  # mostly there are few different ones
            if total := sum(column):
                merged[tuple(p / total for p in column)] += times * total
        kinds = sorted(merged.items())
        return cls(tuple(values), tuple(tuple(key[i] * total for key, total in kinds) for i in range(len(values))))


@dataclass(frozen=True)
class FewUsers:
    """All data sets of the others on the values of any of several `Reports`."""

    reports: tuple[Reports, ...]  # one for every choice of user 1's two values and the others', up to symmetry
    users: int  # n, at least 2
    # whether these are all data sets that there are, up to symmetry: then the largest divergence is delta itself
    complete: bool = False

    @classmethod
    def of(cls, reports: Iterable[Reports], users: int, complete: bool = False) -> Self | None:
        """None where the tables would be too large."""
        found, entries = {}, 0
        for each in reports:
            if each.laws not in found:
                found[each.laws] = each
                values, kinds = len(each.values), len(each.laws[0])
                # Data sets of the others, times multisets of all reports.
                entries += comb(users + values - 2, values - 1) * comb(users + kinds - 1, kinds - 1)
                if entries > _MOST_ENTRIES:
                    return None
        return cls(tuple(found.values()), users, complete)

    def worst(self, exp_epsilon: flint.arb) -> tuple[flint.arb, tuple[Any, Any], dict[Any, int]]:
        """The largest divergence, user 1's two values, and how many of the others then hold each value."""
        best, pair, others = flint.arb(-1), (None, None), {}
        with working_precision(_PRECISION):
            for each, held, found in self._divergences(exp_epsilon):
                if float(found) > float(best):
                    best, pair = found, (each.values[0], each.values[1])
                    others = dict(zip(each.values, held, strict=True))
        return best, pair, others

    def largest(self, exp_epsilon: flint.arb) -> flint.arb:
        """The largest divergence alone, as a ball that no divergence exceeds."""
        with working_precision(_PRECISION):
            return reduce(flint.arb.max, (found for _, _, found in self._divergences(exp_epsilon)), flint.arb(0))

    def _divergences(self, exp_epsilon: flint.arb) -> Iterator[tuple[Reports, Counts, flint.arb]]:
        for each, tables in zip(self.reports, self._tables, strict=True):
            for held, views in tables.items():
                gains = (p - exp_epsilon * q for p, q in views)
                yield each, held, sum((gain.max(flint.arb(0)) for gain in gains), flint.arb(0))

    @cached
    def _tables(self) -> list[dict[Counts, list[tuple[flint.arb, flint.arb]]]]:
        """Per choice of values and data set of the others, both neighbours' probabilities of each view."""
        with working_precision(_PRECISION):
            return [_table([[ball(p) for p in law] for law in each.laws], self.users) for each in self.reports]


def _table(laws: list[list[flint.arb]], users: int) -> dict[Counts, list[tuple[flint.arb, flint.arb]]]:
    seen: dict[Counts, dict[Counts, flint.arb]] = {(0,) * len(laws): {(0,) * len(laws[0]): flint.arb(1)}}
    for others in range(1, users):
        for held in _compositions(others, len(laws)):
            x = next(i for i, count in enumerate(held) if count)
            fewer = tuple(count - (i == x) for i, count in enumerate(held))
            seen[held] = _add(seen[fewer], laws[x])
    tables = {}
    for held in _compositions(users - 1, len(laws)):
        first, second = _add(seen[held], laws[0]), _add(seen[held], laws[1])
        tables[held] = [(first[view], second[view]) for view in {**first, **second}]
    return tables


def _compositions(total: int, parts: int) -> list[Counts]:
    if parts == 1:
        return [(total,)]
    return [(a, *rest) for a in range(total + 1) for rest in _compositions(total - a, parts - 1)]


def _add(law: dict[Counts, flint.arb], report: list[flint.arb]) -> dict[Counts, flint.arb]:
    """One more report."""
    found: dict[Counts, flint.arb] = defaultdict(flint.arb)
    for view, weight in law.items():
        for y, share in enumerate(report):
            if not share == 0:
                found[tuple(count + (i == y) for i, count in enumerate(view))] += weight * share
    return found
