"""What Bucket and GLPS-HH of Hsu, Khanna, Roth 2012 cost, beside their theorems' times.

    python -m benchmarks.bucket

Theorem 4.4 says O(n log(1/beta) log^3 N) of Bucket, section 4.1 says O(s log^c N) of a recovery by GLPS-HH. On one core;
`benchmarks.needed_noise` has the noise that is printed beside the noise that suffices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.experiment import growth, say, timed, times
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter

USERS, BITS, BETAS = (300, 3_000, 30_000, 300_000), (7, 15, 30, 60), (0.3, 0.1, 0.01, 1e-4)
GLPS_USERS, GLPS_BITS = 10**8, (10, 20, 30, 40, 50, 60)
SPARSITY, ROWS, BUCKETS = 16, 9, 1 << 10
"""Of GLPS-HH: so many that the constant cost of numpy's calls is small."""


def bucket(users: int, bits: int, beta: float) -> float:
    """Seconds of one run, and of what the server does with it."""
    m = BucketHeavyHitter.as_printed(1, 1e-6, beta, 1 << bits)
    rng = np.random.default_rng(1)
    data = rng.integers(0, 1 << bits, users)
    m.truth(data[:2])  # the public tables are made once
    return timed(lambda: m.heavy_hitter(m.run(data, rng), users))[1]


def glps(bits: int) -> float:
    """Seconds of one recovery, of measurements with noise, in which five values have 65 thousandths of the users each."""
    rng = np.random.default_rng(bits)
    m = GlpsHeavyHitter(1 << bits, SPARSITY, ROWS, BUCKETS, Fraction(66))
    values, heavy = rng.integers(0, m.domain, 2000).tolist(), 65 * GLPS_USERS // 1000
    held = dict.fromkeys(values, (GLPS_USERS - 5 * heavy) // 2000) | dict.fromkeys(values[:5], heavy)
    gamma = rng.standard_gamma(GLPS_USERS, (2, m.measurements))
    measured = m.truth(held) + float(m.scale) * (gamma[0] - gamma[1])
    return min(times(lambda: m.decode(measured), 5))


def lines() -> Iterator[str]:
    """Seconds against each size."""
    yield growth("Bucket: run, seconds, against n", USERS, lambda n: bucket(n, 20, 0.05), "1")
    yield growth("Bucket: run, seconds, against log N", BITS, lambda bits: bucket(20_000, bits, 0.05), "3")
    logs = {math.log(1 / beta): beta for beta in BETAS}
    yield growth("Bucket: run, seconds, against log 1/beta", [*logs], lambda log: bucket(20_000, 20, logs[log]), "1")
    yield growth("GLPS-HH: recovery, seconds, against log N", GLPS_BITS, glps, "c")


if __name__ == "__main__":
    say(lines())
