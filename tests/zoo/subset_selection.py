from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shared.coins import uniform_subset
from ldpaudit.mechanisms.shared.parameters import odds
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from tests.zoo import Broken, Mutant, Refusal, Zoo, broken, mutant, rounded_up

TEN = SubsetSelection.optimal(1.0, k=10)
HUNDRED = SubsetSelection.optimal(1.0, k=100)


def the_lie_may_contain_the_truth(x: int, size: int, rng: np.random.Generator) -> Views:
    honest = replace(TEN, p=1 - Fraction(1, 2**60)).sample(x, size, rng)
    return np.where(rng.random((size, 1)) < float(TEN.p), honest, uniform_subset(TEN.k, TEN.d, size, rng))


def the_others_are_drawn_with_replacement(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    inside = rng.random(size) < float(TEN.p)
    views = np.zeros((size, TEN.k), dtype=np.bool_)
    views[:, x] = inside
    for step in range(TEN.d):
        other = rng.integers(0, TEN.k - 1, size)
        other += other >= x
        views[np.arange(size), np.where(inside & (step == 0), x, other)] = True
    return views


ZOO = Zoo(
    small=(SubsetSelection(2, 1, Fraction(3, 4)), SubsetSelection.for_epsilon(2.5, k=7, d=3),
           SubsetSelection(6, 5, Fraction(15, 16))),
    at_one=(TEN, HUNDRED),
    broken=(
        Broken("the lie may contain the truth", TEN, the_lie_may_contain_the_truth),
        broken("the subset is one short", TEN, d=TEN.d - 1),
        Broken("the others are drawn with replacement", TEN, the_others_are_drawn_with_replacement),
    ),
    refused=(
        *(Refusal("needs", partial(SubsetSelection, k, d, Fraction(p))) for k, d, p in (
            (1, 1, "9/10"), (4, 0, "9/10"), (4, 4, 1), (4, 2, "2/5"), (4, 2, 1))),
    ),
    mutants=(
        mutant("the subset is one short", TEN, d=TEN.d - 1),
        Mutant("the lie may contain the truth", TEN, replace(TEN, p=TEN.p + (1 - TEN.p) * Fraction(TEN.d, 10)),
               the_lie_may_contain_the_truth),
        rounded_up(TEN),
        mutant("p counts one value less", TEN, p=odds(1, Fraction(9 - TEN.d, TEN.d))),
    ),
)  # fmt: skip
