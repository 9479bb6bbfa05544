from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from tests.zoo import Broken, Mutant, Zoo
from tests.zoo import range_queries as ranges

ALONE = ShuffledQuantiles(users=1, cells=4, tau=2, rho=12)
Counts = NDArray[np.int64]


def most_of_each_blanket_is_lost(x: Fraction, size: int, rng: np.random.Generator) -> Counts:
    return replace(ALONE, rho=2).sample(x, size, rng)


def a_node_is_sent_twice(x: Fraction, size: int, rng: np.random.Generator) -> Counts:
    return np.asarray(ranges.a_node_is_sent_twice(ALONE.ranges)(int(ALONE.cell([float(x)])[0]), size, rng))


def mutants() -> Iterator[Mutant]:
    cells = ShuffledQuantiles(1024, 8, tau=10, rho=12)
    yield Mutant("a quarter of each blanket is lost", cells, replace(cells, rho=9), delta=0.05)
    yield Mutant("half of each blanket is lost", cells, replace(cells, rho=6), delta=0.05)


ZOO = Zoo(
    small=(ShuffledQuantiles(users=1, cells=2, tau=1, rho=3), ShuffledQuantiles(users=2, cells=3, tau=1, rho=1)),
    at_one=(ALONE,),
    broken=(
        Broken("most of each blanket is lost", ALONE, most_of_each_blanket_is_lost),
        Broken("a node is sent twice", ALONE, a_node_is_sent_twice),
    ),
    delta=ranges.DELTA,
    mutants=tuple(mutants()),
)
