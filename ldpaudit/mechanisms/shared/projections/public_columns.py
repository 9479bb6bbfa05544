"""Public random projections of words to columns of signs, of which nothing is stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanisms.shared.linear_codes.gf2 import words

_LANE = 64  # rows whose signs of one word are the bits of one hash value
_BLOCK = 1 << 10  # lanes that are looked at together
_CANDIDATES = 16  # words among which the two with the most different columns are looked for: each more costs a column
_LOOKED_AT = 1 << 12
"""Lanes by which they are chosen: in longer columns no two words differ in many more rows than others."""


@dataclass(frozen=True, slots=True)
class Projection:
    r"""The matrix of signs :math:`\sqrt w\,\Phi`, one column per word; sign (j, v) is a bit of a hash of the seed, j and v.

    Whoever chooses the seed may make columns collide, which costs accuracy; privacy holds for every matrix. `rows` is w, and
    `domain` is d, the number of words, which must not have been chosen by the seed.
    """

    rows: int
    domain: int
    seed: int

    def signs(self, rows: ArrayLike, values: ArrayLike) -> NDArray[np.int8]:
        """Signs, +1 or -1, of rows and words that broadcast."""
        j = np.asarray(rows, dtype=np.int64)
        bits = words(self.seed, j // _LANE * self.domain + np.asarray(values)) >> (j % _LANE).astype(np.uint64)
        return (2 * (bits & np.uint64(1)).astype(np.int8) - 1).astype(np.int8)

    @property
    def lanes(self) -> int:
        """Hash values per column."""
        return -(-self.rows // _LANE)

    def packed(self, word: int) -> NDArray[np.uint64]:
        """A word's column, 64 rows to a number; the bits beyond the last row are 0."""
        return _packed(self, word)

    def differing(self, first: int, second: int) -> int:
        """In how many rows two words' signs differ."""
        return _ones(self.packed(first) ^ self.packed(second))

    def blocks(self, chosen: Sequence[int]) -> Iterator[NDArray[np.int8]]:
        """The matrix of some words' signs, a block of rows at a time, shape ``(block, words)``."""
        step = _BLOCK * _LANE
        for start in range(0, self.rows, step):
            yield self.signs(np.arange(start, min(start + step, self.rows))[:, None], np.asarray(chosen))

    def range_of(self, weights: Mapping[int, int]) -> tuple[int, int]:
        """Least and greatest row of the weighted sum of words' columns, exactly; it stops at the greatest that is possible."""
        held = {word: weight for word, weight in weights.items() if weight}
        if not held:
            return 0, 0
        most, by = sum(map(abs, held.values())), np.array(list(held.values()), dtype=np.int64)
        low, high = most, -most
        for block in self.blocks(list(held)):
            sums = block.astype(np.int64) @ by
            low, high = min(low, int(sums.min())), max(high, int(sums.max()))
            if (low, high) == (-most, most):
                break
        return low, high

    def apart(self) -> tuple[int, int]:
        """The two of the first words whose columns differ in the most rows, as far as these are looked at."""
        columns = [self.packed(word)[:_LOOKED_AT] for word in range(min(self.domain, _CANDIDATES))]
        pairs = [(v, u) for u in range(len(columns)) for v in range(u)]
        return max(pairs, key=lambda pair: _ones(columns[pair[0]] ^ columns[pair[1]]))

    def patterns(self) -> NDArray[np.int8]:
        """The different rows, shape ``(number, domain)``: as many as there are rows at most, and 2**domain."""
        found, powers = np.zeros(0, dtype=np.int64), 1 << np.arange(self.domain, dtype=np.int64)
        for block in self.blocks(range(self.domain)):
            found = np.unique(np.concatenate([found, (block > 0) @ powers]))
            if len(found) == 1 << self.domain:
                break
        return (2 * (found[:, None] >> np.arange(self.domain) & 1) - 1).astype(np.int8)


def _ones(lanes: NDArray[np.uint64]) -> int:
    return int(np.count_nonzero(np.unpackbits(lanes.view(np.uint8))))


@lru_cache(maxsize=32)
def _packed(public: Projection, word: int) -> NDArray[np.uint64]:
    column = words(public.seed, np.arange(public.lanes) * public.domain + word)
    if spare := -public.rows % _LANE:
        column[-1] &= np.uint64((1 << (_LANE - spare)) - 1)
    column.flags.writeable = False
    return column
