"""Kernels of many small matrices over GF(2): all their vectors, and random ones without the matrices.

A matrix is a row of integers, each of them a vector of the domain; a vector x is in the kernel where it has an even number
of ones in common with each of them.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.coins import chunks
from ldpaudit.mechanisms.shared.linear_codes.gf2 import reduced

Integers = NDArray[np.int64]
Found = frozenset[int]  # places of the vectors that a kernel holds

_CHUNK = 1 << 20  # vectors that are held at a time


def dimension_law(rows: int, bits: int) -> list[Fraction]:
    r"""Law of the dimension of the kernel of a uniform matrix, from 0 to `bits`.

    .. math:: P[\mathrm{rank} = r] = 2^{-rows \cdot bits} \prod_{i<r} \frac{(2^{rows} - 2^i)(2^{bits} - 2^i)}{2^r - 2^i}
    """
    law = [Fraction(0)] * (bits + 1)
    for rank in range(min(rows, bits) + 1):
        ways = math.prod(((1 << rows) - (1 << i)) * ((1 << bits) - (1 << i)) for i in range(rank))
        law[bits - rank] = Fraction(ways, math.prod((1 << rank) - (1 << i) for i in range(rank)) << (rows * bits))
    return law


def members(matrices: Integers, bits: int) -> Integers:
    """How many of the matrices have each vector in their kernel, shape ``(2**bits,)``; by Gaussian elimination.

    The time is that of the elimination, and one step for each vector of each kernel.
    """
    counts = np.zeros(1 << bits, dtype=np.int64)
    for part in chunks(len(matrices), _CHUNK // max(1, matrices.shape[1])):
        basis, dimension = _kernel(matrices[part].copy(), bits)
        for d in np.unique(dimension).tolist():
            _count(counts, basis[dimension == d, :d])
    return counts


def _kernel(rows: Integers, bits: int) -> tuple[Integers, Integers]:
    """Bases of the kernels, shape ``(number, bits)``, the first `dimension` entries of each; and these dimensions."""
    number = len(rows)
    lead = np.zeros((number, bits), dtype=np.int64)  # the row, 1 and up, whose leading bit this is; 0 where it is free
    rank = np.zeros(number, dtype=np.int64)
    for bit in reversed(range(bits)):
        ones = (rows >> bit & 1).astype(np.bool_)
        unused = ones & (np.arange(rows.shape[1]) >= rank[:, None])
        found = np.flatnonzero(unused.any(axis=1))
        first = unused[found].argmax(axis=1)
        pivot, place = rows[found, first], rank[found]
        rows[found, first] = rows[found, place]
        rows[found, place] = 0
        others = (rows[found] >> bit & 1).astype(np.bool_)
        rows[found] ^= np.where(others, pivot[:, None], 0)
        rows[found, place] = pivot
        rank[found] += 1
        lead[found, bit] = place + 1
    basis, dimension = np.zeros((number, bits), dtype=np.int64), np.zeros(number, dtype=np.int64)
    for bit in range(bits):
        free = np.flatnonzero(lead[:, bit] == 0)
        vector = np.full(len(free), 1 << bit, dtype=np.int64)
        for other in range(bits):
            place = lead[free, other]
            hit = (place > 0) & (rows[free, place - 1] >> bit & 1).astype(np.bool_)
            vector |= hit.astype(np.int64) << other
        basis[free, dimension[free]] = vector
        dimension[free] += 1
    return basis, dimension


def _count(counts: Integers, basis: Integers) -> None:
    """Add all vectors that these bases span, 0 left out."""
    dimension = basis.shape[1]
    for part in chunks(len(basis) if dimension else 0, _CHUNK >> dimension):
        counts += np.bincount(_spans(basis[part])[:, 1:].ravel(), minlength=len(counts))


def _spans(basis: Integers) -> Integers:
    spans = np.zeros((len(basis), 1), dtype=np.int64)
    for i in range(basis.shape[1]):
        spans = np.concatenate([spans, spans ^ basis[:, i : i + 1]], axis=1)
    return spans


def random_members(number: int, rows: int, bits: int, rng: np.random.Generator) -> Integers:
    """What `members` counts for this many uniform matrices, by its law; 0 is not counted.

    The kernel's dimension is drawn, and then a uniform subspace of that dimension.
    """
    counts = np.zeros(1 << bits, dtype=np.int64)
    drawn = _dimensions(np.array([number]), rows, bits, rng)
    counts[1:] = rng.multinomial(int(drawn[0, 1]), np.full((1 << bits) - 1, 1 / ((1 << bits) - 1)))
    for dimension in range(2, bits + 1):
        for part in chunks(int(drawn[0, dimension]), _CHUNK >> dimension):
            _count(counts, _extended(np.zeros((part.stop - part.start, 0), dtype=np.int64), dimension, bits, rng))
    return counts


def random_members_with(elements: Integers, numbers: Integers, rows: int, bits: int, rng: np.random.Generator) -> Integers:
    """The same for uniform matrices that have a given vector in their kernel: this many for each of the elements.

    Such a matrix is a uniform matrix on the quotient by its element.
    """
    counts = np.zeros(1 << bits, dtype=np.int64)
    drawn = _dimensions(numbers, rows, bits - 1, rng)
    counts[elements] = drawn[:, 0]
    for dimension in range(1, bits):
        repeated = np.repeat(elements, drawn[:, dimension])
        for part in chunks(len(repeated), _CHUNK >> dimension + 1):
            _count(counts, _extended(repeated[part, None], dimension, bits, rng))
    return counts


def random_members_among(
    asked: Integers, elements: Integers, numbers: Integers, others: int, rows: int, rng: np.random.Generator
) -> Integers:
    """How many of `others` uniform matrices, and of those that have given vectors, have each asked vector in their kernel.

    Only the span of the asked vectors is looked at, on which a uniform matrix is a uniform one, and so is one that has a
    vector outside of it: the joint law is that of `random_members` and `random_members_with` together.

    ``asked``: different vectors, none of them 0; ``elements``, ``numbers``: different vectors, and of how many matrices each is
    known to be in the kernel; ``others``: number of matrices of which nothing is known.
    """
    basis: list[int] = []
    for vector in asked.tolist():
        if rest := reduced(vector, basis):
            basis.append(rest)
    place, inside = coordinates(elements, basis)
    blank = others + int(numbers[~inside].sum())
    counts = random_members(blank, rows, len(basis), rng)
    if inside.any():
        counts += random_members_with(place[inside], numbers[inside], rows, len(basis), rng)
    return np.asarray(counts[coordinates(asked, basis)[0]])


def coordinates(vectors: Integers, basis: list[int]) -> tuple[Integers, NDArray[np.bool_]]:
    """Which vectors of the basis each one is the sum of, as bits; and whether it is one."""
    left, place = vectors.copy(), np.zeros_like(vectors)
    for j, vector in enumerate(basis):
        has = left >> (vector.bit_length() - 1) & 1
        left ^= has * vector
        place |= has << j
    return place, left == 0


def vectors_listed(number: int, rows: int, bits: int) -> float:
    """Mean number of vectors that `random_members` lists one by one: those in kernels of dimension 2 and more."""
    law = dimension_law(rows, bits)
    return float(number * sum((p * ((1 << d) - 1) for d, p in enumerate(law) if d > 1), Fraction(0)))


def _dimensions(numbers: Integers, rows: int, bits: int, rng: np.random.Generator) -> Integers:
    """How many of this many uniform matrices have kernels of each dimension, shape ``(len(numbers), bits + 1)``."""
    law = [float(p) for p in dimension_law(rows, bits)]
    # numpy computes the last probability from the others: the likeliest one loses nothing by it.
    order = sorted(range(len(law)), key=law.__getitem__)
    drawn = rng.multinomial(numbers, [law[d] for d in order])
    return np.asarray(drawn[:, np.argsort(order)])


def _extended(basis: Integers, more: int, bits: int, rng: np.random.Generator) -> Integers:
    """The bases, each with this many more uniform vectors that are independent of it and of each other."""
    for _ in range(more):
        spans, drawn = _spans(basis), rng.integers(0, 1 << bits, len(basis))
        while len(again := np.flatnonzero((spans == drawn[:, None]).any(axis=1))):
            drawn[again] = rng.integers(0, 1 << bits, len(again))
        basis = np.concatenate([basis, drawn[:, None]], axis=1)
    return basis


def random_members_of_few(
    asked: Integers, elements: Integers, numbers: Integers, others: int, rows: int, rng: np.random.Generator
) -> Integers:
    r"""What `random_members_among` returns, with the same joint law, in time of the counts instead of the kernels' sizes.

    Where there are 2**rows asked vectors or more, it is that function. Else a matrix whose kernel holds some of m vectors is
    found in proportion to the pairs of a matrix and a vector in its kernel: each of the m is proposed with probability p, and
    what is found besides it is drawn given that; then a kernel that holds s of them has been proposed s times too often, and is
    kept with probability 1/s. So

    .. math:: P[S] = \sum_{i \in S} p\, P[S \mid i]\, \frac{1}{s}

    for every S that is not empty, and what is found given i is drawn in the same way, of the vectors outside of the span.
    Source: Karp, Luby, Madras 1989, for the probability of a union.
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
            counts[list(self._kept(found, frozenset()))] += 1
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
            counts[list(self._proposed([int(elements[i])], held) - held)] += 1

    def _proposed(self, basis: list[int], held: Found) -> Found:
        """What a kernel holds that holds the basis, in whose span `held` are, where a vector outside of the span is proposed."""
        outside = np.flatnonzero(~coordinates(self.asked, basis)[1])
        vector = reduced(int(self.asked[self.rng.choice(outside)]), basis)
        wider = [*basis, vector]
        within = Found(np.flatnonzero(coordinates(self.asked, wider)[1]).tolist())
        free = len(self.asked) - len(within)
        drawn = self._proposed(wider, within) if self.rng.random() < free * self.p else within
        return self._kept(drawn, held)

    def _kept(self, found: Found, held: Found) -> Found:
        """What was found, with a probability of one over how many vectors would have led to it; else what is known."""
        return found if self.rng.random() * len(found - held) < 1 else held
