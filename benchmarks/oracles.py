"""What the frequency oracles cost, over three decades of users, beside the talk's O~(n), O~(sqrt n), O~(1).

Run with ``PYTHONPATH=. python -m benchmarks.oracles``; each size in a process of its own, on one core.
"""

from __future__ import annotations

import resource
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from ldpaudit.accountants.claims.hashtogram import query_error
from ldpaudit.mechanisms.hashtogram import Hashtogram
from ldpaudit.mechanisms.sign_oracle import SignOracle

SIZES = [10_000, 100_000, 1_000_000, 10_000_000]
DOMAIN = 1 << 40
EPSILON, BETA = 1.0, 0.05
QUERIES = 1_000
CLAIMED = {"run s": "1", "table KiB": "1/2", "query us": "0", "one sign query ms": "1"}


def measure(n: int) -> dict[str, float]:
    """Times and memory in a fresh process; what works beyond the data is a table, and one chunk of reports."""
    rng = np.random.default_rng(n)
    m = Hashtogram.for_epsilon(EPSILON, n, DOMAIN, BETA)
    data = np.minimum(rng.zipf(1.3, n), DOMAIN - 1).astype(np.int64)
    m.run(data[:10], rng)  # the public matrices are made once
    start = time.process_time()
    table = m.run(data, rng)
    run = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    m.run(data, rng)
    working = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    asked = rng.integers(0, DOMAIN, QUERIES)
    start = time.process_time()
    m.query(table, asked)
    query = time.process_time() - start
    top = np.arange(1, 11)
    truth = np.array([np.count_nonzero(data == x) for x in top])
    oracle = SignOracle.for_epsilon(EPSILON, n, DOMAIN)
    views = oracle.collect(data, rng)
    start = time.process_time()
    oracle.query(views, top[:1])
    return {
        "run s": run,
        "working MiB": working / (1 << 20),
        "peak MiB": memory / 1024,
        "table KiB": table.nbytes / 1024,
        "query us": query / QUERIES * 1e6,
        "one sign query ms": (time.process_time() - start) * 1e3,
        "error / sqrt n": float(np.abs(m.query(table, top) - truth).max() / np.sqrt(n)),
        "bound / sqrt n": query_error(m, n, BETA).high / np.sqrt(n),
        "sign error / sqrt n": float(np.abs(oracle.query(views, top) - truth).max() / np.sqrt(n)),
    }


def exponent(values: list[float]) -> float:
    """Slope of the logarithm against that of n."""
    return float(np.polyfit(np.log(SIZES), np.log(np.maximum(values, 1e-9)), 1)[0])


def main() -> None:
    """Print the table."""
    rows = []
    for n in SIZES:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows.append(pool.submit(measure, n).result())
    print(f"{'':22}" + "".join(f"{n:>12,}" for n in SIZES) + f"{'exponent':>12}{'claimed':>12}")
    for name in rows[0]:
        values = [row[name] for row in rows]
        fitted = f"{exponent(values):12.2f}" if name in CLAIMED else f"{'':12}"
        print(f"{name:22}" + "".join(f"{v:12.4g}" for v in values) + fitted + f"{CLAIMED.get(name, ''):>12}")


if __name__ == "__main__":
    main()
