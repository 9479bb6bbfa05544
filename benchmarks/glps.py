"""What recovery by GLPS-HH costs as N grows, what it finds, and the noise that is printed beside the noise that suffices.

Run with ``PYTHONPATH=. python -m benchmarks.glps``, on one core. Hsu, Khanna, Roth 2012, section 4.1, say O(s log^c N).
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.glps_heavy_hitter import any_matrix, sufficient_scale
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter, printed_scale
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE

BITS = [10, 20, 30, 40, 50, 60]
ROWS, BUCKETS, SPARSITY, USERS = 3, 256, 16, 10**8
REPEATS, TIMED = 5, (9, 1 << 10)
"""Recoveries of which the fastest counts, and their rows and buckets: so many that the constant cost of numpy's calls is small."""
MILLIONTH = Fraction(1, 10**6)
PROMISES = [(Fraction(1), MILLIONTH, 20), (Fraction(1, 2), MILLIONTH, 32), (Fraction(9, 10), MILLIONTH / 1000, 60)]


def seconds(bits: int) -> float:
    """Least time of one recovery, of measurements with noise, among several."""
    rng = np.random.default_rng(bits)
    m = GlpsHeavyHitter(1 << bits, SPARSITY, *TIMED, Fraction(66))
    values = rng.integers(0, m.domain, 2000).tolist()
    held = dict.fromkeys(values, (USERS - 5 * 65 * USERS // 1000) // 2000) | dict.fromkeys(values[:5], 65 * USERS // 1000)
    gamma = rng.standard_gamma(USERS, (2, m.measurements))
    measured = m.truth(held) + float(m.scale) * (gamma[0] - gamma[1])
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        m.decode(measured)
        times.append(time.process_time() - start)
    return min(times)


def recovered(users: int, shares: tuple[float, ...], scale: Fraction, runs: int) -> list[int]:
    """In how many runs values that these shares of the users hold are found, among 2000 others of 2**20."""
    hits = np.zeros(len(shares), dtype=np.int64)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        m = GlpsHeavyHitter(1 << 20, SPARSITY, ROWS, BUCKETS, scale, seed)
        values = rng.choice(m.domain, 2000 + len(shares), replace=False).tolist()
        held = {x: int(share * users) for x, share in zip(values, shares, strict=False)}
        rest = (users - sum(held.values())) // 2000
        found = m.run_in_law(held | dict.fromkeys(values[len(shares) :], rest), rng)
        hits += [x in found for x in values[: len(shares)]]
    found_in: list[int] = hits.tolist()
    return found_in


def noise(epsilon: Fraction, delta: Fraction, bits: int) -> None:
    """Printed and sufficient scales of one promise, for both relations, and what the printed one costs."""
    m = GlpsHeavyHitter(1 << bits, SPARSITY, ROWS, BUCKETS, Fraction(1))
    printed = printed_scale(epsilon, delta, Fraction(m.measurements))
    print(f"\n({float(epsilon):g}, {float(delta):g}), N=2^{bits}, R={ROWS}, B={BUCKETS}, m={m.measurements}")
    for relation in (REPLACE_ONE, ADD_REMOVE):
        enough = sufficient_scale(epsilon, delta, m.touched, relation).high
        cost = account(replace(m, scale=printed), relation).epsilon(delta)
        print(f"    {relation!s:12} any seed: printed {float(printed):.6g}, suffices {enough:.6g}, "
              f"ratio {float(printed) / enough:.4g}; cost of the printed {cost}")  # fmt: skip
    rows = 185  # of a matrix as the paper charges it, all entries of which are 1 or -1
    dense = printed_scale(epsilon, delta, Fraction(rows))
    for relation in (REPLACE_ONE, ADD_REMOVE):
        enough = sufficient_scale(epsilon, delta, rows, relation).high
        cost = any_matrix(rows, dense, relation).epsilon(delta)
        print(f"    {relation!s:12} full matrix of {rows} rows: printed {float(dense):.6g}, suffices {enough:.6g}, "
              f"ratio {float(dense) / enough:.4g}; cost of the printed {cost}")  # fmt: skip


def main() -> None:
    """Print the three tables."""
    seconds(BITS[0])
    times = [seconds(bits) for bits in BITS]
    print(f"recovery, R={TIMED[0]}, B={TIMED[1]}, s={SPARSITY}")
    print(f"{'log2 N':>8}{'ms':>10}{'ratio':>8}{'of log N':>10}")
    for i, (bits, spent) in enumerate(zip(BITS, times, strict=True)):
        ratios = f"{spent / times[i - 1]:8.3f}{bits / BITS[i - 1]:10.3f}" if i else ""
        print(f"{bits:>8}{1e3 * spent:10.3f}{ratios}")
    print(f"fitted exponent of log N: {np.polyfit(np.log(BITS), np.log(times), 1)[0]:.3f}")
    for users, shares, scale, runs in (
        (10**8, (0.065,) * 5, Fraction(66), 40),
        (10**10, (0.1, 0.05, 0.03), printed_scale(1, MILLIONTH, Fraction(ROWS * BUCKETS * 21)), 10),
    ):
        hits = recovered(users, shares, scale, runs)
        print(f"n={users:g}, b={float(scale):.6g}: shares {shares} found in {hits} of {runs} runs")
    for promise in PROMISES:
        noise(*promise)


if __name__ == "__main__":
    main()
