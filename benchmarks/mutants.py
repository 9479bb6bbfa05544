"""Realistic mistakes, one or two numbers away from what is declared: each must be refuted within a minute.

    python -m benchmarks.mutants [stem ...]

They stand in tests/zoo, one file per stem. The code's true epsilon is exact, by the law of what the code does.
"""

import time
from typing import Any

from benchmarks.experiment import options, show
from ldpaudit import audit
from tests.zoo import MUTANTS, STEMS

BUDGET = 50_000_000  # most views of one audit; a sequential audit stops where it knows
SECONDS = 60.0  # in which each mutant must be refuted
COLUMNS = "{stem:20} {mistake:52} {claimed:8.4f} {true:8.4f} {ratio:6.3f} {bound:8.4f} {views:12,} {seconds:8.1f}{}"


def row(m: Any) -> tuple[str | float, ...]:
    """The audit of one mistake; the last cell is empty where it was refuted in time."""
    start, claimed, truth = time.perf_counter(), m.claimed, m.truth
    code = m.sample or m.runs
    found = audit(m.declared, epsilon=claimed, delta=m.delta, implementation=code, trials=BUDGET, seed=1)
    took = time.perf_counter() - start
    said = "" if found.epsilon_lower > claimed and took <= SECONDS else "  NOT REFUTED"
    return m.stem, m.mistake, claimed, truth, truth / claimed, found.epsilon_lower, found.trials, took, said


if __name__ == "__main__":
    wanted = options(__doc__, STEMS).names or STEMS
    rows = show(COLUMNS, (row(m) for m in MUTANTS if m.stem in wanted))
    print(f"{sum(not each[-1] for each in rows)} of {len(rows)} refuted within {SECONDS:g} s each")
