"""How often a true claim is refuted: whole audits of exactly tight mechanisms, stopped wherever stopping may pay.

    python -m benchmarks.level FILE [--runs 20000] [case ...]

FILE is written after every block and gone on from, so that the runs may be done a few at a time; run number i has the
seed i. Wanted are no more refutations than 5 % and three standard errors; beside the share stand the ends of its exact 95 %
interval.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.experiment import show
from ldpaudit import Mechanism, account, audit, audit_one_run
from ldpaudit.accountants.numerics.binomial import clopper_pearson
from ldpaudit.attacks.blackbox import target
from ldpaudit.attacks.bounds import binomial
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.e_process import EProcess
from ldpaudit.attacks.bounds.one_run import SPENT_ON_DELTA, p_values
from ldpaudit.attacks.engine import play
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms import KaryRandomizedResponse, Laplace, UnaryEncoding

CONFIDENCE = 0.95
RUNS, BLOCK = 500, 250  # runs where nobody asks for more; and those after which the file is written
VIEWS = 320  # views an audit
BLIND = {Mode.FIXED: 480, Mode.SEQUENTIAL: 3_600}
"""Views an audit of a black box, which learns from some of them; a sequential one in two stages."""
AGAIN = {Mode.FIXED: 9_000, Mode.SEQUENTIAL: 2_400}
"""Views an audit of a black box whose first event never fires: a fixed sample looks at 4,096 of them before it learns another."""
LATE = 6_600  # views an audit of a black box that has a last part, for leaks that begin late, and looks for rare ones
CANARIES, DELTA = 100, 1e-3  # of an audit in one run
TINY = KaryRandomizedResponse.for_epsilon(1, k=2)
BITS = UnaryEncoding.symmetric(1, k=3)
FIVE = KaryRandomizedResponse.for_epsilon(1, k=5)
LAPLACE = Laplace.for_epsilon(1)


def most(runs: int) -> float:
    """The share of refutations that is wanted, at most."""
    level = 1 - CONFIDENCE
    return level + 3 * math.sqrt(level * (1 - level) / runs)


def audits(target: Any, claimed: float, mode: Mode, views: int = VIEWS, **options: Any) -> Callable[[int, int], int]:
    """Audits of a mechanism, or of a function of which nothing is known; a sequential one looks at every step of the engine."""

    def count(first: int, runs: int) -> int:
        options.update(epsilon=claimed, trials=views, confidence=CONFIDENCE, mode=mode)
        return sum(audit(target, seed=seed, **options).epsilon_lower > claimed for seed in range(first, first + runs))

    return count


def engine(m: Mechanism, mode: Mode, delta: float = 0.0) -> Callable[[int, int], int]:
    """Audits of a mechanism's tight claim."""
    return audits(m, account(m).epsilon(delta).high, mode, delta=delta)


def every_view(m: Mechanism) -> Callable[[int, int], int]:
    """The engine's test at every single view of a mechanism's, and its last look at the end."""
    claimed, attack = account(m).epsilon(0).high, attack_on(m)
    last = binomial.BinomialTest(2, play.FINAL * (1 - CONFIDENCE))

    def refuted(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        sides = rng.integers(0, 2, 4 * VIEWS)
        scores: NDArray[np.float64] = np.empty(len(sides))
        for side in (0, 1):
            here = sides == side
            scores[here] = attack.score(m.sample(attack.pair[side], int(here.sum()), rng))
        guesses = np.cumsum(np.abs(scores) >= claimed * (1 - 1e-9))
        right = np.cumsum(np.where(sides == 0, scores, -scores) >= claimed * (1 - 1e-9))
        ends = Counts(int(right[-1]), int(guesses[-1] - right[-1]), len(sides))
        return bool(np.any(right >= least(claimed)[guesses])) or last.refutes(ends, claimed)

    return lambda first, runs: sum(map(refuted, range(first, first + runs)))


@cache
def least(claimed: float) -> NDArray[np.int64]:
    """For each number of guesses the fewest right ones that stop a sequential audit; one more than there are if none do."""
    bets = tuple(claimed * ratio for ratio in play.RATIOS)
    test = EProcess(2, 0.0, (1 - play.FINAL) * (1 - CONFIDENCE), bets)
    guesses, right = np.mgrid[: 4 * VIEWS + 1, : 4 * VIEWS + 1]
    wealth = test.log_value(np.minimum(right, guesses), np.maximum(guesses - right, 0), guesses, claimed)
    stops = (wealth >= -math.log(test.alpha)) & (right <= guesses)
    return np.where(stops.any(axis=1), stops.argmax(axis=1), np.arange(len(stops)) + 1)


def one_run(system: Any, canaries: list[Any], **options: Any) -> Callable[[int, int], int]:
    """Audits of a system in one run, after one that is learned from."""

    def count(first: int, runs: int) -> int:
        seeds = range(first, first + runs)
        return sum(audit_one_run(system, canaries, **options, seed=seed).epsilon_lower > options["epsilon"] for seed in seeds)

    return count


def in_order(users: list[int], rng: np.random.Generator) -> list[int]:
    """A report of each user, as binary response makes it."""
    share = math.e / (1 + math.e)
    return [int(report) for report in np.where(rng.random(len(users)) < share, users, 1 - np.array(users))]


def noisy_counts(users: list[int], rng: np.random.Generator) -> list[float]:
    """How many users hold each value, with noise as much as one user needs."""
    return [float(count) for count in np.bincount(users, minlength=CANARIES) + rng.laplace(size=CANARIES)]


def worst(users: list[int], rng: np.random.Generator) -> NDArray[np.int64]:
    """The system that is refuted most often, of all that are (1, DELTA)-private: it says coins, some of them falsely."""
    right = int(rng.choice(CANARIES + 1, p=worst_law() / worst_law().sum()))
    said = np.array(users)
    false = rng.permutation(CANARIES)[right:]
    said[false] = 1 - said[false]
    return said


@cache
def worst_law() -> NDArray[np.float64]:
    """How many of its sayings are right; see `ldpaudit.attacks.bounds.one_run`."""
    counts = np.arange(CANARIES + 1)
    least = int(np.argmax(p_values(counts, CANARIES - counts, CANARIES, DELTA, 1.0, SPENT_ON_DELTA) <= 1 - CONFIDENCE))
    law = stats.binom.pmf(counts, CANARIES, math.e / (1 + math.e))
    tail, more = law[least:].sum(), CANARIES * DELTA / (least * law[least])
    found: NDArray[np.float64] = law * np.where(counts >= least, 1 + more * (1 - tail), 1 - more * tail)
    return found


def noise(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Two numbers that tell nothing: every choice of an event is luck."""
    return rng.normal(size=(size, 2))


def resalted(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Binary response under two salts: another one for what an audit with a small seed learns from first."""
    drawn_by: Any = rng.bit_generator.seed_seq
    first = drawn_by.spawn_key == (target.FRESH,) and drawn_by.entropy < target.FRESH
    views: NDArray[np.int64] = TINY.sample(x, size, rng) + 2 * first
    return views


@dataclass(frozen=True)
class Case:
    """Counts the refutations among runs with the seeds from the first on."""

    name: str
    count: Callable[[int, int], int]


def cases() -> Iterator[Case]:
    """Each mode, on finite and on continuous views, in the game on two inputs and on k; and where nothing is known."""
    yield Case("binary response, fixed", engine(TINY, Mode.FIXED))
    yield Case("binary response, sequential", engine(TINY, Mode.SEQUENTIAL))
    yield Case("binary response, a look at every view", every_view(TINY))
    yield Case("5-ary response, fixed", engine(FIVE, Mode.FIXED))
    yield Case("5-ary response, sequential", engine(FIVE, Mode.SEQUENTIAL))
    yield Case("unary encoding, a look at every view", every_view(BITS))
    yield Case("Laplace, fixed", engine(LAPLACE, Mode.FIXED))
    yield Case("Laplace, sequential", engine(LAPLACE, Mode.SEQUENTIAL))
    yield Case("binary response at delta 0.1, sequential", engine(TINY, Mode.SEQUENTIAL, 0.1))
    two, five = (account(m).epsilon(0).high for m in (TINY, FIVE))
    leaky = account(TINY).epsilon(0.1).high
    few = BLIND[Mode.SEQUENTIAL]
    yield Case("a function at delta 0.1, sequential", audits(TINY.sample, leaky, Mode.SEQUENTIAL, few, inputs=[0, 1], delta=0.1))
    for mode in Mode:
        few = BLIND[mode]
        yield Case(f"a function, binary response, {mode}", audits(TINY.sample, two, mode, few, inputs=[0, 1]))
        yield Case(f"a function, noise alone, {mode}", audits(noise, 0.0, mode, few, inputs=[0, 1]))
        yield Case(f"a function, its event learned again, {mode}", audits(resalted, two, mode, AGAIN[mode], inputs=[0, 1]))
        yield Case(f"to the last views, binary response, {mode}", audits(TINY.sample, two, mode, LATE, inputs=[0, 1]))
        yield Case(f"to the last views, 5-ary response, {mode}", audits(FIVE.sample, five, mode, LATE, inputs=[0, 1]))
        yield Case(f"to the last views, noise alone, {mode}", audits(noise, 0.0, mode, LATE, inputs=[0, 1]))

    pairs, replaced = [(0, 1)] * CANARIES, {"neighbours": "replace-one", "epsilon": 1.0}
    yield Case("one run, reports in order", one_run(in_order, pairs, **replaced, scores=lambda output, _: -np.array(output)))
    yield Case("one run, reports in order, its score learned", one_run(in_order, pairs, **replaced))
    yield Case("one run, noisy counts", one_run(noisy_counts, list(range(CANARIES)), epsilon=1.0))
    told = {"scores": lambda output, _: -output, "delta": DELTA, **replaced}
    yield Case("one run, the worst system at delta 1e-3", one_run(worst, pairs, **told))


COLUMNS = "{case:48} {runs:7,} {refuted:8,} {share:7.4f} {95 %:>16} {wanted:7.4f}{}"


def main(file: Path, runs: int, wanted: list[str]) -> None:
    """Count, block by block, case by case; print the table."""
    done: dict[str, list[int]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def counted(case: Case) -> tuple[str | float, ...]:
        seen, refuted = done.get(case.name, [0, 0])
        while seen < runs:
            block = min(BLOCK, runs - seen)
            seen, refuted = seen + block, refuted + case.count(seen, block)
            done[case.name] = [seen, refuted]
            file.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
        ends = "[{:.4f}, {:.4f}]".format(*clopper_pearson(refuted, seen, 0.95))
        return case.name, seen, refuted, refuted / seen, ends, most(seen), "" if refuted <= most(seen) * seen else "  TOO MANY"

    show(COLUMNS, (counted(case) for case in cases() if not wanted or any(word in case.name for word in wanted)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How often a true claim is refuted.")
    parser.add_argument("file", type=Path, help="written after every block, and gone on from")
    parser.add_argument("cases", nargs="*", help="words of the names of cases; all by default")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each case")
    given = parser.parse_intermixed_args()
    main(given.file, given.runs, given.cases)
