"""How much of the exact epsilon the attacks on shuffled systems find at ten thousand users.

    python -m benchmarks.shuffled_attacks [name of a system ...]

Each system keeps (1, delta) with about the least noise, where delta is at least 1e-4, so that samples can show it. A line is
the epsilon that is certified, from both sides; the bound of an audit with the default budget at confidence 0.95, and its
share of the lower end; and the same from as many views without statistical doubt, by the audit's own score: what is missing
there is the attack's fault, the rest is the budget's.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

from ldpaudit import account, audit
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.rappor import Rappor
from ldpaudit.mechanisms.sampled_answer import SampledAnswer
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Plan, Shuffle

USERS, TRIALS = 10_000, 10**7
SYSTEMS: dict[str, tuple[Mechanism | Plan, float]] = {
    "shuffled_hadamard": (ShuffledHadamard(USERS, 64, tau=14, rho=36, k=1), 1e-3),
    "shuffled_count_min": (ShuffledCountMin(USERS, 64, rows=4, buckets=256, gamma=Fraction(1, 100)), 1e-2),
    "shuffled_binary_sums": (ShuffledBinarySums(USERS, 64, gamma=Fraction(1, 400)), 1e-3),
    "range_queries": (RangeQueries(USERS, 16, tau=14, rho=120), 1e-3),
    "range_queries:hadamard": (HadamardRangeQueries(USERS, 16, tau=14, rho=60), 1e-2),
    "range_queries:count-min": (CountMinRangeQueries(USERS, 16, rows=2, buckets=256, gamma=Fraction(1, 50)), 1e-2),
    "shuffled_heavy_hitters": (ShuffledHeavyHitters(USERS, 16, tau=14, rho=120, threshold=500), 1e-3),
    "shuffled_quantiles": (ShuffledQuantiles(USERS, 16, tau=14, rho=120), 1e-3),
    "sparse_statistical_queries": (SparseStatisticalQueries(USERS, 64, k=2, changed=2, tau=14, rho=60), 1e-2),
    "shuffled_selection": (ShuffledSelection(USERS, 64, coins=1), 1e-4),
    "Shuffle(sampled_answer)": (Shuffle(SampledAnswer(64, Fraction(1, 200)), USERS), 1e-3),
    "Shuffle(randomized_response), k = 2": (Shuffle(KaryRandomizedResponse.with_uniform_draw(Fraction(1, 200), 2), USERS), 1e-3),
    "Shuffle(randomized_response), k = 16": (Shuffle(KaryRandomizedResponse.with_uniform_draw(Fraction(1, 30), 16), USERS), 1e-3),
    "Shuffle(unary_encoding)": (Shuffle(UnaryEncoding.flips(Fraction(1, 20), 16), USERS), 1e-3),
    "Shuffle(rappor)": (Shuffle(Rappor(8, 1, Fraction(1, 4), Fraction(1, 100), Fraction(99, 100), domain=8), USERS), 1e-3),
}


def row(name: str, trials: int = TRIALS, seed: int = 1) -> str:
    """The line of a system."""
    system, delta = SYSTEMS[name]
    exact = account(system).epsilon(delta)
    start = time.perf_counter()
    found = audit(system, epsilon=exact.high, delta=delta, trials=trials, seed=seed)
    took = time.perf_counter() - start
    share = found.epsilon_lower / exact.low if exact.low else float("nan")
    return f"{name:38} {delta:8.0e} {exact.low:9.5f} {exact.high:9.5f} {found.epsilon_lower:9.5f} {share:6.3f} {took:6.1f} s {found.trials:,}"


if __name__ == "__main__":
    print(f"{'system':38} {'delta':>8} {'at least':>9} {'at most':>9} {'audited':>9} {'share':>6}")
    for each in sys.argv[1:] or SYSTEMS:
        print(row(each), flush=True)
