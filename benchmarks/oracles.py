"""What oracles and systems that name values cost, over three decades of users, beside the talk's O~(n), O~(sqrt n), O~(1).

    python -m benchmarks.oracles [name ...]

Each size is measured in a process of its own, on one core; times are of the processor. `collect` is what all users do
together; `decode` is the server, which holds the reports, n rows of two integers: the talk's O~(sqrt n) is that of the oracle,
whose table needs no report twice.
"""

from __future__ import annotations

import math
import resource
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.experiment import alone, exponent, options, show, timed
from ldpaudit.accountants.claims import bitstogram, tree_histogram
from ldpaudit.accountants.claims.hashtogram import query_error
from ldpaudit.mechanisms.bitstogram import Bitstogram
from ldpaudit.mechanisms.hashtogram import Hashtogram
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.mechanisms.tree_histogram import TreeHistogram

USERS, MANY = (10_000, 100_000, 1_000_000, 10_000_000), 1_000_000
BITS = (24, 32, 48, 64)
DOMAIN = 1 << 40
EPSILON, BETA = 1.0, 0.05
QUERIES = 1_000
COLUMNS = "{name:22}" + "{:12,.4g}" * len(USERS) + "{exponent:12.2f}{claimed:>12}"


def oracles(n: int, _: int) -> dict[str, float]:
    """Both oracles; what Hashtogram's works with beyond the data is a table, and one chunk of reports."""
    rng = np.random.default_rng(n)
    m, oracle = Hashtogram.for_epsilon(EPSILON, n, DOMAIN, BETA), SignOracle.for_epsilon(EPSILON, n, DOMAIN)
    data = np.minimum(rng.zipf(1.3, n), DOMAIN - 1).astype(np.int64)
    m.run(data[:10], rng)  # the public matrices are made once
    held, run = timed(lambda: m.run(data, rng))
    peak, working = memory(lambda: m.run(data, rng))
    asked = rng.integers(0, DOMAIN, QUERIES)
    query = timed(lambda: m.query(held, asked))[1]
    top = np.arange(1, 11)
    truth = np.array([np.count_nonzero(data == x) for x in top])
    views = oracle.collect(data, rng)
    sign = timed(lambda: oracle.query(views, top[:1]))[1]
    return {
        "run s": run,
        "working MiB": working,
        "peak MiB": peak,
        "table KiB": held.nbytes / 1024,
        "query us": query / QUERIES * 1e6,
        "one sign query ms": sign * 1e3,
        "error / sqrt n": float(np.abs(m.query(held, top) - truth).max() / np.sqrt(n)),
        "bound / sqrt n": query_error(m, n, BETA).high / np.sqrt(n),
        "sign error / sqrt n": float(np.abs(oracle.query(views, top) - truth).max() / np.sqrt(n)),
    }


def naming(m: TreeHistogram | Bitstogram, users: int, bits: int, level: float) -> dict[str, float]:
    """A system that names values from a level on; one value is held by a fifth of the users, the others are uniform."""
    rng = np.random.default_rng(users)
    data = rng.integers(0, (1 << bits) - 1, users, dtype=np.uint64, endpoint=True)
    data[: users // 5] = 12_345
    views, collected = timed(lambda: m.collect(data, rng))
    named, decoded = timed(lambda: m.named(views))
    peak, working = memory(lambda: m.named(views))
    return {
        "collect s": collected,
        "us per user": collected / users * 1e6,
        "decode s": decoded,
        "decode MiB": working,
        "peak MiB": peak,
        "level": level,
        "level / n": level / users,
        "named": float(len(named)),
    }


def tree(users: int, bits: int) -> dict[str, float]:
    """TreeHist."""
    m = TreeHistogram.for_epsilon(EPSILON, users, 1 << bits)
    return naming(m, users, bits, tree_histogram.detection_level(m, users).high)


def bits_by_bits(users: int, bits: int) -> dict[str, float]:
    """Bitstogram."""
    m = Bitstogram.for_epsilon(EPSILON, users, 1 << bits)
    return naming(m, users, bits, bitstogram.detection_level(m, users).high)


def memory(call: Callable[[], object]) -> tuple[float, float]:
    """MiB that the process has held at most until now, and those that a call takes beyond what there is."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tracemalloc.start()
    call()
    working = tracemalloc.get_traced_memory()[1] / (1 << 20)
    tracemalloc.stop()
    return peak, working


@dataclass(frozen=True)
class Experiment:
    """What is measured at which users and bits, which of them are the sizes, and the exponents that the talk prints."""

    measure: Callable[[int, int], dict[str, float]]
    settings: tuple[tuple[int, int], ...]
    size: int
    claimed: dict[str, str]

    def rows(self) -> Iterator[tuple[str | float, ...]]:
        """Of the table."""
        found = [alone(self.measure, *setting) for setting in self.settings]
        sizes = [setting[self.size] for setting in self.settings]
        yield "", *sizes, "", ""
        for name in found[0]:
            values = [each[name] for each in found]
            yield name, *values, exponent(sizes, values) if name in self.claimed else "", self.claimed.get(name, "")


IN_USERS = tuple((users, 64) for users in USERS)
IN_BITS = tuple((MANY, bits) for bits in BITS)
NAMING = {"collect s": "1", "decode s": "1", "us per user": "0", "decode MiB": "1/2", "peak MiB": "", "level": "1/2"}
"""Exponents in n that the talk prints, up to powers of logarithms."""
LOGARITHMS = {"collect s": "1", "decode s": "1", "decode MiB": "0", "level": "1/2"}
EXPERIMENTS = {
    "oracles": Experiment(oracles, IN_USERS, 0, {"run s": "1", "table KiB": "1/2", "query us": "0", "one sign query ms": "1"}),
    "TreeHist": Experiment(tree, IN_USERS, 0, NAMING),
    "Bitstogram": Experiment(bits_by_bits, IN_USERS, 0, NAMING),
    "TreeHist, by bits": Experiment(tree, IN_BITS, 1, LOGARITHMS),
    "Bitstogram, by bits": Experiment(bits_by_bits, IN_BITS, 1, LOGARITHMS),
}


def main() -> None:
    """Print the tables."""
    for name in options(__doc__, EXPERIMENTS).names or EXPERIMENTS:
        show(COLUMNS.replace("name", name, 1), EXPERIMENTS[name].rows())
    print(f"talk, over all values: {math.sqrt(USERS[-1]) / EPSILON:,.0f} = sqrt(n)/epsilon at n = {USERS[-1]:,}")


if __name__ == "__main__":
    main()
