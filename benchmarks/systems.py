"""What the systems that name values cost, over three decades of users and of values, beside the talk's O~(n), O~(sqrt n), O~(1).

Run with ``PYTHONPATH=. python -m benchmarks.systems``; each size in a process of its own, on one core. Times are of the
processor. `collect` is what all users do together; `decode` is the server, which holds the reports, n rows of two integers: the
talk's O~(sqrt n) is that of the oracle, whose table needs no report twice.
"""

from __future__ import annotations

import math
import resource
import time
import tracemalloc
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from ldpaudit.accountants.claims import bitstogram, tree_histogram
from ldpaudit.mechanisms.bitstogram import Bitstogram
from ldpaudit.mechanisms.tree_histogram import TreeHistogram

USERS = (10_000, 100_000, 1_000_000, 10_000_000)
BITS = (24, 32, 48, 64)
MANY = 1_000_000
EPSILON = 1.0
SYSTEMS: dict[str, Callable[[int, int], TreeHistogram | Bitstogram]] = {
    "TreeHist": lambda users, bits: TreeHistogram.for_epsilon(EPSILON, users, 1 << bits),
    "Bitstogram": lambda users, bits: Bitstogram.for_epsilon(EPSILON, users, 1 << bits),
}
CLAIMED = {"collect s": "1", "decode s": "1", "us per user": "0", "decode MiB": "1/2", "peak MiB": "", "level": "1/2"}
"""Exponents in n that the talk prints, up to powers of logarithms."""


@dataclass(frozen=True)
class Job:
    """A system, and its size."""

    system: str
    users: int
    bits: int


def level_of(m: TreeHistogram | Bitstogram, users: int) -> float:
    """The count from which on values are named."""
    found = tree_histogram.detection_level(m, users) if isinstance(m, TreeHistogram) else bitstogram.detection_level(m, users)
    return found.high


def measure(job: Job) -> dict[str, float]:
    """Times and memory in a fresh process; one value is held by a fifth of the users, the others are uniform."""
    rng = np.random.default_rng(job.users)
    m = SYSTEMS[job.system](job.users, job.bits)
    data = rng.integers(0, (1 << job.bits) - 1, job.users, dtype=np.uint64, endpoint=True)
    data[: job.users // 5] = 12_345
    start = time.process_time()
    views = m.collect(data, rng)
    collected = time.process_time()
    named = m.named(views)
    decoded = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tracemalloc.start()
    m.named(views)
    working = tracemalloc.get_traced_memory()[1] / (1 << 20)
    tracemalloc.stop()
    return {
        "collect s": collected - start,
        "us per user": (collected - start) / job.users * 1e6,
        "decode s": decoded - collected,
        "decode MiB": working,
        "peak MiB": peak,
        "level": level_of(m, job.users),
        "level / n": level_of(m, job.users) / job.users,
        "named": float(len(named)),
    }


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Slope of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def table(system: str, jobs: Sequence[Job], size: Callable[[Job], float], claimed: dict[str, str]) -> None:
    """One system over sizes, with exponents."""
    rows = []
    for job in jobs:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows.append(pool.submit(measure, job).result())
    heads = "".join(f"{size(job):>12,g}" for job in jobs)
    print(f"{system:14}{heads}{'exponent':>12}{'claimed':>12}")
    for name in rows[0]:
        values = [row[name] for row in rows]
        fitted = f"{exponent([size(job) for job in jobs], values):12.2f}" if name in claimed else f"{'':12}"
        print(f"{name:14}" + "".join(f"{v:12.4g}" for v in values) + fitted + f"{claimed.get(name, ''):>12}", flush=True)
    print()


def main() -> None:
    """Print the tables: against n with 64 bits, and against log2 of the number of values with a million users."""
    for system in SYSTEMS:
        table(f"{system}: n", [Job(system, n, 64) for n in USERS], lambda job: job.users, CLAIMED)
    logarithms = {"collect s": "1", "decode s": "1", "decode MiB": "0", "level": "1/2"}
    for system in SYSTEMS:
        table(f"{system}: bits", [Job(system, MANY, bits) for bits in BITS], lambda job: job.bits, logarithms)
    print(f"talk, over all values: {math.sqrt(USERS[-1]) / EPSILON:,.0f} = sqrt(n)/epsilon at n = {USERS[-1]:,}")


if __name__ == "__main__":
    main()
