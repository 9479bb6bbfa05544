"""Sylvester's Hadamard matrix, ``H[i, j] = (-1)**popcount(i & j)``, without ever building it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ONES = getattr(np, "bitwise_count", None)  # younger than the oldest numpy that is supported


def parity(values: ArrayLike) -> NDArray[np.bool_]:
    """Whether the number of one bits of each integer is odd, of a negative one in two's complement."""
    folded = np.array(values, dtype=np.int64)
    if _ONES is not None:
        return np.asarray(_ONES(folded.view(np.uint64)) & 1, dtype=np.bool_)
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return (folded & 1).astype(np.bool_)


def transform(vector: ArrayLike) -> NDArray[np.float64]:
    """The product ``H @ vector`` by the fast Walsh-Hadamard transform, of each row; the length is a power of two."""
    result = np.array(vector, dtype=np.float64)
    half = 1
    while half < result.shape[-1]:
        pairs = result.reshape(*result.shape[:-1], -1, 2, half)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        result = np.stack([first + second, first - second], axis=-2).reshape(result.shape)
        half *= 2
    return result
