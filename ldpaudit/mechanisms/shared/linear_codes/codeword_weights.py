"""Weights of linear codes: on how many rows of a public matrix over GF(2) do two inputs' bits differ?"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.linear_codes.gf2 import nonzero
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform

ENUMERATED = 22  # bits up to which all codewords are weighed, by one Walsh-Hadamard transform
_STARTS = 400


@lru_cache(maxsize=32)
def heaviest(rows: tuple[int, ...], bits: int, below: int) -> tuple[int, int, bool]:
    """The vector in ``1..below-1`` whose products with the rows are 1 most often.

    Returns the vector, how often, and whether that is certain: where there are too many vectors to try, it is the heaviest that a
    local search finds.
    """
    if bits <= ENUMERATED:
        found = weights(np.array(rows, dtype=np.int64), bits)
        vector = 1 + int(np.argmax(found[1:below]))
        return vector, int(found[vector]), True
    return *_searched(rows, bits, below), False


def weights(rows: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """On how many rows each vector of `bits` bits has the product 1; one transform."""
    sums = transform(np.bincount(rows, minlength=1 << bits))
    return (len(rows) - sums.astype(np.int64)) // 2


def weigh(rows: NDArray[np.int64], bits: int) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """The same as a function of vectors, of any number of bits."""
    if bits <= ENUMERATED:
        return weights(rows, bits).__getitem__
    return lambda vectors: sum((parity(vectors & row).astype(np.int64) for row in rows.tolist()), np.zeros_like(vectors))


def _searched(rows: tuple[int, ...], bits: int, below: int) -> tuple[int, int]:
    """From many starts, flip the bit of the vector that helps most, as long as one helps."""
    columns = np.array([[row >> bit & 1 for bit in range(bits)] for row in rows], dtype=np.float64)
    flips = 1 - 2 * columns
    best = (1, _weight(rows, 1))
    for start in nonzero(0, np.arange(_STARTS), bits).tolist():
        vector = 1 + start % (below - 1)
        signs = 1 - 2 * parity(np.array(rows, dtype=np.int64) & vector).astype(np.float64)
        while True:
            sums: NDArray[np.float64] = signs @ flips
            inside = [b for b in np.argsort(sums).tolist() if 0 < vector ^ (1 << b) < below]
            if not inside or sums[inside[0]] >= signs.sum():
                break
            vector ^= 1 << inside[0]
            signs *= flips[:, inside[0]]
        best = max(best, (vector, _weight(rows, vector)), key=lambda found: found[1])
    return best


def _weight(rows: tuple[int, ...], vector: int) -> int:
    return int(np.count_nonzero(parity(np.array(rows, dtype=np.int64) & vector)))
