from dataclasses import replace
from fractions import Fraction

import numpy as np

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shuffled_count_min import Held, OneSidedShuffledCountMin, ShuffledCountMin
from tests.zoo import Broken, Refusal, Zoo, broken, mutant, no_data, no_inputs, refusals

SIXTY = ShuffledCountMin(60, domain=64, rows=1, buckets=200, gamma=Fraction(1, 10))
CELLS = ShuffledCountMin(400, 64, 1, 2000, Fraction(1, 10))
EIGHT = ShuffledCountMin(3, 8, 1, 2, Fraction(1, 2))
FOUR = ShuffledCountMin(4, 6, 3, 5000, Fraction(1, 10**6), held=2)
ONE_SIDED = OneSidedShuffledCountMin(60, domain=64, rows=1, buckets=200, gamma=Fraction(1, 10))
DELTA = Fraction(13907115, 486829702)
"""At which 60 coins of 1/10 each on one count up and one down cost epsilon = 1."""


def thinner(m: ShuffledCountMin) -> tuple[Broken, Broken]:
    return (
        broken("half the blanket", m, gamma=m.gamma / 2),
        # The bucket is drawn, then the coin is tossed: each cell is sent with probability gamma / s.
        broken("the blanket is one cell of a row", m, gamma=m.gamma / m.buckets),
    )


def all_users_toss_the_same_coins(x: Held | None, size: int, rng: np.random.Generator) -> Views:
    # One public seed for hash functions and blankets.
    columns = np.array(SIXTY.columns(x))
    return columns[:, 0] * (rng.random((size, len(columns))) < float(SIXTY.gamma)) + columns[:, 1]


ZOO = Zoo(
    small=(
        ShuffledCountMin(3, domain=4, rows=1, buckets=3, gamma=Fraction(1, 3)),
        ShuffledCountMin(2, domain=5, rows=2, buckets=2, gamma=Fraction(2, 5), seed=3),
        ShuffledCountMin(4, domain=4, rows=1, buckets=2, gamma=Fraction(3, 4), held=2),
        ShuffledCountMin(6, domain=9, rows=2, buckets=50, gamma=Fraction(1, 4)),
    ),
    at_one=(SIXTY, ONE_SIDED),
    broken=(
        *thinner(SIXTY),
        Broken("all users toss the same coins", SIXTY, all_users_toss_the_same_coins),
        Broken("a client that retries sends her values twice", SIXTY,
               lambda x, size, rng: SIXTY.sample(x, size, rng) + np.array(SIXTY.columns(x))[:, 1]),
        *thinner(ONE_SIDED),
    ),
    refused=(
        *refusals("needs", EIGHT, users=[0], domain=[1], rows=[0], buckets=[1], gamma=[0, 1], held=[0, 9], seed=[-1]),
        *no_inputs("at most 2 different values", replace(EIGHT, held=2), 8, -1, (0, 0), (0, 1, 2), (0, 9), "a", 1.5),
        *no_data("ShuffledCountMin needs", FOUR, [[0, 0], [1, -1], [1, -1], [1, -1]], [[0, 6], [1, -1], [1, -1], [1, -1]], [[0, 1]],
                 [0, 1, 2, -2]),
        Refusal("needs gamma <= 1/2, which takes about 1393372 users or more",
                lambda: ShuffledCountMin.as_printed(1, 1e-6, 10**6, 2**20)),
    ),
    delta=DELTA,
    mutants=(
        mutant("a quarter of the coins is lost", CELLS, 0.01, gamma=Fraction(3, 40)),
        mutant("half of the coins are lost", CELLS, 0.01, gamma=Fraction(1, 20)),
    ),
)  # fmt: skip
