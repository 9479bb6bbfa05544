"""How much of the exact epsilon the attacks on shuffled systems find at ten thousand users: as `summed_attacks` of sums.

    python -m benchmarks.shuffled_attacks [name of a system ...]

At a delta of 1e-4 or more, so that samples can show it. A line is the epsilon that is certified, from both sides; the bound of a
fixed audit at confidence 0.95, which looks at all of its views once, and its share of the lower end; and the views. A sequential
audit, which may stop at any time, shows less: it settles early how it counts delta. A shuffled plan is played on the accountant's
witness, as `certify` does: the data sets and the event are its choice, the bound is the samples'. Without it k = 2 shows 0.79
to 0.94 of epsilon, by the seed: an event is chosen from a part of the views, and the best one is rare.
"""

from fractions import Fraction

from benchmarks.experiment import options, show
from benchmarks.summed_attacks import COLUMNS, USERS, row
from ldpaudit import Mechanism, Plan, Shuffle
from ldpaudit.mechanisms import Rappor, SampledAnswer, ShuffledCountMin, ShuffledHadamard, ShuffledQuantiles, UnaryEncoding
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries

TRIALS = 4 * 10**6
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


if __name__ == "__main__":
    show(COLUMNS, (row(name, *SYSTEMS[name], TRIALS) for name in options(__doc__, SYSTEMS).names or SYSTEMS))
