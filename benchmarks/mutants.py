"""Realistic mistakes, one or two numbers away from what is declared: each must be refuted within a minute.

    python -m benchmarks.mutants [stem ...]

They stand in tests/zoo, one file per stem. The code's true epsilon is exact, by the law of what the code does.
"""

from __future__ import annotations

import sys
import time

from ldpaudit import audit
from tests.zoo import MUTANTS

BUDGET = 50_000_000
"""Most views of one audit; a sequential audit stops where it knows."""
SECONDS = 60.0
"""In which each mutant must be refuted."""


def main(wanted: list[str]) -> None:
    """Audit each; print the table."""
    chosen = [m for m in MUTANTS if not wanted or m.stem in wanted]
    print(f"{'stem':20} {'mistake':52} {'claimed':>8} {'true':>8} {'ratio':>6} {'bound':>8} {'views':>12} {'seconds':>8}")
    missed = 0
    for m in chosen:
        start, claimed, truth = time.perf_counter(), m.claimed, m.truth
        code = m.sample or m.runs
        found = audit(m.declared, epsilon=claimed, delta=m.delta, implementation=code, trials=BUDGET, seed=1)
        took = time.perf_counter() - start
        refuted = found.epsilon_lower > claimed and took <= SECONDS
        missed += not refuted
        print(f"{m.stem:20} {m.mistake:52} {claimed:8.4f} {truth:8.4f} {truth / claimed:6.3f} {found.epsilon_lower:8.4f} "
              f"{found.trials:12,} {took:8.1f}{'' if refuted else '  NOT REFUTED'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} refuted within {SECONDS:g} s each")


if __name__ == "__main__":
    main(sys.argv[1:])
