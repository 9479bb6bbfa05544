from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from tests.zoo import Broken, Mutant, Sample, Zoo, tenth

SYMMETRIC = UnaryEncoding.symmetric(1.0, k=10)
OPTIMIZED = UnaryEncoding.optimized(1.0, k=10)


def one_hot(x: int, k: int, size: int) -> NDArray[np.int64]:
    return np.tile(np.eye(k, dtype=np.int64)[x], (size, 1))


def each_bit_spends_the_whole_epsilon(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    # 1 / (1 + e**epsilon), where each of two bits may only spend half of it.
    return UnaryEncoding.flips(OPTIMIZED.q, SYMMETRIC.k).sample(x, size, rng)


def the_users_bit_is_set_twice(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    # Once in the loop over all bits, once more after it.
    views = OPTIMIZED.sample(x, size, rng)
    views[:, x] |= rng.random(size) < float(OPTIMIZED.p)
    return views


def the_flip_probability_is_cut_to_a_tenth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    flips = rng.random((size, SYMMETRIC.k)) < int(10 * SYMMETRIC.q) / 10
    return one_hot(x, SYMMETRIC.k, size) ^ flips


def only_zeros_are_randomized(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return one_hot(x, OPTIMIZED.k, size) | (rng.random((size, OPTIMIZED.k)) < float(OPTIMIZED.q))


def mutants() -> Iterator[Mutant]:
    sue, oue = UnaryEncoding.symmetric(1, k=10), UnaryEncoding.optimized(1, k=10)
    loud = UnaryEncoding.symmetric(2, k=6)
    yield Mutant("each bit spends the whole epsilon", sue, UnaryEncoding.flips(oue.q, 10))
    yield Mutant("the flips are cut to hundredths", sue, UnaryEncoding.flips(tenth(sue.q, of=100), 10))
    yield Mutant("the flips are cut to tenths", loud, UnaryEncoding.flips(tenth(loud.q), 6))
    yield Mutant("the user's bit is set in two places", oue, UnaryEncoding(10, Fraction(3, 4), oue.q), _set_twice(oue))
    yield Mutant("noise is cut to tenths", oue, UnaryEncoding(10, oue.p, tenth(oue.q)))
    yield Mutant("p of the symmetric, q of the optimized form", oue, UnaryEncoding(10, sue.p, oue.q))


def _set_twice(m: UnaryEncoding) -> Sample:
    def sample(x: int, size: int, rng: np.random.Generator) -> Views:
        views = m.sample(x, size, rng)
        views[:, x] |= rng.random(size) < float(m.p)
        return views

    return sample


ZOO = Zoo(
    small=(UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)), UnaryEncoding.symmetric(2.5, k=4),
           UnaryEncoding.optimized(0.5, k=2), UnaryEncoding(2, Fraction(9, 10), Fraction(1, 2))),
    at_one=(SYMMETRIC, UnaryEncoding.optimized(1.0, k=100)),
    broken=(
        Broken("each bit spends the whole epsilon", SYMMETRIC, each_bit_spends_the_whole_epsilon),
        Broken("the user's bit is set twice", OPTIMIZED, the_users_bit_is_set_twice),
        Broken("the flip probability is cut to a tenth", SYMMETRIC, the_flip_probability_is_cut_to_a_tenth),
        Broken("only zeros are randomized", OPTIMIZED, only_zeros_are_randomized),
    ),
    mutants=tuple(mutants()),
)
