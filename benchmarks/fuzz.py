"""The fuzz: changed files, parameters, checkpoints, keys and answers, each read as the command line reads it.

    python -m benchmarks.fuzz [--inputs 200000] [--seed 1] [--kinds NAME...] [--jobs 1] [--output fuzz-findings] [--first 0]

An input is a valid one with a few changes: of types, numbers, keys, nesting, text and bytes. It may be accepted, or rejected
in one line. Anything else is a finding: a traceback, more than 10 seconds of a processor, more than 2 GiB of addresses, a
file that is written outside the output folder (it is refused, and remembered), a message that is not one line, a signature
that is believed and is none. The smallest input of every different finding is kept with what happened. The script fails if there
is a finding.

The same seed makes the same inputs, by number: ``--kinds data --first 812 --inputs 1`` reads one of them again.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import cast

from benchmarks.experiment import options, show
from benchmarks.fuzz_kinds import KINDS
from benchmarks.fuzz_worker import PATIENCE, TOO_LONG, Outcome, made, too_slow, work

_START = 180.0
"""Seconds that a process may take to begin."""
_SHARED = 10
"""Times its patience that an input may take where the machine has other work, or where it waits for something."""
_CHUNK = 2000
"""Inputs per process: caches are emptied, and memory begins anew."""
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
    findings: dict[str, Finding] = field(default_factory=dict)
    """By signature."""

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
    """Every input's number, outcome and seconds; a process that takes too long or dies is replaced by a new one."""
    left = list(numbers)
    while left:
        for number, outcome, seconds in _of_process(name, seed, left, folder):
            yield number, outcome, seconds
            left = left[left.index(number) + 1 :]


def _of_process(name: str, seed: int, numbers: Sequence[int], folder: Path) -> Iterator[tuple[int, Outcome, float]]:
    """Until all are read, or one took too long or ended the process."""
    here, there = get_context("spawn").Pipe(duplex=False)
    process = get_context("spawn").Process(target=work, args=(there, name, seed, numbers, folder), daemon=True)
    process.start()
    there.close()
    number, start = numbers[0], time.monotonic()
    try:
        if not here.poll(_START):
            raise RuntimeError(f"the fuzz needs a process that begins within {_START:g} s, for {name}")
        here.recv()
        for _ in numbers:
            number, start = here.recv(), time.monotonic()
            if not here.poll(_SHARED * PATIENCE):
                os.kill(cast(int, process.pid), TOO_LONG)
                raise EOFError
            yield number, here.recv(), time.monotonic() - start
    except EOFError:
        process.join(_START)
        yield number, _ended(process.exitcode, folder), time.monotonic() - start
    finally:
        process.kill()
        process.join()


def _ended(code: int | None, folder: Path) -> Outcome:
    """What is said of the input over which a process ended."""
    if code in (None, -TOO_LONG):
        return too_slow(folder)
    said = (folder / "stderr").read_text(errors="replace").strip().splitlines()
    what = f"the process ended with {code}: {said[-1][:200] if said else ''}"
    return Outcome("memory" if "memory" in what else "traceback", what)


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
