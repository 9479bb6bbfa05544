"""Times of one query to the two oracles of GGKPV, over three decades of users and of values, with fitted exponents.

    python -m benchmarks.query_times

The Hadamard oracle's server holds all messages and reads every one; the count-min's holds a table of counts, of which it reads
one of each row. Messages are random ones: what is held changes no step of a query. Times are of the processor, medians.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from benchmarks.experiment import exponent, say, times
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.report.claims import markdown_of

USERS = (100, 1_000, 10_000, 100_000)
VALUES = tuple(1 << bits for bits in (10, 13, 17, 20))
SOME_USERS, SOME_VALUES = 10_000, 1 << 14
RHO = 31
"""Blanket messages per user: few, so that all messages have room. A query's time is proportional to rho + 1."""
_REPEATS = 9


Timed: TypeAlias = tuple[int, float]
"""Of one query: numbers that it reads, and its seconds."""


def hadamard(users: int, values: int) -> Timed:
    """Of stored messages, those that speak for a value."""
    m = ShuffledHadamard(users, values, (users - 1).bit_length(), RHO)
    messages = np.random.default_rng(0).integers(0, 2 * values, (users * (RHO + 1), m.tau))
    return timed(messages.size, lambda: m.speaking(messages, 1))


def count_min(users: int, values: int) -> Timed:
    """Of a stored table, the least of a value's cells."""
    m = ShuffledCountMin(users, values, (2 * values - 1).bit_length(), 2 * users, Fraction(1, 100))
    table = np.random.default_rng(0).binomial(users, float(m.gamma), (m.rows, m.buckets))
    return timed(m.rows, lambda: min(int(table[t, m.hashes(1, t)]) for t in range(m.rows)))


def timed(reads: int, query: Callable[[], object]) -> Timed:
    """A query that was asked once before."""
    query()
    return reads, statistics.median(times(query, _REPEATS))


ORACLES = (("Hadamard", hadamard, "O(n (rho + 1) tau)"), ("count-min", count_min, "O(tau)"))


def page() -> Iterator[str]:
    """Two tables."""
    head = ("oracle", "claimed", "", *(f"n = {n:,}" for n in USERS), "exponent in n", "claimed")
    yield f"B = {SOME_VALUES:,}, rho = {RHO}; milliseconds of one query, and numbers that it reads:\n"
    yield table(head, [[f(n, SOME_VALUES) for n in USERS] for _, f, _ in ORACLES], USERS, ("1, and that of tau = log2 n", "0"))
    head = ("oracle", "claimed", "", *(f"B = {b:,}" for b in VALUES), "exponent in B", "claimed")
    yield f"\nn = {SOME_USERS:,}, rho = {RHO}:\n"
    yield table(head, [[f(SOME_USERS, b) for b in VALUES] for _, f, _ in ORACLES], VALUES, ("0", "that of tau = log2 2B"))


def table(head: tuple[str, ...], found: list[list[Timed]], sizes: tuple[int, ...], claimed: tuple[str, str]) -> str:
    """Milliseconds and reads, a line each."""
    rows = []
    for (name, _, formula), queries, wanted in zip(ORACLES, found, claimed, strict=True):
        reads, spent = zip(*queries, strict=True)
        rows.append((name, formula, "ms", *(f"{1000 * each:.3g}" for each in spent), f"{exponent(sizes, spent):.2f}", wanted))
        rows.append(("", "", "reads", *(f"{each:,}" for each in reads), f"{exponent(sizes, reads):.2f}", ""))
    return markdown_of(head, rows)


if __name__ == "__main__":
    say(page())
