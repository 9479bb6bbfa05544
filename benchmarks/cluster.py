"""Reports and words of up to 100 million users in partitioned Parquet, estimated and run on two workers, of which one is killed.

    python -m benchmarks.cluster [--users 1e6 1e7 1e8] [--place s3://bucket/folder]

The commands are those of a team, in processes of their own. Users are written part by part, a million in each, and what is written
is used again. Memory is that of the largest process, seconds are those of the clock, with the processors' behind them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars

from benchmarks.experiment import exponent, options, say
from ldpaudit.adapters.places import place
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

PART, VALUES = 10**6, 1000
RESPONSE = KaryRandomizedResponse.for_epsilon(2, k=16)
SYSTEM = ["randomized_response", "k=16", "epsilon=2"]
CHANCES = 1 / np.arange(1.0, VALUES + 1)
WORDS = np.array(["".join(chr(97 + value // 10**digit % 10) for digit in range(3)) for value in range(VALUES)])


def written(folder: Path, part: int) -> Path:
    """A million users: their words, and the reports that they send of the first digit; made where it is missing."""
    file = folder / f"part={part:05}" / "users.parquet"
    if not file.exists():
        rng = np.random.default_rng(part)
        held = np.repeat(np.arange(VALUES), rng.multinomial(PART, CHANCES / CHANCES.sum()))
        reports = np.concatenate([RESPONSE.sample(x, int(n), rng) for x, n in enumerate(np.bincount(held % 10))])
        table = polars.DataFrame({"word": WORDS[held], "report": rng.permutation(reports).astype(np.uint8)})
        file.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as here:
            table.write_parquet(copy := Path(here, "users.parquet"))
            file.write_bytes(copy.read_bytes())
    return file


def commands(files: list[Path]) -> dict[str, list[str]]:
    """By their names."""
    users, named = len(files) * PART, [*map(str, files)]
    trie = [f"users={users}", f"batch={10 * int(users**0.5)}", "threshold=20", "levels=3"]
    data = [each for file in named for each in ("--data", file)]
    run = ["run", "trie_heavy_hitter", *trie, *data, "--column", "word", "--seed", "1", "--passes", "1"]
    return {"estimate": ["estimate", *named, *SYSTEM], "run": run}


def measured(arguments: list[str], kill: bool = False) -> tuple[Any, float, float, float]:
    """What a command prints, its seconds by the clock and of processors, and the megabytes of its largest process.

    ``kill``: end one of its workers on the way; workers may be 32 files ahead of what is added up.
    """
    with TemporaryDirectory() as here:
        state, output = Path(here, "state.json"), Path(here, "output.json")
        more = ["--workers", "2", "--format", "json", "--checkpoint", str(state)]
        start = time.perf_counter()
        with output.open("wb") as file:
            process = subprocess.Popen([sys.executable, "-m", "ldpaudit", *arguments, *more], stdout=file)
        most = max(1, sum(".parquet" in each for each in arguments) // 2 - 16)
        while kill and not (state.exists() and _done(state) >= most) and process.poll() is None:
            time.sleep(0.01)
        if kill:
            tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
            os.kill(int(" ".join(each.read_text() for each in tasks).split()[0]), signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"{arguments[0]} ended with status {status}")
        return json.loads(output.read_text()), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _done(state: Path) -> int:
    found = json.loads(state.read_text())["state"]
    return int(found["files"] if "files" in found else found["parts"])


def rows(folder: Path, sizes: list[int]) -> Iterator[str]:
    """A line for each command and number of users, the exponents, and a line for each command that lost a worker."""
    yield f"{'':10}{'users':>13}{'seconds':>9}{'processors':>12}{'MB':>7}{'bytes per user':>16}"
    printed: dict[str, list[tuple[Any, float, float, float]]] = {}
    for users in sizes:
        files = [written(folder, part) for part in range(-(-users // PART))]
        for name, arguments in commands(files).items():
            printed.setdefault(name, []).append(found := measured(arguments))
            yield _line(name, users, found)
    for name, found in printed.items():
        cells = zip(*(each[1:] for each in found), strict=True)
        yield f"{name}: exponents of seconds, processors, MB: {', '.join(f'{exponent(sizes, each):.2f}' for each in cells)}"
    for name, arguments in commands(files).items():
        lost = measured(arguments, kill=True)
        same = "the same result" if lost[0] == printed[name][-1][0] else "ANOTHER result"
        yield f"{_line(name, users, lost)}  one worker killed on the way: {same}"


def _line(name: str, users: int, found: tuple[Any, float, float, float]) -> str:
    _, seconds, processors, memory = found
    return f"{name:10}{users:13,}{seconds:9.1f}{processors:12.1f}{memory:7.0f}{memory * 2**20 / users:16.1f}"


if __name__ == "__main__":
    given = options(__doc__, users=[1e6, 1e7, 1e8], place="build/cluster")
    say(rows(place(given.place), [*map(int, given.users)]))
