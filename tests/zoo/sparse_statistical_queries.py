from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.sparse_statistical_queries import QuerySet, SparseStatisticalQueries
from tests.zoo import Broken, Zoo, blanket_lost

ONE = SparseStatisticalQueries(users=1, queries=256, k=1, changed=1, tau=4, rho=40)
DELTA = 0.11712045553340752
"""The delta of this one at epsilon = 1."""
Counts = NDArray[np.int64]


def most_of_the_blanket_is_lost(x: QuerySet, size: int, rng: np.random.Generator) -> Counts:
    (like, shares), (number, own) = ONE.groups(x)
    left = like - ONE.rho * 3 // 4
    return np.asarray(sum(rng.multinomial(n, [float(p) for p in law], size) for n, law in ((left, shares), (number, own))))


def a_query_is_sent_twice(x: QuerySet, size: int, rng: np.random.Generator) -> Counts:
    _, (number, own) = ONE.groups(x)
    return np.asarray(ONE.sample(x, size, rng) + rng.multinomial(number, [float(p) for p in own], size))


ZOO = Zoo(
    small=(
        SparseStatisticalQueries(users=1, queries=2, k=1, changed=1, tau=1, rho=3),
        SparseStatisticalQueries(users=2, queries=5, k=2, changed=1, tau=2, rho=1),
    ),
    at_one=(ONE,),
    broken=(
        Broken("most of the blanket is lost", ONE, most_of_the_blanket_is_lost),
        Broken("a query is sent twice", ONE, a_query_is_sent_twice),
    ),
    delta=DELTA,
    mutants=blanket_lost(SparseStatisticalQueries(1024, 256, k=1, changed=1, tau=10, rho=12), 0.02),
)
