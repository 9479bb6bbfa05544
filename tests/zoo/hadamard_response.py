from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from tests.zoo import Broken, Mutant, Zoo, tenth

TEN = HadamardResponse.for_epsilon(1.0, k=10)
LARGE = HadamardResponse.for_epsilon(1.0, k=1_000)


def the_lie_may_be_the_truth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # "Else uniform", but over all columns.
    truth = HadamardResponse(TEN.k, 1 - Fraction(1, 10**9)).sample(x, size, rng)
    return np.where(rng.random(size) < float(TEN.p), truth, rng.integers(0, TEN.columns, size))


def the_coin_has_two_bits(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return HadamardResponse(LARGE.k, Fraction(3, 4)).sample(x, size, rng)


def rejection_keeps_too_few_lies(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # Rejection sampling keeps a lie with probability e**-epsilon; this one keeps it with probability 1 - p.
    views = np.empty(0, dtype=np.int64)
    while len(views) < size:
        y = rng.integers(0, TEN.columns, 2 * size)
        views = np.append(views, y[TEN.supports(y, x) | (rng.random(2 * size) < 1 - float(TEN.p))])
    return views[:size]


def mutants() -> Iterator[Mutant]:
    ten, half = HadamardResponse.for_epsilon(1, k=10), HadamardResponse.for_epsilon(Fraction(1, 2), k=100)
    yield Mutant("the lie may be the truth", ten, HadamardResponse(10, (1 + ten.p) / 2))
    yield Mutant("the coin has two bits", ten, HadamardResponse(10, Fraction(3, 4)))
    yield Mutant("p is rounded up to a tenth", half, HadamardResponse(100, tenth(half.p, up=True)))
    yield Mutant("lies are kept with 1 - p for e**-epsilon", ten, HadamardResponse(10, 1 / (2 - ten.p)))
    yield Mutant("epsilon is spent twice", half, HadamardResponse.for_epsilon(1, k=100))


ZOO = Zoo(
    small=(HadamardResponse(2, Fraction(3, 4)), HadamardResponse.for_epsilon(2.5, k=7),
           HadamardResponse(8, Fraction(3, 5))),
    at_one=(TEN, LARGE),
    broken=(
        Broken("the lie may be the truth", TEN, the_lie_may_be_the_truth),
        Broken("the coin has two bits", LARGE, the_coin_has_two_bits),
        Broken("rejection keeps too few lies", TEN, rejection_keeps_too_few_lies),
    ),
    mutants=tuple(mutants()),
)
