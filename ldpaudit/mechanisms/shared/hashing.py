"""Public hash functions: fixed, the same on every machine, and known to the adversary."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanisms.shared.linear_codes.gf2 import GOLDEN, splitmix

PRIME = (1 << 31) - 1  # a Mersenne prime: values below it keep ``a * x + b`` below 2**62


def buckets(values: ArrayLike, count: int, width: int) -> NDArray[np.int64]:
    """Hash values under each of the first `count` functions, shape ``values.shape + (count,)``."""
    return hashed(np.asarray(values)[..., None], *coefficients(count), width)


def hashed(values: ArrayLike, a: ArrayLike, b: ArrayLike, width: int) -> NDArray[np.int64]:
    """Hash values ``((a x + b) mod PRIME) mod width``; the arguments broadcast.

    Over a uniform choice of a and b this family is pairwise independent, up to one part in PRIME / width (Carter,
    Wegman 1979); ours are fixed constants, `coefficients`. Values, and the width, are below PRIME.
    """
    found: NDArray[np.int64] = np.asarray(values, dtype=np.int64) * np.asarray(a, dtype=np.int64)
    found += np.asarray(b, dtype=np.int64)
    found %= PRIME
    found %= width
    return found


@lru_cache(maxsize=16)
def coefficients(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """a in 1..PRIME-1 and b in 0..PRIME-1: consecutive outputs of SplitMix64 (Steele, Lea, Flood 2014) from seed 0."""
    z = splitmix(np.arange(1, 2 * count + 1, dtype=np.uint64) * np.uint64(GOLDEN))
    a = 1 + (z[0::2] % np.uint64(PRIME - 1)).astype(np.int64)
    b = (z[1::2] % np.uint64(PRIME)).astype(np.int64)
    a.flags.writeable = b.flags.writeable = False
    return a, b


def most_different(table: NDArray[np.int64]) -> tuple[int, tuple[int, int]]:
    """In how many columns the two most different rows differ, and which these are."""
    best, pair = -1, (0, 1)
    for x in range(len(table) - 1):
        differ = np.count_nonzero(table[x + 1 :] != table[x], axis=1)
        if differ.max() > best:
            best, pair = int(differ.max()), (x, x + 1 + int(differ.argmax()))
        if best == table.shape[1]:
            break
    return best, pair
