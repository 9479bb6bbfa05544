"""Exact coins, fast."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, require_counts

SIGNIFICANT_BITS = 128  # bits to which a transcendental probability is rounded; then a probability is a dyadic rational

MOST_COUNTED = 1 << 26  # largest domain all of whose counts are made


def bernoulli(p: Fraction, shape: int | tuple[int, ...], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent coins that are True with probability exactly `p`.

    A uniform number's base-256 digits are compared with those of `p`, and further digits are drawn only where all
    so far were equal: one random byte a coin, and no rounding of `p` to a float.
    """
    count = math.prod(shape) if isinstance(shape, tuple) else int(shape)
    return _coins(*p.as_integer_ratio(), count, rng).reshape(shape)


def _coins(numerator: int, denominator: int, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    digit, rest = divmod(256 * numerator, denominator)
    if digit >= 256:
        return np.ones(count, dtype=np.bool_)
    # Thrice as fast as rng.bytes, which draws 32 bits at a time and copies.
    drawn = rng.integers(0, 1 << 64, -(-count // 8), dtype=np.uint64).view(np.uint8)[:count]
    coins = drawn < np.uint8(digit)
    if rest:
        ties = np.flatnonzero(drawn == np.uint8(digit))
        if len(ties):
            coins[ties] = _coins(rest, denominator, len(ties), rng)
    return coins


def uniform_subset(k: int, d: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Indicator rows, shape ``(size, k)``, of independent, exactly uniform `d`-subsets of ``range(k)``.

    Source: Floyd, in Bentley and Floyd 1987, "A sample of brilliance"; all rows take each of the d steps together.
    """
    chosen = np.zeros((size, k), dtype=np.bool_)
    flat, rows = chosen.ravel(), k * np.arange(size)
    for last in range(k - d, k):
        drawn = rows + rng.integers(0, last + 1, size)
        flat[np.where(flat[drawn], rows + last, drawn)] = True
    return chosen


def subset(n: int, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A uniform choice of `k` different numbers of ``range(n)``, rising; exact, in memory proportional to k for any n < 2**63.

    As many numbers are drawn as are missing, until none is: whatever the numbers are called, all choices are alike.
    """
    if 2 * k > n:
        return np.delete(np.arange(n), subset(n, n - k, rng))
    found = np.zeros(0, dtype=np.int64)
    while len(found) < k:
        found = np.sort(np.concatenate([found, rng.integers(0, n, k - len(found))]))
        found = found[np.diff(found, prepend=-1) > 0]  # np.unique hashes, twenty times as slow
    return found


def held(owner: Mechanism, counts: Mapping[Any, int], k: int) -> NDArray[np.int64]:
    """How many users hold each of ``range(k)``; those who hold None are left out.

    Raises Unsupported where k exceeds 2**26, and ValueError for no user, or for what is no input.
    """
    if k > MOST_COUNTED:
        raise Unsupported(owner, f"the counts of all of {k} values are too many")
    require_counts(owner, counts)
    table = np.zeros(k, dtype=np.int64)
    for x, count in counts.items():
        if x is not None:
            table[x] += count
    return table


def chunks(size: int, step: int) -> Iterator[slice]:
    """Slices of this many each, at least one, that make up all."""
    each = max(1, step)
    return (slice(start, min(start + each, size)) for start in range(0, size, each))


def laplace_sums(terms: int, count: int, scale: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Sums of Laplace noises, `terms` in each of `count`: a difference of two Gammas, in time free of the terms."""
    gamma = rng.standard_gamma(terms, (2, count))
    return np.asarray(scale * (gamma[0] - gamma[1]), dtype=np.float64)
