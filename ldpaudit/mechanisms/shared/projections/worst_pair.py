"""Which two values a matrix of signed buckets tells apart most: what their buckets share decides.

A row in which two values have different buckets shifts 2(L+1) measurements by 1. In a row where they share one, the
measurements that differ are shifted by 2: with equal signs those of the bits that differ, with opposite signs the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.linear_codes.codeword_weights import ENUMERATED, heaviest
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, kernel, nonzero, span
from ldpaudit.mechanisms.shared.projections.signed_buckets import SignedBuckets

_TRIED = 1 << 10
"""Differences that are tried where there are too many for all, beside the heaviest that share buckets."""


@dataclass(frozen=True, slots=True)
class Apart:
    """How many measurements the values of a pair shift by 1 and by 2, and the pair's exclusive or.

    Parameters
    ----------
    once, twice : int
        Measurements that differ by 1, and by 2.
    difference : int
        Above 0.
    """

    once: int
    twice: int
    difference: int

    @property
    def total(self) -> int:
        """The distance of the two columns, in the sum of absolute differences."""
        return self.once + 2 * self.twice

    @property
    def squares(self) -> int:
        """The squared Euclidean distance of the two columns."""
        return self.once + 4 * self.twice


@lru_cache(maxsize=32)
def furthest(matrix: SignedBuckets) -> tuple[tuple[Apart, ...], bool]:
    """Pairs that no other pair beats in both `total` and `twice`, by falling total; and whether these are all such pairs.

    A measurement shifted by 2 tells at least as much as two that are shifted by 1, so one of these pairs is the worst at
    every epsilon. Up to 22 bits all differences are compared; else these are the best of those tried.
    """
    known = matrix.bits <= ENUMERATED
    return _unbeaten(matrix, np.arange(1, 1 << matrix.bits) if known else _tried(matrix)), known


def _unbeaten(matrix: SignedBuckets, differences: NDArray[np.int64]) -> tuple[Apart, ...]:
    shared, twice = _shares(matrix, differences)
    most, positions = matrix.rows * matrix.bits + 1, matrix.bits + 1
    kinds, examples = np.unique(shared * most + twice, return_index=True)
    pairs = [
        Apart(2 * positions * (matrix.rows - kind // most), kind % most, int(differences[example]))
        for kind, example in zip(kinds.tolist(), examples.tolist(), strict=True)
    ]
    found: list[Apart] = []
    for pair in sorted(pairs, key=lambda p: (-p.total, -p.twice)):
        if not found or pair.twice > found[-1].twice:
            found.append(pair)
    return tuple(found)


def _shares(matrix: SignedBuckets, differences: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each difference, in how many rows the two share a bucket, and how many measurements are shifted by 2 there."""
    every = len(differences) == (1 << matrix.bits) - 1
    weight = _sums(matrix.bits) if every else (differences[:, None] >> np.arange(matrix.bits) & 1).sum(axis=1)
    shared, twice = np.zeros_like(weight), np.zeros_like(weight)
    for row in range(matrix.rows):
        vectors = matrix.vectors(row)
        image = _images(vectors, matrix.bits)[1:] if every else images(vectors, differences)
        together = image & (matrix.buckets - 1) == 0
        opposite = (image >> (len(vectors) - 1) & 1).astype(np.bool_)
        shared += together
        twice += np.where(together, np.where(opposite, matrix.bits + 1 - weight, weight), 0)
    return shared, twice


def _images(vectors: tuple[int, ...], bits: int) -> NDArray[np.int64]:
    """Images of all numbers of this many bits: sums of the images of their bits."""
    return span([int(images(vectors, 1 << bit)) for bit in range(bits)])


def _sums(bits: int) -> NDArray[np.int64]:
    """Weights of all numbers of this many bits but 0."""
    weight = np.zeros(1, dtype=np.int64)
    for _ in range(bits):
        weight = np.concatenate([weight, weight + 1])
    return weight[1:]


def _tried(matrix: SignedBuckets) -> NDArray[np.int64]:
    """Some differences, and for every number of first rows one of many ones that shares buckets and signs in all of them."""
    found = nonzero(matrix.seed, np.arange(_TRIED), matrix.bits).tolist()
    stacked: list[int] = []
    for row in range(matrix.rows):
        stacked += matrix.vectors(row)
        if not (basis := kernel(stacked, matrix.bits)):
            break
        found.append(_heavy(basis, matrix.bits))
    return np.unique(np.array(found, dtype=np.int64))


def _heavy(basis: list[int], bits: int) -> int:
    """A sum of vectors of a basis with many ones; the one with most of them where the basis has up to 22 vectors."""
    places = tuple(sum((vector >> bit & 1) << i for i, vector in enumerate(basis)) for bit in range(bits))
    if len(basis) == 1:
        return basis[0]
    chosen, *_ = heaviest(places, len(basis), 1 << len(basis))
    return int(np.bitwise_xor.reduce([v for i, v in enumerate(basis) if chosen >> i & 1]))
