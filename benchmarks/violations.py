"""The black-box auditor on randomizers of known epsilon: the views that it takes to refute, over those of an oracle.

    python -m benchmarks.violations FILE [violations] [sound] [--seeds 3] [family ...]

Each line of `CASES` is a randomizer that is built twice: with a wrong parameter, which is to be refuted, and with the right one.
What the right one has is what both claim; half of the right ones claim 5 % more. Epsilon follows from the law: the probabilities,
on the two inputs that differ most, of all that a report tells of its input. The auditor gets the callable, the inputs, epsilon and
delta alone. The oracle knows the law: it counts the best event on half of its views on each input, and refutes the claim
with two Clopper-Pearson intervals at 97.5 % each; its views are the fewest that refute where both counts are as expected.
FILE has what is done, and is gone on from.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import special

from benchmarks.experiment import show
from benchmarks.known_laws import (
    WORDS,
    Built,
    Law,
    added,
    binomial,
    black_pixel,
    coded,
    cut_geometric,
    first_of,
    hashed,
    hashing,
    image,
    kary,
    laplace,
    later,
    leak,
    low_bit,
    normal,
    one_of_many,
    optimized,
    pair_of_many,
    plain,
    rounded,
    rr,
    shuffled,
    stocked,
    subset,
    symmetric,
    told,
    two_bits,
    two_entries,
    two_in_order,
    unary,
    users,
    with_word,
    words,
)
from ldpaudit import audit
from ldpaudit.workers.experiment import Reading

ALPHA, BUDGET, SOUND_BUDGET, MORE = 0.05, 10**6, 30_000, 1.05
MOST = 40.0  # an epsilon above this is infinite


@dataclass(frozen=True)
class Case:
    """A randomizer with a wrong parameter and with the right one."""

    family: str
    name: str
    build: Callable[[Any], Built]
    wrong: Any
    right: Any
    delta: float = 0.0
    inputs: Sequence[Any] = (0, 1)
    support: Callable[[Any, Any], bool] | None = None


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


CASES = (
    Case("randomized response", "epsilon is spent twice", kary(2), 2.0, 1.0),
    Case("randomized response", "a tenth more", kary(2), 1.1, 1.0),
    Case("randomized response", "of three values, and there are four", kary(4), 1 + math.log(3 / 2), 1.0),
    Case("randomized response", "epsilon 2.5 for 2, of ten words", kary(10, lambda v: WORDS[v]), 2.5, 2.0),
    Case("randomized response", "of a hundred", kary(100), 2.0, 1.0),
    Case("unary", "symmetric, of ten", unary(10, lambda b: b.astype(int).tolist()), symmetric(1.5), symmetric(1.0)),
    Case("unary", "optimized, an array of fifty", unary(50, lambda b: b.astype(np.int8)), optimized(1.5), optimized(1.0)),
    Case("unary", "each bit spends all", unary(6, lambda b: b.tolist()), symmetric(2.0), symmetric(1.0)),
    Case("unary", "packed bytes of 64", unary(64, lambda b: np.packbits(b).tobytes()), optimized(1.6), optimized(1.0)),
    Case("unary", "the ones of 200", unary(200, lambda b: np.flatnonzero(b).tolist()), optimized(2.0), optimized(1.0)),
    Case("hashing", "to four", hashing(4), 1.6, 1.0, support=lambda y, x: hashed(y[0], x, 4) == y[1]),
    Case("hashing", "to two", hashing(2), 1.5, 1.0, support=lambda y, x: hashed(y[0], x, 2) == y[1]),
    Case("hashing", "to sixteen, as text", hashing(16, lambda s, v: f"{s}:{v}"), 2.5, 2.0,
         support=lambda y, x: hashed(y.split(":")[0], x, 16) == int(y.split(":")[1])),
    Case("subsets", "5 of 20, lists", subset(20, 5, list), 1.6, 1.0),
    Case("subsets", "4 of 12, sets", subset(12, 4, frozenset), 1.5, 1.0),
    Case("subsets", "50 of 180, sorted arrays", subset(180, 50, np.array), 1.8, 1.0),
    Case("subsets", "a text of 3 of 9", subset(9, 3, lambda s: ",".join(map(str, s))), 1.5, 1.0),
    Case("Laplace", "a tenth less noise", added(lambda r, b: r.laplace(0, b), laplace), 1 / 1.1, 1.0),
    Case("Laplace", "the scale is the deviation", added(lambda r, b: r.laplace(0, b), laplace), 0.5**0.5, 1.0),
    Case("Laplace", "on a grid of quarters",
         added(lambda r, b: r.laplace(0, b), laplace, lambda y: round(4 * y) / 4), 0.8, 1.0),
    Case("Laplace", "a histogram, one entry for two",
         added(lambda r, b: r.laplace(0, b, 4), two_entries, at=lambda x: np.eye(4)[x]), 1.4, 2.0),
    Case("Laplace", "a vector of which one entry tells",
         added(lambda r, b: r.laplace(0, b, 12), laplace, lambda y: np.array(rounded(y)), lambda x: np.eye(12)[7] * x), 0.75, 1.0),
    Case("Gaussian", "an eighth less noise", added(lambda r, b: r.normal(0, b), normal), 1.5 / 1.125, 1.5, 1e-2),
    Case("Gaussian", "half of the noise", added(lambda r, b: r.normal(0, b), normal), 1.0, 2.0, 1e-5),
    Case("Gaussian", "a vector of eight, the norm of one entry",
         added(lambda r, b: r.normal(0, b, 8), normal, at=lambda x: np.full(8, x / math.sqrt(8))), 1.2, 2.4, 1e-3),
    Case("Gaussian", "rounded to tenths", added(lambda r, b: r.normal(0, b), normal, lambda y: round(y, 1)), 1.1, 1.5, 1e-3),
    Case("delta", "a leak five times delta", coded(plain), leak(0.05), leak(0.01), 1e-2),
    Case("delta", "epsilon is spent twice", coded(plain), rr(2.0), rr(1.0), 1e-6),
    Case("delta", "noise is cut too early", cut_geometric, 2, 4, 1e-2),
    Case("delta", "binomial noise of too few coins", binomial, 10, 40, 1e-3),
    Case("rare leaks", "1e-2", coded(plain), leak(1e-2), rr(1.0)),
    Case("rare leaks", "1e-2, a word in a text", coded(with_word), (*told(1e-2, 0.0)[:2], (0.99, 0.99)), told(1e-2, 1e-2 / math.e)),
    Case("rare leaks", "3e-3, a list with one more", coded(lambda s, r, _: [s % 2] * (1 + s // 2)), leak(3e-3), rr(1.0)),
    Case("rare leaks", "1e-3, a sign", coded(lambda s, r, _: s if s < 2 else 1 - s), leak(1e-3), rr(1.0)),
    Case("rare leaks", "3e-4, a field", coded(lambda s, r, _: {"v": s} if s < 2 else {"v": 0, "x": s}), leak(3e-4), rr(1.0)),
    Case("rare leaks", "1e-4", coded(plain), leak(1e-4), rr(1.0)),
    Case("order", "the first of a list", coded(first_of), rr(1.6), rr(1.0)),
    Case("order", "two of six", coded(two_in_order), rr(1.6), rr(1.0)),
    Case("order", "keys", coded(lambda s, r, _: dict(sorted({"a": int(r.integers(9)), "b": 1}.items(), reverse=bool(s)))),
         rr(2.0), rr(1.0)),
    Case("types", "numpy's integers", coded(lambda s, r, _: (int, np.int64)[s](r.integers(4))), rr(1.6), rr(1.0)),
    Case("types", "lists and tuples", coded(lambda s, r, _: (list, tuple)[s](r.random(3).tolist())), rr(2.0), rr(1.0)),
    Case("types", "decimals", coded(lambda s, r, _: {"n": int(r.integers(9)), "d": Decimal(("1.5", "1.50")[s])}), rr(1.5), rr(1.0)),
    Case("lengths", "parity of a list's", coded(lambda s, r, _: r.integers(0, 9, 2 * int(r.integers(2, 60)) + s).tolist()),
         rr(1.6), rr(1.0)),
    Case("lengths", "a space at a text's end", coded(lambda s, r, _: " ".join(words(r)) + " " * s), rr(2.0), rr(1.0)),
    Case("lengths", "bytes", coded(lambda s, r, _: r.bytes(30 + (int(r.integers(3)) + 3 * s))), rr(1.5), rr(1.0)),
    Case("images", "a low bit of 256 pixels", coded(image(16, low_bit)), rr(1.8), rr(1.0)),
    Case("images", "two pixels' low bits", coded(image(8, two_bits)), rr(1.8), rr(1.0)),
    Case("images", "where a pixel is black", coded(image(8, black_pixel)), told(0.5, 0.05), told(0.3, 0.3 / math.e)),
    Case("text", "a word anywhere", coded(with_word), told(0.4, 0.05), told(0.3, 0.3 / math.e)),
    Case("text", "parity of a hexadecimal", coded(lambda s, r, _: f"{2 * int(r.integers(1 << 31)) + s:08x}"), rr(1.6), rr(1.0)),
    Case("text", "a number after a key",
         coded(lambda s, r, _: f"user={r.integers(1 << 40)};v={s};w={r.random():.3f}"), rr(1.6), rr(1.0)),
    Case("JSON", "a row of users", coded(users), told(0.4, 0.05), told(0.3, 0.3 / math.e)),
    Case("JSON", "a value beside an id",
         coded(lambda s, r, _: json.dumps({"id": int(r.integers(1 << 50)), "tags": words(r), "v": s})), rr(1.6), rr(1.0)),
    Case("shuffled lists", "not shuffled", shuffled(100, list, 1.0), True, False, 1e-3),
    Case("shuffled lists", "not shuffled, as text", shuffled(300, lambda v: "".join(map(str, v)), 2.0), True, False, 1e-2),
    Case("state", "another code each 2,000 calls", coded(lambda s, r, n: 7 * (n // 2_000) + s), rr(1.6), rr(1.0)),
    Case("state", "from the 5,000th call on", later, 3.0, 1.0),
    Case("state", "sixteen noises", stocked, 16, 0),
    Case("many inputs", "one of thirty", one_of_many, 0.3, 0.0, inputs=range(30)),
    Case("many inputs", "two of twenty", pair_of_many, 0.85, float(special.expit(1.0)), inputs=range(20)),
)


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
