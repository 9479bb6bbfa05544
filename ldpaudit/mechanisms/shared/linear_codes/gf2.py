"""Linear algebra over GF(2) and public randomness for it: a vector of up to 64 bits is a 64-bit integer.

Arrays hold vectors as signed integers, of which the one with bit 63 is negative; lists hold them as what they are.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity

BITS = 62  # most bits of a vector that is a number of a domain whose numbers are added up or compared
WIDE = 64  # most bits of a vector
GOLDEN, _MIX = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MASK = (1 << 64) - 1


def words(seed: int, index: ArrayLike) -> NDArray[np.uint64]:
    """Public pseudo-random 64-bit words by their index, none of which is stored.

    Word i is SplitMix64's i-th output (Steele, Lea, Flood 2014) from a state that is itself such an output, so that two
    seeds give unrelated streams.
    """
    start = splitmix(np.array([(seed * GOLDEN + 1) & _MASK], dtype=np.uint64))
    steps = np.asarray(index).astype(np.uint64).reshape(-1) + np.uint64(1)  # numpy warns where a scalar wraps around
    return splitmix(steps * np.uint64(GOLDEN) + start).reshape(np.shape(index))


def splitmix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's outputs from its states, multiples of `GOLDEN`."""
    z = state
    for shift, factor in zip((30, 27), _MIX, strict=True):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def vectors(values: ArrayLike) -> NDArray[np.int64]:
    """Numbers below 2**64 as vectors of their bits."""
    # A list of numbers on both sides of 2**63 would become one of floats.
    given = values if isinstance(values, np.ndarray) else np.array(values, dtype=np.uint64)
    return given.astype(np.int64, copy=False)


def nonzero(seed: int, index: ArrayLike, bits: int) -> NDArray[np.int64]:
    """Public pseudo-random vectors of `bits` bits, none of them zero, by their index."""
    return (np.uint64(1) + words(seed, index) % np.uint64((1 << bits) - 1)).astype(np.int64)


def independent(seed: int, start: int, count: int, bits: int) -> list[int]:
    """The first `count` linearly independent ones among the vectors ``nonzero(seed, start + i, bits)``.

    Over a uniform choice of vectors they are uniform among such tuples; `count` is at most `bits`.
    """
    rows: list[int] = []
    basis: list[int] = []
    while len(rows) < count:
        row = int(nonzero(seed, start, bits)) & _MASK
        start += 1
        if rest := reduced(row, basis):
            rows.append(row)
            basis.append(rest)
    return rows


def reduced(vector: int, basis: Iterable[int]) -> int:
    """What is left of a vector modulo a basis in which no vector has the leading bit of an earlier one."""
    for each in basis:
        vector = min(vector, vector ^ each)
    return vector


def span(rows: Sequence[int]) -> NDArray[np.int64]:
    """All sums of the rows: entry r is the sum of those whose bits are set in r."""
    sums = np.zeros(1, dtype=np.int64)
    for row in vectors(rows):
        sums = np.concatenate([sums, sums ^ row])
    return sums


def images(rows: Sequence[int], values: ArrayLike) -> NDArray[np.int64]:
    """The matrix of these rows times each value, as one integer: bit t is the product with row t."""
    given = vectors(values)
    result = np.zeros(given.shape, dtype=np.int64)
    for t, row in enumerate(vectors(rows)):
        result |= parity(given & row).astype(np.int64) << t
    return result


def combined(rows: Sequence[int], chosen: ArrayLike) -> NDArray[np.int64]:
    """For each number, the sum of the rows whose bits are set in it: `span`, without its table."""
    which = vectors(chosen)
    result = np.zeros(which.shape, dtype=np.int64)
    for t, row in enumerate(vectors(rows)):
        result ^= np.where(which >> t & 1, row, 0)
    return result


def rank(rows: Iterable[int]) -> int:
    """How many of the rows are linearly independent."""
    basis: list[int] = []
    for row in rows:
        if rest := reduced(row, basis):
            basis.append(rest)
    return len(basis)


def solve(rows: Sequence[int], target: Sequence[int], bits: int) -> int | None:
    """Gaussian elimination: a vector of `bits` bits whose products with the rows are the target; None where none is.

    Where several are, the one whose free bits are 0.
    """
    pivots: dict[int, int] = {}  # leading bit to equation; the right-hand side is the bit above all unknowns
    for row, right in zip(rows, target, strict=True):
        equation = int(row) | int(right) << bits
        for lead, pivot in pivots.items():
            if equation >> lead & 1:
                equation ^= pivot
        unknowns = equation & ((1 << bits) - 1)
        if not unknowns:
            if equation:
                return None
            continue
        lead = unknowns.bit_length() - 1
        for other, pivot in pivots.items():
            if pivot >> lead & 1:
                pivots[other] = pivot ^ equation
        pivots[lead] = equation
    return sum(1 << lead for lead, equation in pivots.items() if equation >> bits)


def kernel(rows: Sequence[int], bits: int) -> list[int]:
    """A basis of the vectors of `bits` bits whose product with every row is 0, by eliminating with the identity beside."""
    left = [(sum((row >> bit & 1) << i for i, row in enumerate(rows)), 1 << bit) for bit in range(bits)]
    for i in range(len(rows)):
        pivot = next((pair for pair in left if pair[0] >> i & 1), None)
        if pivot is not None:
            left.remove(pivot)
            left = [(a ^ pivot[0], b ^ pivot[1]) if a >> i & 1 else (a, b) for a, b in left]
    return [vector for _, vector in left]
