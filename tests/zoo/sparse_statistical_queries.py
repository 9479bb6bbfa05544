from dataclasses import replace

import numpy as np

from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from tests.zoo import Broken, Refusal, Zoo, blanket_lost, broken, no_data, refusals
from tests.zoo.range_queries import own_messages_are_sent_twice

ONE = SparseStatisticalQueries(users=1, queries=256, k=1, changed=1, tau=4, rho=40)
FOUR = SparseStatisticalQueries(3, 4, 2, 2, 2, 2)
DELTA = 0.11712045553340752
"""The delta of this one at epsilon = 1."""


ZOO = Zoo(
    small=(
        SparseStatisticalQueries(users=1, queries=2, k=1, changed=1, tau=1, rho=3),
        SparseStatisticalQueries(users=2, queries=5, k=2, changed=1, tau=2, rho=1),
    ),
    at_one=(ONE,),
    broken=(
        broken("most of the blanket is lost", ONE, rho=ONE.rho // 4),
        Broken("a query is sent twice", ONE, own_messages_are_sent_twice(ONE)),
    ),
    refused=(
        Refusal("queries", lambda: SparseStatisticalQueries(3, 1, 1, 1, 2, 2)),
        *refusals("1 <= k <= 4", FOUR, k=[5]), *refusals("1 <= changed <= 2", FOUR, changed=[3]),
        *no_data("at most 2 different", FOUR, [(0, 1, 2)], [(1, 1)]), *no_data("below 4", FOUR, [(4,)]),
        *no_data("at least one user", FOUR, []),
        Refusal("each of 3 users", lambda: FOUR.answer([(0,)], [0], np.random.default_rng(0))),
        Refusal(r"range\(1\)", lambda: replace(FOUR, users=1).answer([(0,)], [1], np.random.default_rng(0))),
    ),
    delta=DELTA,
    mutants=blanket_lost(SparseStatisticalQueries(1024, 256, k=1, changed=1, tau=10, rho=12), 0.02),
)
