"""Which pairs of laws are the same up to the names of their views: of each kind, one pair need be looked at.

Probabilities are named by small numbers, so that arrays can be compared. What is found is exact: hashes only say early that the
kinds are too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pairs: TypeAlias = NDArray[np.int64]
"""Shape ``(pairs, 2)``: positions of two laws."""

_CHUNK = 1 << 21  # entries that are sorted at a time: 16 MiB
_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Odd multipliers of a hash of 64 bits. Source: Steele, Lea, Flood 2014, SplitMix."""


@dataclass(frozen=True, slots=True)
class CodedLaws:
    """Laws on the same views, each probability by the number that it has among all that occur."""

    codes: NDArray[np.int64]  # equal where probabilities are equal, and nowhere else
    also: NDArray[np.int64]  # what distinguishes views beside the two laws of a pair; zeros where nothing does

    @classmethod
    def of(cls, laws: Sequence[Sequence[Fraction]], also: Sequence[Fraction] | None = None) -> Self:
        """Of laws in rationals."""
        numbers: dict[Fraction, int] = {}
        table = [[numbers.setdefault(p, len(numbers)) for p in law] for law in laws]
        other: dict[Fraction, int] = {}
        beside = [other.setdefault(p, len(other)) for p in also] if also is not None else [0] * len(table[0])
        return cls(np.array(table, dtype=np.int64), np.array(beside, dtype=np.int64))

    def all_pairs(self) -> Pairs:
        """Ordered pairs of different laws, by position."""
        first, second = np.nonzero(~np.eye(len(self.codes), dtype=np.bool_))
        return np.stack([first, second], axis=1)

    def kinds(self, pairs: Pairs) -> Pairs:
        """The first pair of each kind, in order: two pairs are of one kind where their views can be renamed into each other's."""
        known: dict[bytes, int] = {}
        step = max(1, _CHUNK // self.codes.shape[1])
        values, others = int(self.codes.max()) + 1, int(self.also.max()) + 1
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            joint = (self.codes[some[:, 0]] * values + self.codes[some[:, 1]]) * others + self.also
            for i, key in enumerate(np.sort(joint, axis=1), start):
                known.setdefault(key.tobytes(), i)
        return pairs[list(known.values())]

    def few_kinds(self, most: int) -> Pairs | None:
        """As `kinds` of all pairs; None where there are more than `most`."""
        seen: set[int] = set()
        for i in range(len(self.codes)):
            seen.update(np.delete(self._hashes(i), i).tolist())
            if len(seen) > most:
                return None
        found = self.kinds(self.all_pairs())
        return found if len(found) <= most else None


    def _hashes(self, first: int) -> NDArray[np.uint64]:
        """One number for each second law: equal for pairs of one kind."""
        a, b, c = (np.uint64(m) for m in _MIXERS)
        mixed = self.codes.astype(np.uint64) * b + (self.codes[first].astype(np.uint64) + np.uint64(1)) * a
        mixed ^= (mixed >> np.uint64(29)) + self.also.astype(np.uint64) * c
        mixed *= c
        mixed ^= mixed >> np.uint64(32)
        found: NDArray[np.uint64] = (mixed * b).sum(axis=1, dtype=np.uint64)
        return found
