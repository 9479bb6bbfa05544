r"""Shuffled k-ary randomized response among few users: every data set that holds at most three values.

That all others hold one third value is not always the worst: for k = 3, n = 5, epsilon0 = 1/2 and epsilon = 0.3, two at
the first value and two at the third are worse, 0.007721 against 0.006938. So among few users all ways to hold user 1's
two values and one third value are gone through. Reports of any further value are as likely under every data set of these
and carry no information beyond their number.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

FEW_USERS = 9
"""A tenth of a second for the tables, some milliseconds for a query."""
_PRECISION = 256

Counts: TypeAlias = tuple[int, ...]
"""How many of the others hold x1, x2, x3; or how many reports are x1, x2, x3 or any further value."""


@dataclass(frozen=True)
class FewUsers:
    """All data sets of the others on three values.

    Parameters
    ----------
    mechanism : KaryRandomizedResponse
        With k at least 3.
    users : int
        n, from 2 to `FEW_USERS`.
    """

    mechanism: KaryRandomizedResponse
    users: int

    @cached_property
    def _reports(self) -> list[list[Fraction]]:
        """Law of one report of a holder of x1, x2, x3: which of the four kinds it is."""
        p, lie = self.mechanism.p, self.mechanism.lie
        further = (self.mechanism.k - 3) * lie
        return [[*(p if x == y else lie for y in range(3)), further] for x in range(3)]

    @cached_property
    def _tables(self) -> dict[Counts, list[tuple[flint.arb, flint.arb]]]:
        """Per data set, both neighbours' probabilities of each view."""
        with flint.ctx.workprec(_PRECISION):
            reports = [[ball(share) for share in law] for law in self._reports]
            laws: dict[Counts, dict[Counts, flint.arb]] = {(0, 0, 0): {(0, 0, 0, 0): flint.arb(1)}}
            for others in range(1, self.users):
                for held in _compositions(others):
                    x = next(i for i, count in enumerate(held) if count)
                    fewer = tuple(count - (i == x) for i, count in enumerate(held))
                    laws[held] = _add(laws[fewer], reports[x])
            tables = {}
            for held in _compositions(self.users - 1):
                first, second = _add(laws[held], reports[0]), _add(laws[held], reports[1])
                tables[held] = [(first[view], second[view]) for view in first]
            return tables

    def worst(self, exp_epsilon: flint.arb) -> tuple[flint.arb, Counts]:
        """The largest divergence, and how many of the others then hold x1, x2, x3."""
        found = []
        with flint.ctx.workprec(_PRECISION):
            for held, views in self._tables.items():
                gains = (p - exp_epsilon * q for p, q in views)
                found.append((sum((gain.max(flint.arb(0)) for gain in gains), flint.arb(0)), held))
        return max(found, key=lambda each: float(each[0]))


def _compositions(total: int) -> list[Counts]:
    return [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)]


def _add(law: dict[Counts, flint.arb], report: list[flint.arb]) -> dict[Counts, flint.arb]:
    """One more report."""
    found: dict[Counts, flint.arb] = defaultdict(flint.arb)
    for view, weight in law.items():
        for y, share in enumerate(report):
            if not share == 0:
                found[tuple(count + (i == y) for i, count in enumerate(view))] += weight * share
    return found
