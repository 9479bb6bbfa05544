"""The black-box auditor on randomizers of known epsilon: the views that it takes to refute, over those of an oracle.

    python -m benchmarks.violations FILE [violations] [sound] [--seeds 3] [family ...]

Each line of `CASES` is a randomizer that is built twice: with a wrong parameter, which is to be refuted, and with the right one.
What the right one has is what both claim; half of the right ones claim 5 % more. Epsilon follows from the law: the probabilities,
on the two inputs that differ most, of all that a report tells of its input. The auditor gets the callable, the inputs, epsilon and
delta alone. The oracle knows the law: it counts the best event on half of its views on each input, and refutes the claim
with two Clopper-Pearson intervals at 97.5 % each; its views are the fewest that refute where both counts are as expected.
FILE has what is done, and is gone on from.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import special

from benchmarks.experiment import show
from benchmarks.known_laws import CASES, Case, Law
from ldpaudit import audit
from ldpaudit.workers.experiment import Reading

ALPHA, BUDGET, SOUND_BUDGET, MORE = 0.05, 10**6, 30_000, 1.05
MOST = 40.0  # an epsilon above this is infinite


def epsilon_of(law: Law, delta: float) -> float:
    """The least epsilon at which the hockey-stick divergence is delta at most, either way, by bisection."""
    p, q = np.array(law, dtype=float).T
    with np.errstate(divide="ignore"):
        if delta == 0:
            return float(np.abs(np.log(p[p + q > 0]) - np.log(q[p + q > 0])).max())
    low, high = 0.0, MOST
    for _ in range(60):
        middle = (low + high) / 2
        over = max(np.maximum(a - math.exp(middle) * b, 0).sum() for a, b in ((p, q), (q, p)))
        low, high = (middle, high) if over > delta else (low, middle)
    return high if high < MOST else math.inf


def oracle(law: Law, epsilon: float, delta: float) -> float:
    """Views of the best event: of those that the likelihood ratio exceeds, the one with the fewest."""
    fewest = math.inf
    for way in (1, -1):
        p, q = np.array(law, dtype=float)[:, ::way].T
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-p / np.maximum(q, 1e-300))
        p, q = np.cumsum(p[order]), np.cumsum(q[order])
        p, q = p[p - delta > math.exp(epsilon) * q], q[p - delta > math.exp(epsilon) * q]
        for n in np.unique(np.geomspace(4, 1e8, 2_000).round()) if len(p) else ():
            hits, others = p * n, q * n
            least = special.betaincinv(hits, np.maximum(n - hits, 0) + 1, ALPHA / 2)
            most = special.betaincinv(others + 1, n - others, 1 - ALPHA / 2)
            if np.any(least - delta > math.exp(epsilon) * most):
                fewest = min(fewest, 2 * n)
                break
    return fewest


def measured(case: Case, sound: int | None, seed: int) -> tuple[int, bool]:
    """Views that one audit takes, and whether it refutes the claim; of the sound one, of this number."""
    built, claim = case.build(case.wrong if sound is None else case.right), claimed(case, sound)
    function = built.make(np.random.default_rng([seed, 5]))
    found = audit(
        lambda x: function(x), inputs=list(case.inputs), epsilon=claim, delta=case.delta, seed=seed,
        trials=BUDGET if sound is None else SOUND_BUDGET, reading=Reading(support=case.support),
    )  # fmt: skip
    return found.trials, found.refutes(claim)


def claimed(case: Case, sound: int | None = None) -> float:
    """What the right one has; for each second sound claim a little more."""
    return epsilon_of(case.build(case.right).law, case.delta) * (MORE if sound is not None and sound % 2 else 1.0)


COLUMNS = "{family:20} {case:44} {claimed:7.3f} {true:7.3f} {oracle:9,} {views:9,} {ratio:6.2f} {refuted:>8}"


def violations(done: dict[str, Any], seeds: int, chosen: Sequence[Case], keep: Callable[[], None]) -> None:
    """Each violation's views over the oracle's, and what follows for each family and for all."""
    ratios: dict[str, list[float]] = defaultdict(list)
    refuted: dict[str, list[bool]] = defaultdict(list)

    def rows() -> Iterator[tuple[str | float, ...]]:
        for case in chosen:
            built, claim = case.build(case.wrong), claimed(case)
            needed = round(oracle(built.law, claim, case.delta) + built.late)
            runs = done.setdefault(f"{case.family}: {case.name}", [])
            while len(runs) < seeds:
                runs.append(measured(case, None, len(runs)))
                keep()
            views, most = median(n for n, _ in runs), sum(won for _, won in runs)
            ratios[case.family].append(views / needed if 2 * most > len(runs) else math.inf)
            refuted[case.family] += [won for _, won in runs]
            yield (case.family, case.name, claim, epsilon_of(built.law, case.delta), needed, round(views), views / needed,
                   f"{most} of {len(runs)}")  # fmt: skip

    show(COLUMNS, rows())
    print()
    everything = {**ratios, "all": [ratio for family in ratios.values() for ratio in family]}
    runs_of = {**refuted, "all": [won for family in refuted.values() for won in family]}

    def summary(family: str) -> tuple[str | float, ...]:
        found, won = everything[family], runs_of[family]
        tenth = float(np.quantile(found, 0.9, method="higher"))
        return (family, len(found), f"{sum(won)} of {len(won)}", f"{sum(map(math.isfinite, found))} of {len(found)}",
                median(found), tenth, max(found))  # fmt: skip

    columns = "{family:20} {violations:>10} {runs refuted:>13} {of violations:>14} {median:7.2f} {90 %:7.2f} {largest:8.2f}"
    show(columns, map(summary, everything))


def sound_ones(done: dict[str, Any], chosen: Sequence[tuple[int, Case]], keep: Callable[[], None]) -> None:
    """The sound claims, of which one in twenty or fewer may be refuted."""
    for number, case in chosen:
        name = f"sound, {case.family}: {case.name}"
        if name not in done:
            done[name] = measured(case, number, 0)
            keep()
        if done[name][1]:
            print(f"refuted: {name}, claimed {claimed(case, number):.4f}", flush=True)
    wrong = sum(done[f"sound, {case.family}: {case.name}"][1] for _, case in chosen)
    print(f"{wrong} of {len(chosen)} sound claims refuted")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="written after every audit, and gone on from")
    parser.add_argument("names", nargs="*", help="violations, sound, and families; all by default")
    parser.add_argument("--seeds", type=int, default=3, help="of each violation")
    given = parser.parse_intermixed_args()
    state: dict[str, Any] = json.loads(given.file.read_text(encoding="utf-8")) if given.file.exists() else {}

    def save() -> None:
        """Keep what is done."""
        given.file.write_text(json.dumps(state) + "\n", encoding="utf-8")

    asked = {*given.names} - {"violations", "sound"}
    cases = [(number, case) for number, case in enumerate(CASES) if not asked or case.family in asked]
    if "sound" not in given.names or "violations" in given.names:
        violations(state, given.seeds, [case for _, case in cases], save)
    if "violations" not in given.names or "sound" in given.names:
        sound_ones(state, cases, save)
