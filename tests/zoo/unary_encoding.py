from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from tests.zoo import Broken, Mutant, Refusal, Zoo, broken, mutant, no_inputs, refusals, tenth

SYMMETRIC = UnaryEncoding.symmetric(1.0, k=10)
OPTIMIZED = UnaryEncoding.optimized(1.0, k=10)
LOUD = UnaryEncoding.symmetric(2, k=6)


def one_hot(x: int, k: int, size: int) -> NDArray[np.int64]:
    return np.tile(np.eye(k, dtype=np.int64)[x], (size, 1))


def the_users_bit_is_set_twice(x: int, size: int, rng: np.random.Generator) -> Views:
    # Once in the loop over all bits, once more after it.
    views = OPTIMIZED.sample(x, size, rng)
    views[:, x] |= rng.random(size) < float(OPTIMIZED.p)
    return views


def the_flip_probability_is_cut_to_a_tenth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    flips = rng.random((size, SYMMETRIC.k)) < int(10 * SYMMETRIC.q) / 10
    return one_hot(x, SYMMETRIC.k, size) ^ flips


ZOO = Zoo(
    small=(UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)), UnaryEncoding.symmetric(2.5, k=4),
           UnaryEncoding.optimized(0.5, k=2), UnaryEncoding(2, Fraction(9, 10), Fraction(1, 2))),
    at_one=(SYMMETRIC, UnaryEncoding.optimized(1.0, k=100)),
    broken=(
        # 1 / (1 + e**epsilon), where each of two bits may only spend half of it.
        broken("each bit spends the whole epsilon", SYMMETRIC, p=1 - OPTIMIZED.q, q=OPTIMIZED.q),
        Broken("the user's bit is set twice", OPTIMIZED, the_users_bit_is_set_twice),
        Broken("the flip probability is cut to a tenth", SYMMETRIC, the_flip_probability_is_cut_to_a_tenth),
        Broken("only zeros are randomized", OPTIMIZED,
               lambda x, size, rng: one_hot(x, OPTIMIZED.k, size) | (rng.random((size, OPTIMIZED.k)) < float(OPTIMIZED.q))),
    ),
    refused=(
        Refusal("needs users >= 1, got 0", partial(UnaryEncoding.shuffled_in_closed_form, 1, Fraction(1, 10), 0, 3)),
        Refusal("1/2 < threshold <= 1", partial(UnaryEncoding.thresholded, 1, 3, Fraction(1, 2))),
        Refusal("threshold needs a finite", partial(UnaryEncoding.thresholded, 1, 3, float("nan"))),
        *refusals("needs 0 < q < 1/2", UnaryEncoding(3, Fraction(1, 2), Fraction(1, 5)), q=[Fraction(1, 2)]),
        *no_inputs("needs an input among", UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)), 3),
    ),
    mutants=(
        mutant("each bit spends the whole epsilon", SYMMETRIC, p=1 - OPTIMIZED.q, q=OPTIMIZED.q),
        Mutant("the flips are cut to hundredths", SYMMETRIC, UnaryEncoding.flips(tenth(SYMMETRIC.q, of=100), 10)),
        Mutant("the flips are cut to tenths", LOUD, UnaryEncoding.flips(tenth(LOUD.q), 6)),
        Mutant("the user's bit is set in two places", OPTIMIZED, replace(OPTIMIZED, p=Fraction(3, 4)), the_users_bit_is_set_twice),
        mutant("noise is cut to tenths", OPTIMIZED, q=tenth(OPTIMIZED.q)),
        mutant("p of the symmetric, q of the optimized form", OPTIMIZED, p=SYMMETRIC.p),
    ),
)  # fmt: skip
