from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms._parameters import odds
from ldpaudit.mechanisms.hashtogram import Hashtogram
from tests.zoo import Broken, Mutant, Zoo, tenth

MANY = 1 << 20
ONE = Hashtogram.for_epsilon(1.0, MANY, domain=1 << 40)


def the_coin_has_two_bits(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return Hashtogram(MANY, ONE.domain, ONE.cells, ONE.groups, Fraction(3, 4)).sample(x, size, rng)


def the_lie_is_a_fair_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = ONE.sample(x, size, rng)
    lies = rng.random(size) >= float(ONE.p)
    views[:, 1] = np.where(lies, 2 * rng.integers(0, 2, size) - 1, ONE.signs(x, views[:, 0]))
    return views


def the_coin_moves_to_another_column(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # In place of flipping the sign; what is told there is the truth.
    moved = rng.random(size) >= float(ONE.p)
    index = np.where(moved, rng.integers(0, MANY, size), ONE.index)
    return np.stack([index, ONE.signs(x, index)], axis=-1)


def mutants() -> Iterator[Mutant]:
    m = Hashtogram.for_epsilon(1, users=1 << 20, domain=1 << 40)
    yield Mutant("the coin has two bits", m, replace(m, p=Fraction(3, 4)))
    yield Mutant("the lie is a fair sign", m, replace(m, p=(1 + m.p) / 2))
    yield Mutant("p is rounded up to a tenth", m, replace(m, p=tenth(m.p, up=True)))
    yield Mutant("epsilon is spent on each of two transforms", m, replace(m, p=odds(2)))


ZOO = Zoo(
    small=(Hashtogram(MANY, 2, 2, 1, Fraction(3, 4)), Hashtogram(MANY, 23, 4, 3, Fraction(2, 3), seed=5, index=9),
           Hashtogram.for_epsilon(2.5, MANY, domain=16)),
    at_one=(ONE,),
    broken=(
        Broken("the coin has two bits", ONE, the_coin_has_two_bits),
        Broken("the lie is a fair sign", ONE, the_lie_is_a_fair_sign),
        Broken("the coin moves to another column", ONE, the_coin_moves_to_another_column),
    ),
    mutants=tuple(mutants()),
)
