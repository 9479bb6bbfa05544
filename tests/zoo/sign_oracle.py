from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.sign_oracle import SignOracle
from tests.zoo import Broken, Mutant, Zoo, tenth

MANY = 1 << 20
ONE = SignOracle.for_epsilon(1.0, MANY, domain=100)
QUARTER = SignOracle.for_epsilon(Fraction(1, 4), MANY, domain=1 << 40)


def one_half_plus_epsilon_is_taken_for_epsilon(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # As the talk's slides read.
    return SignOracle.with_bias(Fraction(1, 4), MANY, QUARTER.domain).sample(x, size, rng)


def the_lie_is_a_fair_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = ONE.sample(x, size, rng)
    lies = rng.random(size) >= float(ONE.p)
    views[:, 1] = np.where(lies, 2 * rng.integers(0, 2, size) - 1, ONE.signs(x, views[:, 0]))
    return views


def bits_in_place_of_signs_are_multiplied(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # The noise is a factor, and a 0 stays 0.
    views = ONE.sample(x, size, rng)
    views[:, 1] = np.where(ONE.signs(x, views[:, 0]) > 0, views[:, 1], -1)
    return views


def mutants() -> Iterator[Mutant]:
    quarter, m = (SignOracle.for_epsilon(value, users=1 << 20, domain=100) for value in (Fraction(1, 4), 1))
    yield Mutant("1/2 + epsilon/2 for e**epsilon / (1 + e**epsilon)", quarter, replace(quarter, p=Fraction(5, 8)))
    yield Mutant("the coin has two bits", m, replace(m, p=Fraction(3, 4)))
    yield Mutant("the lie is a fair sign", m, replace(m, p=(1 + m.p) / 2))
    yield Mutant("p is rounded up to a tenth", m, replace(m, p=tenth(m.p, up=True)))


ZOO = Zoo(
    small=(SignOracle.warm_up(Fraction(1, 4), MANY), SignOracle.for_epsilon(2.5, MANY, domain=7),
           SignOracle(MANY, 12, Fraction(3, 5), seed=4, index=77)),
    at_one=(ONE,),
    broken=(
        Broken("1/2 + epsilon is taken for epsilon", QUARTER, one_half_plus_epsilon_is_taken_for_epsilon),
        Broken("the lie is a fair sign", ONE, the_lie_is_a_fair_sign),
        Broken("bits in place of signs are multiplied", ONE, bits_in_place_of_signs_are_multiplied),
    ),
    mutants=tuple(mutants()),
)
