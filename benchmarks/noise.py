"""Binomial noise, vectors of counters, samples with a threshold: values and times.

    python -m benchmarks.noise

Every line is one certified query, timed cold but for imports, in process time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from benchmarks.experiment import timed
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.count_min import largest, replaced
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch, Sampling
from ldpaudit.accountants.sampling.trie import ThresholdProfile, largest_batch
from ldpaudit.enclosure import Enclosure
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE


def line(name: str, query: Callable[[], Enclosure]) -> Enclosure:
    """Run one query and print its ends and its time."""
    found, spent = timed(query)
    print(f"{name:58} {found.low:.9e}  {found.high:.9e}  {found.rigour.name:8} {1e3 * spent:9.1f} ms")
    return found


def binomial() -> None:
    """One counter."""
    print("# Bin(n, gamma) on a count: epsilon(delta), then delta(epsilon) there")
    for n in (10**6, 10**9, 10**12):
        for gamma in (Fraction(1, 2), Fraction(1, 100)):
            for delta in (1e-9, 1e-300):
                name = f"n=1e{len(str(n)) - 1} gamma={float(gamma):g} k=1"
                found = line(f"{name} epsilon({delta:g})", lambda: ShiftProfile(n, gamma).epsilon(delta))  # noqa: B023
                line(f"{name} delta({found.high:.4g})", lambda: ShiftProfile(n, gamma).delta(found.high))  # noqa: B023


def vectors() -> None:
    """Several counters up and as many down."""
    print("# tau counters up and tau down: delta(epsilon), 5 normal standard deviations out")
    for n, gamma, tau in ((10**4, Fraction(1, 10), 10), (10**6, Fraction(1, 2), 20), (10**9, Fraction(1, 1000), 20)):
        epsilon = 5 * math.sqrt(2 * tau / (n * gamma * (1 - gamma)))
        profile = largest(n, gamma, replaced(n, gamma, ((1, tau), (-1, tau))))
        line(f"n={n:g} gamma={float(gamma):g} tau={tau} delta({epsilon:.4g})", lambda: profile.delta(epsilon))  # noqa: B023


def thresholds() -> None:
    """Samples with a threshold, one level and ten."""
    print("# samples with a threshold: delta(epsilon) and epsilon(delta)")
    cases: list[tuple[Sampling, int, float, float]] = [
        (FixedBatch(10**4, 100), 10, 0.105, 1e-8),
        (FixedBatch(10**6, 10**3), 12, 0.012, 1e-9),
        (FixedBatch(658769, 14478), 15, 0.4, 1e-9),
        (FixedBatch(10**12, 10**6), 18, 1e-5, 1e-15),
        (FixedBatch(10**12, 10**6), 64, 0.1, 1e-280),
        (PoissonBatch(10**12, Fraction(1, 1000)), 30, 0.05, 1e-12),
    ]
    for sampling, threshold, epsilon, delta in cases:
        for levels in (1, 10):
            for relation in (ADD_REMOVE, REPLACE_ONE):
                profile = ThresholdProfile(sampling, threshold, levels, relation)
                kind = type(sampling).__name__
                name = f"{kind} n={sampling.users:g} q={float(sampling.rate):.3g} theta={threshold} L={levels} {relation}"
                line(f"{name} d({levels * epsilon:g})", lambda: profile.delta(levels * epsilon))  # noqa: B023
                if levels == 1:
                    line(f"{name} e({delta:g})", lambda: profile.epsilon(delta))  # noqa: B023


def batches() -> None:
    """The largest batch for a promise."""
    batch, seconds = timed(lambda: largest_batch(658769, 15, 1, 0.4, 8.28e-13))
    print(f"largest batch for (0.4, 8.28e-13), n=658769, theta=15: {batch}, {seconds:.2f} s")


if __name__ == "__main__":
    binomial()
    vectors()
    thresholds()
    batches()
