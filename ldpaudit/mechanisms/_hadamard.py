"""Sylvester's Hadamard matrix, ``H[i, j] = (-1)**popcount(i & j)``, without ever building it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def parity(values: ArrayLike) -> NDArray[np.bool_]:
    """Whether the number of one bits of each nonnegative integer is odd."""
    folded = np.array(values, dtype=np.int64)
    # numpy.bitwise_count is younger than the oldest numpy that is supported.
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return (folded & 1).astype(np.bool_)


def transform(vector: ArrayLike) -> NDArray[np.float64]:
    """The product ``H @ vector`` by the fast Walsh-Hadamard transform; the length is a power of two."""
    result = np.array(vector, dtype=np.float64)
    half = 1
    while half < len(result):
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return result
