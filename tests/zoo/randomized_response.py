from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.parameters import odds
from tests.zoo import Broken, Mutant, Zoo, broken, mutant, tenth, two_bits

BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
TERNARY = KaryRandomizedResponse.for_epsilon(1.0, k=3)
TWENTY = KaryRandomizedResponse.for_epsilon(1.0, k=20)
HALF, TEN = KaryRandomizedResponse.for_epsilon(Fraction(1, 2), k=2), KaryRandomizedResponse.for_epsilon(1, k=10)
TWO, FIVE = (KaryRandomizedResponse.for_epsilon(epsilon, k=2) for epsilon in (2, 5))


def lying_uniformly(m: KaryRandomizedResponse) -> Mutant:
    runs = replace(m, p=m.p + (1 - m.p) / m.k)
    return Mutant("the lie may be the truth", m, runs,
                  lambda x, size, rng: np.where(rng.random(size) < float(m.p), x, rng.integers(0, m.k, size)))  # fmt: skip


def the_lie_leaves_out_the_last_value(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    other = rng.integers(0, TWENTY.k - 2, size)
    other += other >= x
    return np.where(rng.random(size) < float(TWENTY.p), x, other)


def one_coin_serves_two_reports(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # The coin that decides whether to lie also picks the lie.
    coin = rng.random(size)
    return np.where(coin < float(TERNARY.p), x, (coin * TERNARY.k).astype(np.int64))


ZOO = Zoo(
    small=(KaryRandomizedResponse(2, Fraction(2, 3)), KaryRandomizedResponse.for_epsilon(2.5, k=7),
           KaryRandomizedResponse.with_uniform_draw(Fraction(1, 4), k=4)),
    at_one=(BINARY, KaryRandomizedResponse.for_epsilon(1.0, k=100)),
    broken=(
        Broken("the lie leaves out the last value", TWENTY, the_lie_leaves_out_the_last_value),
        Broken("the lie may be the truth", BINARY,
               lambda x, size, rng: np.where(rng.random(size) < float(BINARY.p), x, rng.integers(0, BINARY.k, size))),
        broken("the probability is rounded to a tenth", TERNARY, p=Fraction(round(float(TERNARY.p) * 10), 10)),
        Broken("one coin serves two reports", TERNARY, one_coin_serves_two_reports),
    ),
    mutants=(
        *map(lying_uniformly, (BINARY, HALF, TEN)),
        mutant("the probability is rounded up to a tenth", HALF, p=tenth(HALF.p, up=True)),
        two_bits(BINARY),
        mutant("the coin has four bits", TWO, p=tenth(TWO.p, up=True, of=16)),
        mutant("two values count as one", TEN, p=odds(1, 8)),
        mutant("half of the values are forgotten", TEN, p=odds(1, 4)),
        mutant("epsilon is spent twice", TEN, p=odds(2, 9)),
        mutant("e is taken for 3", KaryRandomizedResponse.for_epsilon(2, k=5), p=Fraction(9, 9 + 4)),
        Mutant("a byte is compared, off by one", FIVE, KaryRandomizedResponse(2, Fraction(255, 256)),
               lambda x, size, rng: np.where(rng.integers(0, 256, size) < 255, x, 1 - x)),
    ),
)  # fmt: skip
