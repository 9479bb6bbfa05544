from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.parameters import odds
from tests.zoo import Broken, Mutant, Sample, Zoo, tenth

BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
TERNARY = KaryRandomizedResponse.for_epsilon(1.0, k=3)
TWENTY = KaryRandomizedResponse.for_epsilon(1.0, k=20)


def the_lie_leaves_out_the_last_value(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    other = rng.integers(0, TWENTY.k - 2, size)
    other += other >= x
    return np.where(rng.random(size) < float(TWENTY.p), x, other)


def the_lie_may_be_the_truth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.where(rng.random(size) < float(BINARY.p), x, rng.integers(0, BINARY.k, size))


def the_probability_is_rounded_to_a_tenth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    honest = KaryRandomizedResponse(3, Fraction(round(float(TERNARY.p) * 10), 10))
    return honest.sample(x, size, rng)


def one_coin_serves_two_reports(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # The coin that decides whether to lie also picks the lie.
    coin = rng.random(size)
    return np.where(coin < float(TERNARY.p), x, (coin * TERNARY.k).astype(np.int64))


def mutants() -> Iterator[Mutant]:
    make = KaryRandomizedResponse.for_epsilon
    half, one, two, five, many = make(Fraction(1, 2), k=2), make(1, k=2), make(2, k=2), make(5, k=2), make(1, k=10)

    def fair(m: KaryRandomizedResponse) -> Sample:
        return lambda x, size, rng: np.where(rng.random(size) < float(m.p), x, rng.integers(0, m.k, size))

    for m in (one, half, many):
        lucky = m.p + (1 - m.p) / m.k
        yield Mutant("the lie may be the truth", m, KaryRandomizedResponse(m.k, lucky), fair(m))
    yield Mutant("the probability is rounded up to a tenth", half, KaryRandomizedResponse(2, tenth(half.p, up=True)))
    yield Mutant("the coin has two bits", one, KaryRandomizedResponse(2, Fraction(3, 4)))
    yield Mutant("the coin has four bits", two, KaryRandomizedResponse(2, tenth(two.p, up=True, of=16)))
    yield Mutant("two values count as one", many, KaryRandomizedResponse(10, odds(1, 8)))
    yield Mutant("half of the values are forgotten", many, KaryRandomizedResponse(10, odds(1, 4)))
    yield Mutant("epsilon is spent twice", many, make(2, k=10))
    yield Mutant("e is taken for 3", make(2, k=5), KaryRandomizedResponse(5, Fraction(9, 9 + 4)))
    yield Mutant("a byte is compared, off by one", five, KaryRandomizedResponse(2, Fraction(255, 256)),
                 lambda x, size, rng: np.where(rng.integers(0, 256, size) < 255, x, 1 - x))


ZOO = Zoo(
    small=(KaryRandomizedResponse(2, Fraction(2, 3)), KaryRandomizedResponse.for_epsilon(2.5, k=7),
           KaryRandomizedResponse.with_uniform_draw(Fraction(1, 4), k=4)),
    at_one=(BINARY, KaryRandomizedResponse.for_epsilon(1.0, k=100)),
    broken=(
        Broken("the lie leaves out the last value", TWENTY, the_lie_leaves_out_the_last_value),
        Broken("the lie may be the truth", BINARY, the_lie_may_be_the_truth),
        Broken("the probability is rounded to a tenth", TERNARY, the_probability_is_rounded_to_a_tenth),
        Broken("one coin serves two reports", TERNARY, one_coin_serves_two_reports),
    ),
    mutants=tuple(mutants()),
)
