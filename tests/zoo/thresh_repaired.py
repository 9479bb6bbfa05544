from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms._thresh_pair import Play
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from tests.zoo import Broken, Mutant, Zoo
from tests.zoo.thresh import anywhere

SIX = ThreshRepaired(4_400, epochs=6, rounds=4_200, epsilon=Fraction(11, 5), delta=Fraction(269, 5932), smallest=4_400)


def the_counter_is_checked_before_it_grows(x: Play, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    # As printed.
    return Thresh(**{field.name: getattr(SIX, field.name) for field in fields(SIX)}).sample(x, size, rng)


def only_yes_votes_are_randomized(x: Play, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    views = SIX.sample(x, size, rng)
    for place, p in enumerate(SIX.chances(x)):
        if place % 2 == 0 and p < Fraction(1, 2):
            views[:, place] = 0
    return views


def mutants() -> Iterator[Mutant]:
    yield Mutant("epsilon is half again", SIX, replace(SIX, epsilon=SIX.epsilon * Fraction(3, 2)))
    yield Mutant("the counter is checked before it grows", SIX, _printed(SIX))


def _printed(m: ThreshRepaired) -> Thresh:
    return Thresh(**{field.name: getattr(m, field.name) for field in fields(m)})


ZOO = Zoo(
    small=(
        ThreshRepaired(4_000, epochs=4, rounds=3_000, epsilon=Fraction(3), delta=Fraction(1, 20), smallest=4_000),
        ThreshRepaired(4_000, 4, rounds=200, epsilon=Fraction(2), delta=Fraction(1, 20), smallest=4_000, start=0),
        # Nobody ever votes: a > epsilon / 4.
        ThreshRepaired(1_000, epochs=3, rounds=200, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=1_000),
    ),
    at_one=(SIX,),
    broken=(
        Broken("the counter is checked before it grows", SIX, the_counter_is_checked_before_it_grows),
        Broken("only yes votes are randomized", SIX, only_yes_votes_are_randomized),
    ),
    mutants=tuple(mutants()),
    anywhere=anywhere(ThreshRepaired),
)
