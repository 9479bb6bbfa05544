"""How far the counts of all values are off on given data, except with some probability, by the law of each count.

Each count's law is a sum of coins, whose probabilities are those of scipy, in floats; those of all values are added up. The hash
functions of count-min are public, so that which values share a cell is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding

Floats = NDArray[np.float64]
_WIDE = 12.0
"""Standard deviations beyond which a law is not looked at: 1e-30 lies there."""


def tail(m: Mechanism, users: int, counts: NDArray[np.int64], beta: float) -> float:
    """What the largest error over all values exceeds with probability `beta` at most; in users, up to a thousandth of it."""
    match m:
        case ShuffledCountMin():
            return _crossing(_sketched(m, users, counts), beta, users)
        case ShuffledHadamard():
            laws = _laws(counts, lambda x: _coins(((m.rho + m.k) * users - x, float(m.hit)), 1 - float(m.hit)))
        case ShuffledBinarySums():
            laws = _laws(counts, lambda _: _coins((users, float(m.gamma)), 1.0))
        case KaryRandomizedResponse():
            laws = _laws(counts, lambda x: _two_coins(users, x, float(m.p), float(m.lie)))
        case UnaryEncoding():
            laws = _laws(counts, lambda x: _two_coins(users, x, float(m.p), float(m.q)))
        case _:
            raise ValueError(f"a tail needs a protocol that counts values, got {m.title}")
    return _crossing(lambda t: sum(often * float(chance[size > t].sum()) for often, size, chance in laws), beta, users)


def _laws(counts: NDArray[np.int64], of: Callable[[int], tuple[Floats, Floats]]) -> list[tuple[int, Floats, Floats]]:
    """For each number of holders: how many values have it, moduli of errors and their probabilities."""
    return [(int(often), *of(int(x))) for x, often in zip(*np.unique(counts, return_counts=True), strict=True)]


def _coins(coins: tuple[int, float], scale: float) -> tuple[Floats, Floats]:
    heads, chance = _mass(*coins)
    return np.abs(heads - coins[0] * coins[1]) / scale, chance


def _two_coins(users: int, holders: int, on: float, off: float) -> tuple[Floats, Floats]:
    (first, p), (second, q) = _mass(holders, on), _mass(users - holders, off)
    heads = first[0] + second[0] + np.arange(len(p) + len(q) - 1)
    return np.abs(heads - users * off - holders * (on - off)) / (on - off), np.convolve(p, q)


def _mass(coins: int, p: float) -> tuple[Floats, Floats]:
    """Numbers of heads near the mean, and their probabilities."""
    wide = _WIDE * (coins * p * (1 - p)) ** 0.5 + _WIDE**2
    heads = np.arange(max(0, int(coins * p - wide)), min(coins, int(coins * p + wide)) + 1)
    return heads.astype(np.float64), stats.binom.pmf(heads, coins, p)


def _sketched(m: ShuffledCountMin, users: int, counts: NDArray[np.int64]) -> Callable[[float], float]:
    """The probabilities of all values that the least of their cells, noise and other values in it, is off by more than t."""
    values = np.arange(len(counts))
    cells = np.array([m.hashes(values, row) for row in range(m.rows)])
    shared = np.array([np.bincount(row, counts)[row] - counts for row in cells])
    noise: Any = stats.binom(users, float(m.gamma))

    def exceeded(t: float) -> float:
        above = noise.sf(np.floor(float(m.expected_noise) + t - shared)).prod(axis=0)
        below = -np.expm1(np.log1p(-noise.cdf(np.ceil(float(m.expected_noise) - t - shared) - 1)).sum(axis=0))
        return float((above + below).sum())

    return exceeded


def _crossing(exceeded: Callable[[float], float], beta: float, most: int) -> float:
    return float(optimize.bisect(lambda t: exceeded(t) - beta, 0.0, most, rtol=1e-3, xtol=1e-3))
