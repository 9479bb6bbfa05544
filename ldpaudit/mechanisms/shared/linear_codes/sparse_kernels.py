r"""Kernels of many random matrices over GF(2), seen at a few vectors only: in time of what is found in them.

A matrix whose kernel holds some of m vectors is found in proportion to the pairs of a matrix and a vector in its kernel: each
of the m is proposed with probability p, and what is found besides it is drawn given that; then a kernel that holds s of them
has been proposed s times too often, and is kept with probability 1/s. So

.. math:: P[S] = \sum_{i \in S} p\, P[S \mid i]\, \frac{1}{s}

for every S that is not empty, and what is found given i is drawn in the same way, of the vectors outside of the span.
Source: Karp, Luby, Madras 1989, for the probability of a union.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.linear_codes.gf2 import reduced
from ldpaudit.mechanisms.shared.linear_codes.kernels import coordinates, random_members_among

Integers = NDArray[np.int64]
Found = frozenset[int]
"""Places of the vectors that a kernel holds."""


def random_members_of_few(
    asked: Integers, elements: Integers, numbers: Integers, others: int, rows: int, rng: np.random.Generator
) -> Integers:
    """What `random_members_among` returns, with the same joint law, in time of the counts instead of the kernels' sizes.

    Where there are 2**rows asked vectors or more, it is that function.

    ``asked``: different vectors, none of them 0; ``elements``, ``numbers``: different vectors, and of how many
    matrices each is known to be in the kernel; ``others``: number of matrices of which nothing is known; ``rows``: of
    each matrix; ``rng``: source of all randomness.
    """
    if len(asked) >= 1 << rows:
        return random_members_among(asked, elements, numbers, others, rows, rng)
    if not len(asked):
        return np.zeros(0, dtype=np.int64)
    few = _Few(asked, rows, rng)
    counts = few.blank(others)
    few.add_known(counts, elements, numbers)
    return counts


class _Few:
    """Draws which of the asked vectors are in kernels."""

    def __init__(self, asked: Integers, rows: int, rng: np.random.Generator) -> None:
        self.asked, self.p, self.rng = asked, 2.0**-rows, rng

    def blank(self, number: int) -> Integers:
        """Counts of uniform matrices. Of nearly all, nothing is found besides what is proposed."""
        size = len(self.asked)
        # numpy computes the last probability from the others: the likeliest one, nothing, loses nothing by it.
        proposed = self.rng.multinomial(number, [self.p] * size + [1 - size * self.p])[:size]
        more = self.rng.binomial(proposed, (size - 1) * self.p)
        counts = np.asarray(proposed - more, dtype=np.int64)
        for place in np.repeat(np.arange(size), more).tolist():
            held = frozenset([place])
            found = self._proposed([int(self.asked[place])], held)
            self._add(counts, self._kept(found, frozenset()))
        return counts

    def add_known(self, counts: Integers, elements: Integers, numbers: Integers) -> None:
        """Add the counts of matrices of which one vector of the kernel is known."""
        places = np.searchsorted(self.asked, elements, sorter=(order := np.argsort(self.asked)))
        where = order[np.minimum(places, len(order) - 1)]
        inside = self.asked[where] == elements
        counts[where[inside]] += numbers[inside]
        proposed = self.rng.binomial(numbers, (len(self.asked) - inside) * self.p)
        for i in np.repeat(np.arange(len(elements)), proposed).tolist():
            held = frozenset([int(where[i])]) if inside[i] else Found()
            self._add(counts, self._proposed([int(elements[i])], held) - held)

    def _drawn(self, basis: list[int], held: Found) -> Found:
        """What a kernel holds, given that it holds the basis, in whose span `held` are."""
        free = len(self.asked) - len(held)
        return self._proposed(basis, held) if self.rng.random() < free * self.p else held

    def _proposed(self, basis: list[int], held: Found) -> Found:
        """The same, where one of the vectors outside of the span is proposed."""
        outside = np.flatnonzero(~coordinates(self.asked, basis)[1])
        vector = reduced(int(self.asked[self.rng.choice(outside)]), basis)
        wider = [*basis, vector]
        within = Found(np.flatnonzero(coordinates(self.asked, wider)[1]).tolist())
        return self._kept(self._drawn(wider, within), held)

    def _kept(self, found: Found, held: Found) -> Found:
        """What was found, with a probability of one over how many vectors would have led to it; else what is known."""
        return found if self.rng.random() * len(found - held) < 1 else held

    @staticmethod
    def _add(counts: Integers, places: Iterable[int]) -> None:
        for place in places:
            counts[place] += 1
