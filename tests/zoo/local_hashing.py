from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.shared.parameters import odds
from tests.zoo import Broken, Mutant, Sample, Zoo, tenth

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


def mutants() -> Iterator[Mutant]:
    two, four = LocalHashing.binary(1, domain=100), LocalHashing.optimal(1, domain=100)
    yield Mutant("four values, p for two", four, LocalHashing(four.g, two.p, 100))
    yield Mutant("four values, p for three", four, LocalHashing(four.g, odds(1, 2), 100))
    yield Mutant("the lie may be the truth", four, LocalHashing(four.g, four.p + (1 - four.p) / four.g, 100), _hash_lie(four),
                 shown=four.supports)
    yield Mutant("the lie may be the truth, of two", two, LocalHashing(2, (1 + two.p) / 2, 100), _hash_lie(two), shown=two.supports)
    yield Mutant("p is rounded up to a tenth", two, LocalHashing(2, tenth(two.p, up=True), 100))


def _hash_lie(m: LocalHashing) -> Sample:
    def sample(x: int, size: int, rng: np.random.Generator) -> Views:
        views = m.sample(x, size, rng)
        truth = m.hash(views[:, 0], views[:, 1], x)
        views[:, 2] = np.where(rng.random(size) < float(m.p), truth, rng.integers(0, m.g, size))
        return views

    return sample


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
    mutants=tuple(mutants()),
)
