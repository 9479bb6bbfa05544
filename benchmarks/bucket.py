"""What the Bucket mechanism costs, beside Theorem 4.4 of Hsu, Khanna, Roth 2012: O(n log(1/beta) log^3 N).

Run with ``PYTHONPATH=. python -m benchmarks.bucket``, on one core.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from ldpaudit.accountants.claims.bucket_heavy_hitter import Setting, least_users, sufficient_scale, theorem_4_3
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter

USERS, BITS, BETAS = [300, 3_000, 30_000, 300_000], [7, 15, 30, 60], [0.3, 0.1, 0.01, 1e-4]
SETTINGS = [
    Setting(Fraction(9, 10), Fraction(1, 10**6), Fraction(1, 20), 2**20, 10**8),
    Setting(Fraction(1, 2), Fraction(1, 10**9), Fraction(1, 100), 2**32, 10**9),
    Setting(Fraction(1, 10), Fraction(1, 10**12), Fraction(1, 20), 10**6, 10**10),
]


def seconds(users: int, bits: int, beta: float) -> float:
    """One run, and what the server does with it."""
    m = BucketHeavyHitter.as_printed(1, 1e-6, beta, 1 << bits)
    rng = np.random.default_rng(1)
    data = rng.integers(0, 1 << bits, users)
    m.truth(data[:2])  # the public tables are made once
    start = time.process_time()
    m.heavy_hitter(m.run(data, rng), users)
    return time.process_time() - start


def main() -> None:
    """Print times and fitted exponents, then noise claimed and noise that suffices."""
    sweeps = {
        "n": (USERS, [seconds(n, 20, 0.05) for n in USERS], "1"),
        "log N": (BITS, [seconds(20_000, bits, 0.05) for bits in BITS], "3"),
        "log 1/beta": (np.log(1 / np.array(BETAS)).tolist(), [seconds(20_000, 20, beta) for beta in BETAS], "1"),
    }
    for name, (sizes, times, claimed) in sweeps.items():
        slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        found = "  ".join(f"{size:.6g}: {t:.3g} s" for size, t in zip(sizes, times, strict=True))
        print(f"{name:12}exponent {slope:5.2f}, claimed {claimed}    {found}")
    for s in SETTINGS:
        print(f"\nN={s.domain}, epsilon={float(s.epsilon):g}, delta={float(s.delta):g}, beta={float(s.beta):g}")
        for printed in theorem_4_3(s):
            print(f"    {printed}")
        enough, claimed_scale = sufficient_scale(s), float(s.mechanism.scale)
        print(f"    noise: claimed {claimed_scale:.6g}, enough {enough.high:.6g}, ratio {claimed_scale / enough.high:.4g}")
        print(f"    Theorem 4.8 speaks from n = {least_users(s):,} users on")


if __name__ == "__main__":
    main()
