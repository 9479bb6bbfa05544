from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shuffled_count_min import Held, OneSidedShuffledCountMin, ShuffledCountMin
from tests.zoo import Broken, Mutant, Zoo

SIXTY = ShuffledCountMin(60, domain=64, rows=1, buckets=200, gamma=Fraction(1, 10))
TWO_ROWS = ShuffledCountMin(6, domain=9, rows=2, buckets=50, gamma=Fraction(1, 4))
ONE_SIDED = OneSidedShuffledCountMin(60, domain=64, rows=1, buckets=200, gamma=Fraction(1, 10))
DELTA = Fraction(13907115, 486829702)
"""At which 60 coins of 1/10 each on one count up and one down cost epsilon = 1."""

Mistake = Callable[[Held | None, int, np.random.Generator], NDArray[np.int64]]


def half_the_blanket(m: ShuffledCountMin) -> Mistake:
    def sample(x: Held | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return replace(m, gamma=m.gamma / 2).sample(x, size, rng)

    return sample


def the_blanket_is_one_cell_of_a_row(m: ShuffledCountMin) -> Mistake:
    # The bucket is drawn, then the coin is tossed: each cell is sent with probability gamma / s.
    def sample(x: Held | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return replace(m, gamma=m.gamma / m.buckets).sample(x, size, rng)

    return sample


def all_users_toss_the_same_coins(m: ShuffledCountMin) -> Mistake:
    # One public seed for hash functions and blankets.
    def sample(x: Held | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        columns = np.array(m.columns(x))
        coins = rng.random((size, len(columns))) < float(m.gamma)
        return np.asarray(columns[:, 0] * coins + columns[:, 1])

    return sample


def a_client_that_retries_sends_her_values_twice(m: ShuffledCountMin) -> Mistake:
    def sample(x: Held | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.asarray(m.sample(x, size, rng) + np.array(m.columns(x))[:, 1])

    return sample


def without(m: ShuffledCountMin, mistake: Callable[[ShuffledCountMin], Mistake]) -> Broken:
    return Broken(mistake.__name__.replace("_", " "), m, mistake(m))


MISTAKES: tuple[Any, ...] = (
    half_the_blanket,
    the_blanket_is_one_cell_of_a_row,
    all_users_toss_the_same_coins,
    a_client_that_retries_sends_her_values_twice,
)


def mutants() -> Iterator[Mutant]:
    cells = ShuffledCountMin(400, 64, 1, 2000, Fraction(1, 10))
    yield Mutant("a quarter of the coins is lost", cells, replace(cells, gamma=Fraction(3, 40)), delta=0.01)
    yield Mutant("half of the coins are lost", cells, replace(cells, gamma=Fraction(1, 20)), delta=0.01)


ZOO = Zoo(
    small=(
        ShuffledCountMin(3, domain=4, rows=1, buckets=3, gamma=Fraction(1, 3)),
        ShuffledCountMin(2, domain=5, rows=2, buckets=2, gamma=Fraction(2, 5), seed=3),
        ShuffledCountMin(4, domain=4, rows=1, buckets=2, gamma=Fraction(3, 4), held=2),
        TWO_ROWS,
    ),
    at_one=(SIXTY, ONE_SIDED),
    broken=(
        *(without(SIXTY, mistake) for mistake in MISTAKES),
        *(without(ONE_SIDED, mistake) for mistake in MISTAKES[:2]),
    ),
    delta=DELTA,
    mutants=tuple(mutants()),
)
