"""Exact coins, fast."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

SIGNIFICANT_BITS = 128
"""Bits to which a transcendental probability is rounded; then a probability is a dyadic rational."""


def bernoulli(p: Fraction, shape: int | tuple[int, ...], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent coins that are True with probability exactly `p`.

    A uniform number's base-256 digits are compared with those of `p`, and further digits are drawn only where all
    so far were equal: one random byte a coin, and no rounding of `p` to a float.

    Parameters
    ----------
    p : Fraction
        In [0, 1].
    shape : int or tuple of int
        Shape of the result.
    rng : numpy.random.Generator
        Source of all randomness.

    Returns
    -------
    ndarray of bool
    """
    count = int(np.prod(shape))
    scaled = 256 * Fraction(p)
    digit = int(scaled)
    if digit >= 256:
        return np.ones(shape, dtype=np.bool_)
    drawn = np.frombuffer(rng.bytes(count), dtype=np.uint8)
    coins = drawn < np.uint8(digit)
    if rest := scaled - digit:
        ties = np.flatnonzero(drawn == np.uint8(digit))
        if len(ties):
            coins[ties] = bernoulli(rest, len(ties), rng)
    return coins.reshape(shape)


def uniform_subset(k: int, d: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Indicator rows, shape ``(size, k)``, of independent uniform `d`-subsets of ``range(k)``."""
    chosen = np.zeros((size, k), dtype=np.bool_)
    # Ties in 64 random bits would make the choice depend on positions; they are one in 2**64 a pair.
    order = rng.integers(0, 1 << 63, size=(size, k)).argpartition(d - 1, axis=1)[:, :d]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen
