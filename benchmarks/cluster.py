"""TrieHH over the words of a hundred million users in counted shards: on two processes, and on a Dask cluster that loses a worker.

    python -m benchmarks.cluster [--users 100000000] [--shards 64] [--words FILE]

First all words of a million users in this process. Then the shards: Parquet files of words and of how many users hold them,
drawn by the frequencies of wordfreq (extra `examples`), of a file with a word and its frequency a line, or by a Zipf law where
there is neither. Parquet needs the extra `logs`; the part with the cluster needs `dist`, and is left out where it is missing.
"""

from __future__ import annotations

import resource
import time
from concurrent.futures import Executor
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import options
from benchmarks.scale import cluster, killing
from benchmarks.words import corpus
from ldpaudit.accountants.sampling.discovery import least_threshold
from ldpaudit.core.partitions import Partition
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.workers.experiment import HERE, Execution
from ldpaudit.workers.runs import run
from ldpaudit.workers.shards import shards
from ldpaudit.workers.worker_processes import Processes

USERS, SHARDS, MILLION = 10**8, 64, 10**6
EPSILON, LEVELS = 1, 10
SEED = 1
_ZIPF = 300_000
"""Words where no frequencies are known."""


def vocabulary(file: Path | None) -> tuple[list[str], NDArray[np.float64]]:
    """Words, each with its end, and their shares."""
    try:
        known = corpus(1, file, np.random.default_rng(0))
    except ImportError:
        shares = 1 / (np.arange(_ZIPF) + 2.7)
        return [f"{np.base_repr(rank * 2_654_435_761 % 2**32, 36).lower()}$" for rank in range(_ZIPF)], shares / shares.sum()
    return [f"{word}$" for word in known.words], known.shares


def system(users: int) -> TrieHeavyHitter:
    """At epsilon 1 and a delta of 1/n**2, by Corollary 2."""
    threshold = least_threshold(Fraction(1, users**2))
    return TrieHeavyHitter(users, int(users * -np.expm1(-EPSILON / LEVELS) / threshold), threshold, LEVELS)


def write(folder: Path, words: list[str], shares: NDArray[np.float64], users: int, parts: int) -> None:
    """Counted shards of users who hold a word each."""
    import polars

    each = [users // parts + (part < users % parts) for part in range(parts)]
    for part, size in enumerate(each):
        counts = np.random.default_rng([SEED, part]).multinomial(size, shares)
        held = np.flatnonzero(counts)
        frame = polars.DataFrame({"word": [words[i] for i in held.tolist()], "users": counts[held]})
        frame.write_parquet(folder / f"part-{part:05}.parquet")


def timed(name: str, m: TrieHeavyHitter, data: Partition, execution: Execution = HERE) -> Any:
    """What a run finds, with a line about it."""
    start = time.perf_counter()
    found = run(m, data, SEED, execution)
    took, words = time.perf_counter() - start, sum(prefix.endswith("$") for prefix in found)
    print(f"{name}: {m.users:,} users in {took:.1f} s, {len(found)} prefixes, {words} words", flush=True)
    return found


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(users: int, parts: int, file: Path | None) -> None:
    """Print what each way takes, and whether all tries are the same."""
    words, shares = vocabulary(file)
    counts = np.random.default_rng(SEED).multinomial(MILLION, shares)
    held = Partition.of_users(np.repeat(np.array(words, dtype=object), counts), 1)
    timed("one part in this process", system(MILLION), held)
    with TemporaryDirectory() as folder:
        write(Path(folder), words, shares, users, parts)
        data, m = shards([folder], "word", "users"), system(users)
        last: list[float] = []
        with Processes(2) as pool:
            first = timed("two processes", m, data, Execution(pool, progress=lambda _, rounds: last.append(rounds)))
        try:
            on_a_cluster(m, data, first, last[-1] / 2)
        except ImportError:
            print("two Dask workers: left out, the extra 'dist' is missing")


def on_a_cluster(m: TrieHeavyHitter, data: Partition, first: Any, half: float) -> None:
    """Two Dask workers, and again with one killed half-way."""
    with cluster() as client:
        killer = killing(client, lambda _, rounds: rounds > half)
        for name, progress in (("two Dask workers", None), ("one killed half-way", killer)):
            executor: Executor = client.get_executor(retries=10)
            found = timed(name, m, data, Execution(executor, progress=progress))
            memory = ", ".join(f"{held / 1024:.0f} MB" for held in client.run(_memory).values())
            print(f"    {'the same trie' if found == first else 'ANOTHER trie'}; workers held at most {memory}", flush=True)


if __name__ == "__main__":
    given = options(__doc__, users=USERS, shards=SHARDS, words=Path)
    main(given.users, given.shards, given.words)
