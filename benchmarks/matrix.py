"""How well epsilon is known of each kind of plan, and how quickly: both ends, their ratio, and seconds of a first question.

    python -m benchmarks.matrix [noun ...] [--delta 1e-6] [--patience 60] [--only CLASS ...] [--record]

The plans are each noun of one mechanism of each class of the zoo; a plan that is refused is no row. Seconds are of the processor,
each plan's in a process of its own, which is stopped after `patience` of them. With `--record`, the ends are written for the tests,
which hold that they stay: epsilon at delta, and delta at half of the upper epsilon, of plans that take a second at most.
"""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TypeAlias

from benchmarks.contract import load_everything
from benchmarks.experiment import apart, options, say, show, timed
from ldpaudit import Aggregate, Compose, Mechanism, Plan, Poisson, Repeat, Run, Shuffle, Subsample, Unsupported, account
from ldpaudit.mechanisms import DiscreteLaplace, KaryRandomizedResponse
from tests.zoo import ONE_EACH

BITS = KaryRandomizedResponse(2, Fraction(3, 4))
NOISE = DiscreteLaplace(Fraction(9, 10))
NOUNS: dict[str, Callable[[Mechanism], Plan]] = {
    "one": Run,
    "ten": lambda m: Repeat(m, 10),
    "thousand": lambda m: Repeat(m, 1000),
    "composed": lambda m: Compose([Repeat(m, 5), BITS]),
    "shuffled": lambda m: Shuffle(m, 1000),
    "crowd": lambda m: Shuffle(m, 10**6),
    "bundle": lambda m: Shuffle(Repeat(m, 3), 10**4),
    "rounds": lambda m: Repeat(Shuffle(m, 10**4), 3),
    "beside": lambda m: Compose([Shuffle(m, 10**4), Shuffle(BITS, 10**4)]),
    "secret": lambda m: Subsample(Shuffle(m, 1000), 10**5, 1000),
    "secrets": lambda m: Repeat(Subsample(Shuffle(m, 1000), 10**5, 1000), 20),
    "some": lambda m: Repeat(Poisson(Repeat(m, 3), Fraction(1, 10)), 10),
    "sum": lambda m: Aggregate(m, 1000),
    "noisy": lambda m: Aggregate(m, 1000, [NOISE]),
    "sums": lambda m: Repeat(Aggregate(m, 1000), 3),
}
WANTED, CLOSE, SECONDS = 1.01, 1.1, 3.0
RECORD = Path(__file__).parents[1] / "tests" / "data" / "ends.json"


def measured(plan: Plan, delta: float, patience: int) -> tuple[float, float, float] | None:
    """Both ends and the seconds; none where the plan is refused, and from 0 to infinity where it takes longer than `patience`."""

    def answer() -> tuple[float, float, float] | str:
        try:
            found, seconds = timed(lambda: account(plan).epsilon(delta))
        except Unsupported:
            return "refused"
        return found.low, found.high, seconds

    found = apart(answer, patience)
    if isinstance(found, str):
        return None
    return found or (0.0, float("inf"), float(patience))


Row: TypeAlias = tuple[str, str, float, float, float, float]  # noun, class, low, high, ratio, seconds


def rows(nouns: list[str], classes: list[str], delta: float, patience: int) -> Iterator[Row]:
    """Of all plans that are not refused."""
    load_everything()
    for m in ONE_EACH:
        for noun in nouns:
            name = type(m).__name__
            if name in classes and (found := measured(NOUNS[noun](m), delta, patience)) is not None:
                low, high, seconds = found
                ratio = high / low if low else 1.0 if high == 0 else float("inf")
                yield noun, name, low, high, 1.0 if low == high else ratio, seconds


def summary(found: list[Row]) -> Iterator[str]:
    """By noun, as docs/accountants.md has it."""
    yield "\n| noun | plans | within 1 % | within 10 % | above 3 s | more than 10 % apart |\n|---|---|---|---|---|---|"
    for noun in [*dict.fromkeys(row[0] for row in found), "all"]:
        some = [row for row in found if noun in (row[0], "all")]
        judged = ((row[4] <= WANTED, row[4] <= CLOSE, row[5] > SECONDS) for row in some)
        near, close, slow = map(sum, zip(*judged, strict=True))
        far = ", ".join(row[1] for row in some if row[4] > CLOSE) if noun != "all" else ""
        yield f"| {noun} | {len(some)} | {near} | {close} | {slow} | {far} |"


def record(found: list[Row], delta: float) -> None:
    """Write what the tests hold: noun, class, seconds, and each question with its ends; other plans stay as they are."""
    kept = {(row[0], row[1]): row for row in json.loads(RECORD.read_text())}
    for noun, name, low, high, _, seconds in found:
        if seconds > 1:
            kept.pop((noun, name), None)
            continue
        (m,) = (m for m in ONE_EACH if type(m).__name__ == name)
        half = high / 2 if isfinite(high) else 1.0
        there, more = timed(partial(account(NOUNS[noun](m)).delta, half))
        asked = ["epsilon", delta, low, high], ["delta", half, there.low, there.high]
        kept[noun, name] = [noun, name, round(seconds + more, 2), *asked]
    RECORD.write_text("[\n" + ",\n".join(map(json.dumps, kept.values())) + "\n]\n")


if __name__ == "__main__":
    given = options(__doc__, NOUNS, delta=1e-6, patience=60, record=False, only=sorted({type(m).__name__ for m in ONE_EACH}))
    columns = "{noun:10}{mechanism:28}{low:>12.6g}{high:>12.6g}{high/low:>10.4f}{seconds:>9.2f}"
    found = show(columns, rows(given.names or list(NOUNS), given.only, given.delta, given.patience))
    say(summary(found))
    if given.record:
        record(found, given.delta)
