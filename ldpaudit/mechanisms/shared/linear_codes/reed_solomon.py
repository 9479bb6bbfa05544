r"""Reed-Solomon codes over GF(256): a value's bytes are the coefficients of a polynomial, its symbols what that is at points.

Any k symbols of k bytes determine them. Every bit of a symbol is a sum of bits of the value, as a question's rows ask for it.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_MODULUS = 0x11D  # of the field: x^8 + x^4 + x^3 + x^2 + 1, of which x is a generator
POINTS = 255  # symbols of a code word at most: the powers of the generator


@lru_cache(maxsize=1)
def _tables() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Powers of the generator, twice in a row, and logarithms; that of 0 is never used."""
    powers, element = [], 1
    for _ in range(POINTS):
        powers.append(element)
        element = element << 1 ^ (_MODULUS if element >> 7 else 0)
    logarithms = np.zeros(256, dtype=np.int64)
    logarithms[powers] = np.arange(POINTS)
    return np.array(powers * 2, dtype=np.int64), logarithms


def _times(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    powers, logarithms = _tables()
    return np.asarray(powers[logarithms[one] + logarithms[other]] * ((one != 0) & (other != 0)))


def _over(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    powers, logarithms = _tables()
    return np.asarray(powers[logarithms[one] + POINTS - logarithms[other]] * (one != 0))


def length(bits: int) -> int:
    """How many symbols determine a value of this many bits."""
    return -(-bits // 8)


@lru_cache(maxsize=256)
def symbol(point: int, bits: int) -> tuple[int, ...]:
    """The rows, over a value's bits, of the eight bits of its symbol at the generator to the power `point`."""
    powers, _ = _tables()
    rows = [0] * 8
    for place in range(bits):
        byte, bit = divmod(place, 8)
        weight = int(_times(np.array(1 << bit), powers[point * byte % POINTS]))
        for t in range(8):
            rows[t] |= (weight >> t & 1) << place
    return tuple(rows)


def interpolated(points: NDArray[np.int64], symbols: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The values that have these symbols.

    ``points``: different ones in a row; ``symbols``: in ``range(256)``. Returns of k bytes each, at most 8.
    """
    powers, _ = _tables()
    size = points.shape[1]
    matrix, right = powers[points[:, :, None] * np.arange(size) % POINTS], symbols.copy()
    # The leading minors of such a matrix are never 0, so that no rows are exchanged.
    for step in range(size):
        pivot = matrix[:, step, step].copy()
        matrix[:, step], right[:, step] = _over(matrix[:, step], pivot[:, None]), _over(right[:, step], pivot)
        factors = matrix[:, :, step].copy()
        factors[:, step] = 0
        matrix ^= _times(factors[:, :, None], matrix[:, step][:, None, :])
        right ^= _times(factors, right[:, step][:, None])
    bytes_ = right.astype(np.uint64) << (np.uint64(8) * np.arange(size, dtype=np.uint64))
    return np.asarray(np.bitwise_or.reduce(bytes_, axis=1))
