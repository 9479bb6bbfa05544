from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ldpaudit.accountants.range_queries import for_privacy
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from tests.zoo import Broken, Refusal, Sample, Zoo, blanket_lost, broken, mutant, no_data, no_inputs

ALONE = RangeQueries(users=1, side=4, tau=2, rho=12)
SHARED = HadamardRangeQueries(users=1024, side=2, tau=40, rho=2469077908)
SKETCH = CountMinRangeQueries(users=24, side=4, rows=1, buckets=200, gamma=Fraction(1323394971, 8589934592))
THREE = RangeQueries(3, 4, 2, 2)
DELTA = 0.14799773394948315
"""The delta of two oracles with 12 blanket messages each, a quarter of which are hits, at epsilon = 1."""


def own_messages_are_sent_twice(m: Any) -> Sample:
    def sample(x: Any, size: int, rng: np.random.Generator) -> Views:
        _, (number, shares), *_ = m.groups(x)
        again = rng.multinomial(number, [float(p) for p in shares], (size, getattr(m, "oracles", 1)))
        return m.sample(x, size, rng) + again.reshape(size, -1)

    return sample


def a_blanket_message_has_two_indices_more(x: int, size: int, rng: np.random.Generator) -> Views:
    longer = [float(p) for p in replace(ALONE, tau=ALONE.tau + 2).shares[0]]
    blanket = rng.multinomial(ALONE.users * ALONE.rho, longer, (size, ALONE.oracles))
    _, (number, shares), *_ = ALONE.groups(x)
    own = rng.multinomial(number, [float(p) for p in shares], (size, ALONE.oracles))
    return np.asarray((blanket + own).reshape(size, -1), dtype=np.int64)


def all_users_toss_the_same_coins(x: int, size: int, rng: np.random.Generator) -> Views:
    own = np.array(SKETCH.columns(x))
    return np.asarray(SKETCH.users * (rng.random((size, len(own))) < float(SKETCH.gamma)) + own)


ZOO = Zoo(
    small=(
        RangeQueries(users=1, side=2, tau=1, rho=3),
        RangeQueries(users=3, side=2, tau=2, rho=1),
        RangeQueries(users=1, side=3, tau=1, rho=2),
        HadamardRangeQueries(users=1, side=2, tau=1, rho=3),
        HadamardRangeQueries(users=2, side=4, tau=2, rho=1),
        CountMinRangeQueries(3, side=2, rows=1, buckets=30, gamma=Fraction(1, 3)),
        CountMinRangeQueries(3, side=4, rows=1, buckets=50, gamma=Fraction(1, 4)),
    ),
    at_one=(ALONE, SHARED, SKETCH),
    broken=(
        broken("most of each blanket is lost", ALONE, rho=2),
        Broken("a node is sent twice", ALONE, own_messages_are_sent_twice(ALONE)),
        Broken("a blanket message has two indices more", ALONE, a_blanket_message_has_two_indices_more),
        broken("most of the blanket is lost", SHARED, rho=SHARED.rho // 8),
        Broken("a node is sent twice", SHARED, own_messages_are_sent_twice(SHARED)),
        broken("half of the coins are lost", SKETCH, gamma=SKETCH.gamma / 2),
        Broken("all users toss the same coins", SKETCH, all_users_toss_the_same_coins),
        Broken("a value is sent twice", SKETCH, lambda x, size, rng: SKETCH.sample(x, size, rng) + SKETCH.columns(x)),
    ),
    delta=DELTA,
    refused=(
        Refusal("side", lambda: RangeQueries(3, 1, 2, 2)),
        Refusal(r"side\*\*dimensions", lambda: RangeQueries(3, 1 << 21, 2, 2, 2)),
        Refusal("tau", lambda: HadamardRangeQueries(3, 4, 0, 2)),
        Refusal("gamma", lambda: CountMinRangeQueries(3, 4, 1, 5, Fraction(1))),
        Refusal("users >= 1", lambda: HadamardRangeQueries.as_printed(1, 1e-6, 0, 4)),
        Refusal("need epsilon > 0 and delta > 0", lambda: for_privacy(1, 0, 100, 4)),
        Refusal("side", lambda: for_privacy(1, Fraction(1, 100), 100, 1)),
        Refusal("out of reach", lambda: for_privacy(Fraction(1, 10**9), Fraction(1, 10**9), 2, 4)),
        Refusal("beta", lambda: CountMinRangeQueries.as_printed(1, 1e-6, 10**8, 4, 2)),
        *no_inputs("input among", THREE, 2), *no_data(r"range\(4\)", THREE, [4]), *no_data("at least one user", THREE, []),
        Refusal("first <= last", lambda: THREE.query(np.zeros(4), [(2, 1)])),
        Refusal("shape", lambda: THREE.query(np.zeros(4), [1, 2])),
        *no_data("3 users", CountMinRangeQueries(3, 4, 1, 5, Fraction(1, 2)), [1]),
    ),
    mutants=(
        *blanket_lost(RangeQueries(1024, 8, tau=10, rho=12), 0.05, "each blanket"),
        mutant("half of the coins are lost", CountMinRangeQueries(400, 4, 1, 2000, Fraction(1, 10)), 0.01, gamma=Fraction(1, 20)),
    ),
)
