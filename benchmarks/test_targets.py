"""What one certified query costs, beside the time to aim at, and dp-accounting's value and time where it does the same work.

    python -m pytest benchmarks/test_targets.py --benchmark-timer=time.process_time [--oracle PYTHON]

Every round is cold: a fresh profile, and nothing kept from the round before. Needs pytest-benchmark (extra 'bench'). PYTHON
is an interpreter of an environment with ``pip install dp-accounting``; it runs in a process of its own.
"""

import gc
import json
import math
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import _lru_cache_wrapper
from typing import Any

import pytest

from ldpaudit import Compose, Enclosure, Repeat, Shuffle, account
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.accountants.shuffling.clones import CloneProfile
from ldpaudit.mechanisms import KaryRandomizedResponse, Laplace

ROUNDS = 5
_ORACLE = """
import json, sys, time
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters as Parameters
kind, parts, delta, step = json.loads(sys.argv[1])
start = time.process_time()
total = None
for times, epsilon in parts:
    one = (
        pld.from_laplace_mechanism(1 / epsilon, value_discretization_interval=step)
        if kind == "laplace"
        else pld.from_privacy_parameters(Parameters(epsilon, 0.0), value_discretization_interval=step)
    )
    one = one.self_compose(times) if times > 1 else one
    total = one if total is None else total.compose(one)
found = total.get_epsilon_for_delta(delta)
print(json.dumps([found, time.process_time() - start]))
"""
_TIMEOUT = 120


@dataclass(frozen=True)
class Composition:
    """Runs of binary randomized response or Laplace noise, (times, epsilon) each; epsilon at a delta."""

    title: str
    seconds: float
    parts: tuple[tuple[int, float], ...]
    delta: float
    kind: str = "randomized response"
    step: float = 1e-4  # of the oracle's lattice

    def __call__(self) -> Enclosure:
        """Our enclosure."""
        runs = [Repeat(self.mechanism(epsilon), times) for times, epsilon in self.parts]
        return account(Compose(runs)).epsilon(Fraction(self.delta))

    def mechanism(self, epsilon: float) -> Laplace | KaryRandomizedResponse:
        """One run."""
        return Laplace.for_epsilon(epsilon) if self.kind == "laplace" else KaryRandomizedResponse.for_epsilon(epsilon, 2)

    def oracle(self, python: str) -> tuple[float, float] | None:
        """Its epsilon and seconds; None where it does not answer."""
        arguments = json.dumps([self.kind, self.parts, self.delta, self.step])
        command = [python, "-W", "ignore", "-c", _ORACLE, arguments]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT)
        except (OSError, subprocess.SubprocessError):
            return None
        value, seconds = json.loads(run.stdout)
        return value, seconds


_FIVE = tuple((200_000, epsilon) for epsilon in (0.001, 0.002, 0.0017, 0.0005, 0.003))
_HUNDRED = tuple((1, 0.05 + 0.002 * i) for i in range(100))
COMPOSITIONS = (
    Composition("T = 1e4, epsilon = 0.01, delta = 1e-6", 0.05, ((10_000, 0.01),), 1e-6),
    Composition("T = 1e6, epsilon = 0.001, delta = 1e-6", 0.05, ((1_000_000, 0.001),), 1e-6),
    Composition("T = 1e6, epsilon = 0.001, delta = 1e-30", 0.05, ((1_000_000, 0.001),), 1e-30),
    Composition("T = 1e9, epsilon = 1e-5, delta = 1e-300", 0.05, ((1_000_000_000, 1e-5),), 1e-300, step=1e-5),
    Composition("five kinds, 1e6 in all, delta = 1e-6", 2, _FIVE, 1e-6),
    Composition("five kinds, 1e6 in all, delta = 1e-30", 2, _FIVE, 1e-30),
    Composition("100 different, delta = 1e-6", 2, _HUNDRED, 1e-6),
    Composition("100 different, delta = 1e-30", 2, _HUNDRED, 1e-30),
    Composition("Laplace, T = 100, epsilon = 0.1, delta = 1e-6", 2, ((100, 0.1),), 1e-6, "laplace"),
)


@dataclass(frozen=True)
class Query:
    """One query, and seconds to aim at."""

    title: str
    seconds: float
    ask: Callable[[], Enclosure]

    def __call__(self) -> Enclosure:
        """Our enclosure."""
        return self.ask()


def binary(epsilon0: int, users: int) -> Shuffle:
    """Shuffled reports."""
    return Shuffle(KaryRandomizedResponse.for_epsilon(epsilon0, 2), users)


HALF, RARE, BILLION, MOST = Fraction(1, 2), Fraction(1, 100), 10**9, 10**12
QUERIES = (
    Query("clones, n = 1e9, epsilon0 = 1, delta(1e-4), to 1e-3", 0.05,
          lambda: CloneProfile(Fraction(1), BILLION, 1e-3).delta(1e-4)),
    Query("clones, n = 1e9, epsilon0 = 8, delta(0.01), to 1e-3", 0.05,
          lambda: CloneProfile(Fraction(8), BILLION, 1e-3).delta(0.01)),
    Query("clones, n = 1e9, epsilon0 = 1, delta(1e-4), to 1e-9", 1, lambda: CloneProfile(Fraction(1), BILLION).delta(1e-4)),
    Query("clones, n = 1e9, epsilon0 = 8, delta(0.01), to 1e-9", 1, lambda: CloneProfile(Fraction(8), BILLION).delta(0.01)),
    Query("clones, n = 1e12, epsilon0 = 12, delta(0.003), to 1e-3", 0.05,
          lambda: CloneProfile(Fraction(12), MOST, 1e-3).delta(0.003)),
    Query("binary RR, n = 1e6, epsilon0 = 1, epsilon(1e-6)", 1, lambda: account(binary(1, 10**6)).epsilon(1e-6)),
    Query("binary RR, n = 1e9, epsilon0 = 8, epsilon(1e-9)", 1, lambda: account(binary(8, BILLION)).epsilon(1e-9)),
    Query("binary RR, n = 1e9, epsilon0 = 8, epsilon(1e-300)", 1, lambda: account(binary(8, BILLION)).epsilon(1e-300)),
    *(
        Query(f"Bin(n, {float(gamma):g}), n = {n:.0e}, epsilon({delta:g})", 0.02,
              lambda n=n, gamma=gamma, delta=delta: ShiftProfile(n, gamma).epsilon(delta))  # type: ignore[misc]
        for n in (10**6, MOST) for gamma in (HALF, RARE) for delta in (1e-9, 1e-300)
    ),
    *(
        Query(f"threshold {theta} of {batch:.0e} of {users:.0e}: delta({epsilon:g})", 0.05,
              lambda u=users, b=batch, t=theta, e=epsilon: ThresholdProfile(FixedBatch(u, b), t).delta(e))  # type: ignore[misc]
        for users, batch, theta, epsilon in (
            (10**4, 100, 10, 0.105), (658769, 14478, 15, 0.4), (MOST, 10**6, 18, 1e-5), (MOST, 10**6, 64, 0.1))
    ),
    *(
        Query(f"threshold {theta} of {batch:.0e} of {users:.0e}: epsilon({delta:g})", 0.05,
              lambda u=users, b=batch, t=theta, d=delta: ThresholdProfile(FixedBatch(u, b), t).epsilon(d))  # type: ignore[misc]
        for users, batch, theta, delta in ((10**4, 100, 10, 1e-8), (658769, 14478, 15, 1e-9), (MOST, 10**6, 18, 1e-15))
    ),
    Query("threshold 30, Poisson 1e-3 of 1e12: delta(0.05)", 0.05,
          lambda: ThresholdProfile(PoissonBatch(MOST, Fraction(1, 1000)), 30).delta(0.05)),
)  # fmt: skip


def forget() -> None:
    """Empty every cache of the accountants'."""
    for found in gc.get_objects():
        if isinstance(found, _lru_cache_wrapper) and found.__wrapped__.__module__.startswith("ldpaudit"):
            found.cache_clear()


@pytest.mark.parametrize("query", [*COMPOSITIONS, *QUERIES], ids=lambda q: q.title)
def test_a_query_is_answered(query: Composition | Query, benchmark: Any, row: Any, request: pytest.FixtureRequest) -> None:
    """Cold rounds; a row of the table."""
    found = benchmark.pedantic(query, setup=forget, rounds=ROUNDS, warmup_rounds=1)
    assert 0 <= found.low <= found.high < math.inf
    spent = benchmark.stats.stats.median
    line = f"{query.title:52} [{found.low:.12g}, {found.high:.12g}] {found.rigour.name:8} {found.relative_width:7.0e}"
    line += f" {1e3 * spent:8.1f} ms = {spent / query.seconds:5.2f} of the target"
    python = request.config.getoption("--oracle")
    if isinstance(query, Composition) and python:
        other = query.oracle(python)
        line += "; dp-accounting: no answer" if other is None else beside(found, *other)
    row(line)


def beside(found: Enclosure, value: float, seconds: float) -> str:
    """The oracle's value against our enclosure."""
    if math.isinf(value):
        where = "infinite"
    elif value < found.low:
        where = f"{value:.12g}, {(value - found.low) / found.low:+.1e} from low: below the truth"
    else:
        where = f"{value:.12g}, " + ("inside" if value <= found.high else f"{(value - found.high) / found.high:+.1e} from high")
    return f"; dp-accounting: {where}, {1e3 * seconds:.0f} ms"
