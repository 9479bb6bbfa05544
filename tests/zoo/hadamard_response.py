from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from tests.zoo import Broken, Mutant, Zoo, broken, mutant, refusals, rounded_up, two_bits

TEN = HadamardResponse.for_epsilon(1.0, k=10)
LARGE, HALF = HadamardResponse.for_epsilon(1.0, k=1_000), HadamardResponse.for_epsilon(Fraction(1, 2), k=100)


def the_lie_may_be_the_truth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # "Else uniform", but over all columns.
    truth = HadamardResponse(TEN.k, 1 - Fraction(1, 10**9)).sample(x, size, rng)
    return np.where(rng.random(size) < float(TEN.p), truth, rng.integers(0, TEN.columns, size))


def rejection_keeps_too_few_lies(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # Rejection sampling keeps a lie with probability e**-epsilon; this one keeps it with probability 1 - p.
    views = np.empty(0, dtype=np.int64)
    while len(views) < size:
        y = rng.integers(0, TEN.columns, 2 * size)
        views = np.append(views, y[TEN.supports(y, x) | (rng.random(2 * size) < 1 - float(TEN.p))])
    return views[:size]


ZOO = Zoo(
    small=(HadamardResponse(2, Fraction(3, 4)), HadamardResponse.for_epsilon(2.5, k=7),
           HadamardResponse(8, Fraction(3, 5))),
    at_one=(TEN, LARGE),
    broken=(
        Broken("the lie may be the truth", TEN, the_lie_may_be_the_truth),
        broken("the coin has two bits", LARGE, p=Fraction(3, 4)),
        Broken("rejection keeps too few lies", TEN, rejection_keeps_too_few_lies),
    ),
    refused=(*refusals("needs", TEN, k=[1, 1 << 62], p=[Fraction(2, 5), 1]),),
    mutants=(
        mutant("the lie may be the truth", TEN, p=(1 + TEN.p) / 2),
        two_bits(TEN),
        rounded_up(HALF),
        mutant("lies are kept with 1 - p for e**-epsilon", TEN, p=1 / (2 - TEN.p)),
        Mutant("epsilon is spent twice", HALF, HadamardResponse.for_epsilon(1, k=100)),
    ),
)  # fmt: skip
