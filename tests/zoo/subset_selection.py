from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shared.coins import uniform_subset
from ldpaudit.mechanisms.shared.parameters import odds
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from tests.zoo import Broken, Mutant, Sample, Zoo, tenth

TEN = SubsetSelection.optimal(1.0, k=10)
HUNDRED = SubsetSelection.optimal(1.0, k=100)


def the_lie_may_contain_the_truth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    truth = SubsetSelection(TEN.k, TEN.d, 1 - Fraction(1, 10**9)).sample(x, size, rng)
    anything = uniform_subset(TEN.k, TEN.d, size, rng)
    return np.where(rng.random((size, 1)) < float(TEN.p), truth, anything)


def the_subset_is_one_short(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    return SubsetSelection(TEN.k, TEN.d - 1, TEN.p).sample(x, size, rng)


def the_others_are_drawn_with_replacement(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    inside = rng.random(size) < float(TEN.p)
    views = np.zeros((size, TEN.k), dtype=np.bool_)
    views[:, x] = inside
    for step in range(TEN.d):
        other = rng.integers(0, TEN.k - 1, size)
        other += other >= x
        views[np.arange(size), np.where(inside & (step == 0), x, other)] = True
    return views


def mutants() -> Iterator[Mutant]:
    ten = SubsetSelection.optimal(1, k=10)
    yield Mutant("the subset is one short", ten, SubsetSelection(10, ten.d - 1, ten.p))
    lucky = ten.p + (1 - ten.p) * Fraction(ten.d, 10)
    yield Mutant("the lie may contain the truth", ten, SubsetSelection(10, ten.d, lucky), _any_subset(ten))
    yield Mutant("p is rounded up to a tenth", ten, SubsetSelection(10, ten.d, tenth(ten.p, up=True)))
    yield Mutant("p counts one value less", ten, SubsetSelection(10, ten.d, odds(1, Fraction(9 - ten.d, ten.d))))


def _any_subset(m: SubsetSelection) -> Sample:
    def sample(x: int, size: int, rng: np.random.Generator) -> Views:
        honest = SubsetSelection(m.k, m.d, 1 - Fraction(1, 2**60)).sample(x, size, rng)
        return np.where(rng.random((size, 1)) < float(m.p), honest, uniform_subset(m.k, m.d, size, rng))

    return sample


ZOO = Zoo(
    small=(SubsetSelection(2, 1, Fraction(3, 4)), SubsetSelection.for_epsilon(2.5, k=7, d=3),
           SubsetSelection(6, 5, Fraction(15, 16))),
    at_one=(TEN, HUNDRED),
    broken=(
        Broken("the lie may contain the truth", TEN, the_lie_may_contain_the_truth),
        Broken("the subset is one short", TEN, the_subset_is_one_short),
        Broken("the others are drawn with replacement", TEN, the_others_are_drawn_with_replacement),
    ),
    mutants=tuple(mutants()),
)
