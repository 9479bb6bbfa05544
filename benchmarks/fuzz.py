"""The fuzz: changed files, parameters, checkpoints, keys and answers, each read as the command line reads it.

    python -m benchmarks.fuzz [--inputs 200000] [--seed 1] [--kinds NAME...] [--jobs 1] [--output fuzz-findings] [--first 0]

An input is a valid one with a few changes: of types, numbers, keys, nesting, text and bytes. It may be accepted, or rejected
in one line. Anything else is a finding: a traceback, more than 10 seconds of a processor, more than 2 GiB of addresses, a
file that is written outside the output folder (it is refused, and remembered), a message that is not one line, a signature
that is believed and is none. The smallest input of every different finding is kept with what happened. The script fails if there
is a finding.

The same seed makes the same inputs, by number: ``--kinds data --first 812 --inputs 1`` reads one of them again.
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from threading import Lock

from benchmarks.experiment import options, show
from benchmarks.fuzz_kinds import KINDS
from benchmarks.fuzz_worker import DONE, Outcome, ended, made, work

_CHUNK = 2000  # inputs per process: caches are emptied, and memory begins anew
VERDICTS = ("rejected", "accepted", "traceback", "slow", "memory", "escape", "odd", "false")
COLUMNS = "{kind:>12} {inputs:8d} " + "".join(f"{{{verdict}:9d}} " for verdict in VERDICTS) + "{ms each:8.1f} {longest s:9.1f}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What should not be: how often it was seen, and the number, bytes and outcome of its smallest input."""

    times: int
    number: int
    data: bytes
    outcome: Outcome

    def __str__(self) -> str:
        seen = f"{self.number} ({self.times} times, {len(self.data)} bytes)"
        return f"{seen}: {self.outcome.verdict}: {self.outcome.what} {self.outcome.where}"


@dataclass
class Found:
    """What became of one kind's inputs: how many, and of every different finding how often and the smallest input."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    longest: float = 0.0
    findings: dict[str, Finding] = field(default_factory=dict)  # by signature

    def add(self, number: int, data: bytes, outcome: Outcome, seconds: float) -> None:
        """Count one input."""
        self.counts[outcome.verdict] += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)
        if outcome.fine:
            return
        here, before = Finding(1, number, data, outcome), self.findings.get(outcome.signature)
        if before is not None:
            here = replace(min(before, here, key=lambda each: len(each.data)), times=before.times + 1)
        self.findings[outcome.signature] = here


def outcomes(name: str, seed: int, numbers: Sequence[int], folder: Path) -> Iterator[tuple[int, Outcome, float]]:
    """Every input's number, outcome and seconds; a process that takes too long or ends is replaced by a new one."""
    left = list(numbers)
    while left:
        process = get_context("spawn").Process(target=work, args=(name, seed, left, folder), daemon=True)
        process.start()
        process.join()
        lines = (folder / DONE).read_text().splitlines() if (folder / DONE).exists() else []
        for number, (*said, seconds) in zip(left, map(json.loads, lines), strict=False):
            yield number, Outcome(*said), seconds
        if unanswered := left[len(lines) :]:
            yield unanswered[0], ended(process.exitcode, folder), 0.0
        left = unanswered[1:]


def fuzz(name: str, seed: int, numbers: range, folder: Path, found: Found, lock: Lock, output: Path) -> None:
    """One chunk of a kind's inputs; what was found until then is kept after each."""
    for number, outcome, seconds in outcomes(name, seed, numbers, folder):
        with lock:
            found.add(number, b"" if outcome.fine else made(KINDS[name], name, seed, number), outcome, seconds)
    with lock:
        keep(output, name, found)


def keep(folder: Path, name: str, found: Found) -> None:
    """Write the smallest input of every different finding, and beside it what happened."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, each in enumerate(found.findings.values()):
        (folder / f"{name}-{index}.input").write_bytes(each.data)
        (folder / f"{name}-{index}.txt").write_text(f"{name} {each}\n", encoding="utf-8", errors="replace")


def row(name: str, found: Found) -> tuple[str | float, ...]:
    """The line of a kind."""
    inputs = found.counts.total()
    counts = (found.counts[verdict] for verdict in VERDICTS)
    return name, inputs, *counts, 1000 * found.seconds / max(inputs, 1), found.longest


def main() -> None:
    """Print a line a kind, and every different finding."""
    given = options(__doc__, inputs=200_000, seed=1, kinds=[*KINDS], jobs=1, output=Path("fuzz-findings"), first=0)
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "PYTHONDONTWRITEBYTECODE"), "1")
    found, lock = {name: Found() for name in given.kinds}, Lock()
    whole = sum(KINDS[name].share for name in given.kinds)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        os.environ["XDG_CONFIG_HOME"] = folder  # whoever runs this keeps the secret of their own gates
        chunks = []
        for name in given.kinds:
            end = given.first + round(given.inputs * KINDS[name].share / whole)
            for first in range(given.first, end, _CHUNK):
                chunk, place = range(first, min(first + _CHUNK, end)), Path(folder) / f"{name}-{first}"
                chunks.append(pool.submit(fuzz, name, given.seed, chunk, place, found[name], lock, given.output))
        for done in chunks:
            done.result()
    show(COLUMNS, (row(name, each) for name, each in found.items()))
    for name, each in found.items():
        for finding in sorted(each.findings.values(), key=lambda finding: -finding.times):
            print(name, finding)
    raise SystemExit(any(each.findings for each in found.values()))


if __name__ == "__main__":
    main()
