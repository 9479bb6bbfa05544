from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.local_hashing import LocalHashing
from tests.zoo import Broken, Zoo

BINARY = LocalHashing.binary(1.0, domain=100)
OPTIMAL = LocalHashing.optimal(1.0, domain=100)


def the_lie_may_be_the_truth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = OPTIMAL.sample(x, size, rng)
    truth = OPTIMAL.hash(views[:, 0], views[:, 1], x)
    views[:, 2] = np.where(rng.random(size) < float(OPTIMAL.p), truth, rng.integers(0, OPTIMAL.g, size))
    return views


def four_hash_values_with_the_probability_for_two(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return LocalHashing(OPTIMAL.g, BINARY.p, OPTIMAL.domain).sample(x, size, rng)


def one_coin_tells_whether_and_what_to_lie(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = OPTIMAL.sample(x, size, rng)
    truth, coin = OPTIMAL.hash(views[:, 0], views[:, 1], x), rng.random(size)
    views[:, 2] = np.where(coin < float(OPTIMAL.p), truth, (coin * OPTIMAL.g).astype(np.int64))
    return views


def a_lie_draws_another_seed(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # "Two functions, and the one that fits better": the choice of the public function depends on the value.
    views, again = BINARY.sample(x, size, rng), BINARY.sample(x, size, rng)
    return np.where(BINARY.supports(views, x)[:, None], views, again)


ZOO = Zoo(
    small=(LocalHashing(2, Fraction(3, 4), domain=4, prime=5), LocalHashing(3, Fraction(1, 2), domain=7, prime=7),
           LocalHashing(5, Fraction(2, 5), domain=3, prime=5)),
    at_one=(BINARY, OPTIMAL),
    broken=(
        Broken("the lie may be the truth", OPTIMAL, the_lie_may_be_the_truth),
        Broken("four hash values with the probability for two", OPTIMAL, four_hash_values_with_the_probability_for_two),
        Broken("one coin tells whether and what to lie", OPTIMAL, one_coin_tells_whether_and_what_to_lie),
        Broken("a lie draws another seed", BINARY, a_lie_draws_another_seed),
    ),
)
