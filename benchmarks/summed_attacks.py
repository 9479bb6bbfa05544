"""How much of the certified epsilon the attacks on sums find among ten thousand users, where samples can show delta.

    python -m benchmarks.summed_attacks [name of a system ...] [--deltas 1e-2 1e-3 1e-4] [--trials 10000000]

Of each delta: the epsilon that is certified from below, the bound of a fixed audit at confidence 0.95, and its share. A system is
played on the accountant's witness where there is one, as `certify` does; else on the data sets of its own attack.
"""

from fractions import Fraction
from typing import Any

from benchmarks.experiment import options, show
from ldpaudit import Aggregate, Enclosure, Mechanism, Plan, Repeat, account, audit
from ldpaudit.evidence import Evidence, Mode
from ldpaudit.mechanisms import BinomialNoise, DiscreteLaplace, GaussianReport, Laplace, PolyaNoise, Skellam, UnaryEncoding
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.subset_selection import SubsetSelection

F = Fraction
USERS, TRIALS = 10**4, 10**7
DELTAS = (1e-2, 1e-3, 1e-4)
FLIPS, ONE_HOT = UnaryEncoding.flips(F(1, 150), 8), KaryRandomizedResponse(4, F(149, 150))
NOISES: dict[str, tuple[Any, ...]] = {
    "discrete Laplace": (DiscreteLaplace(F(9, 10)),),
    "discrete Gaussian": (DiscreteGaussian(F(85402, 10000)),),
    "Skellam": (Skellam(F(80)),),
    "binomial": (BinomialNoise(300),),
    "rounded Gaussian": (RoundedGaussian(F(8)),),
    "two noises": (DiscreteGaussian(F(8)), DiscreteLaplace(F(4, 5))),
    "Polya": (PolyaNoise(F(9, 10), F(1, 2)),),
    "three of four shares": (DiscreteGaussian(F(8)).of_shares(3, 4),),
}
MECHANISMS: dict[str, Mechanism] = {
    "bits": FLIPS,
    "optimized bits": UnaryEncoding(8, F(1, 2), F(1, 150)),
    "one-hot": ONE_HOT,
    "subsets": SubsetSelection(200, 2, F(149, 150)),
    "RAPPOR, memoized bits": PermanentRappor(16, 2, F(1, 50)),
    "RAPPOR, two reports": Rappor(8, 1, F(1, 50), F(1, 1000), F(999, 1000), 2, domain=8),
    "geometric": Geometric(100, F(1, 2)),
    "Laplace": Laplace(F(1, 100)),
    "Gaussian": GaussianReport(F(1, 100)),
    "truncated integers": TruncatedGeometric(10, F(1, 10)),
}
SYSTEMS: dict[str, Plan] = {
    **{name: Aggregate(m, USERS) for name, m in MECHANISMS.items()},
    **{f"bits + {name}": Aggregate(FLIPS, USERS, noise) for name, noise in NOISES.items()},
    "one-hot + discrete Laplace": Aggregate(ONE_HOT, USERS, NOISES["discrete Laplace"]),
    "geometric + discrete Laplace": Aggregate(MECHANISMS["geometric"], USERS, [DiscreteLaplace(F(99, 100))]),
    "bits, two rounds": Repeat(Aggregate(FLIPS, USERS), 2),
}


def measured(plan: Plan | Mechanism, delta: float, trials: int = TRIALS, seed: int = 1) -> tuple[Enclosure, Evidence]:
    """The certified epsilon of a system, and the audit's evidence."""
    profile = account(plan)
    exact = profile.epsilon(delta)
    witness = None if isinstance(plan, Mechanism) else profile.witness(exact.low)
    return exact, audit(plan, delta=delta, trials=trials, seed=seed, mode=Mode.FIXED, witness=witness)


def row(name: str, plan: Plan | Mechanism, delta: float, trials: int) -> tuple[str | float, ...]:
    """A line of the table."""
    exact, found = measured(plan, delta, trials)
    return name, delta, exact.low, exact.high, found.epsilon_lower, found.epsilon_lower / exact.low, found.trials


COLUMNS = "{system:38} {delta:8.0e} {at least:9.5f} {at most:9.5f} {audited:9.5f} {share:6.3f} {views:,}"

if __name__ == "__main__":
    given = options(__doc__, SYSTEMS, deltas=list(DELTAS), trials=TRIALS)
    show(COLUMNS, (row(each, SYSTEMS[each], delta, given.trials) for each in given.names or SYSTEMS for delta in given.deltas))
