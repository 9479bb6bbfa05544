"""Composition: our enclosure of epsilon and its time, beside dp-accounting's number and time on the same work.

    python -m benchmarks.composition [--oracle PYTHON]

PYTHON is an interpreter of an environment with ``pip install dp-accounting``; it runs in a subprocess, so that nothing
of it is needed here. Times are of one query on one core, profile included, process time without imports.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Compose, Repeat

_ORACLE = """
import json, sys, time
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters as Parameters
parts, delta, step = json.loads(sys.argv[1])
start = time.process_time()
total = None
for times, epsilon in parts:
    one = pld.from_privacy_parameters(Parameters(epsilon, 0.0), value_discretization_interval=step)
    one = one.self_compose(times) if times > 1 else one
    total = one if total is None else total.compose(one)
found = total.get_epsilon_for_delta(delta)
print(json.dumps([found, time.process_time() - start]))
"""
_TIMEOUT = 60


@dataclass(frozen=True)
class Case:
    """Binary randomized responses, (times, epsilon) each; the question, and the oracle's lattice."""

    title: str
    parts: tuple[tuple[int, float], ...]
    delta: float
    step: float = 1e-4


_FIVE = tuple((200_000, epsilon) for epsilon in (0.001, 0.002, 0.0017, 0.0005, 0.003))
_HUNDRED = tuple((1, 0.05 + 0.002 * i) for i in range(100))
CASES = (
    Case("T = 1e4, epsilon = 0.01, delta = 1e-6", ((10_000, 0.01),), 1e-6),
    Case("T = 1e6, epsilon = 0.001, delta = 1e-6", ((1_000_000, 0.001),), 1e-6),
    Case("T = 1e6, epsilon = 0.001, delta = 1e-30", ((1_000_000, 0.001),), 1e-30),
    Case("T = 1e9, epsilon = 1e-5, delta = 1e-300", ((1_000_000_000, 1e-5),), 1e-300, 1e-5),
    Case("five kinds, 1e6 in all, delta = 1e-6", _FIVE, 1e-6),
    Case("five kinds, 1e6 in all, delta = 1e-30", _FIVE, 1e-30),
    Case("100 different, delta = 1e-6", _HUNDRED, 1e-6),
)


def ours(case: Case) -> tuple[Enclosure, float]:
    """Enclosure of epsilon for randomized responses whose epsilon is next to the one asked for, and seconds."""
    runs = [Repeat(KaryRandomizedResponse.for_epsilon(e, 2), times) for times, e in case.parts]
    start = time.process_time()
    found = account(Compose(runs)).epsilon(Fraction(case.delta))
    return found, time.process_time() - start


def theirs(case: Case, python: str | None) -> tuple[float, float] | None:
    """The oracle's epsilon and seconds; None where it is not installed, or does not answer."""
    if python is None:
        return None
    arguments = json.dumps([case.parts, case.delta, case.step])
    try:
        run = subprocess.run(
            [python, "-W", "ignore", "-c", _ORACLE, arguments],
            capture_output=True, text=True, check=True, timeout=_TIMEOUT,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    value, seconds = json.loads(run.stdout)
    return value, seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", metavar="PYTHON", help="interpreter with dp-accounting")
    python = parser.parse_args(arguments).oracle
    account(Repeat(KaryRandomizedResponse.for_epsilon(1, 3), 2)).epsilon(0.1)  # imports
    print(f"{'epsilon of':<42}{'low':>20}{'high':>20}{'rigour':>10}{'s':>8}   dp-accounting")
    for case in CASES:
        found, seconds = ours(case)
        line = f"{case.title:<42}{found.low:>20.15g}{found.high:>20.15g}{found.rigour.name:>10}{seconds:>8.3f}   "
        other = theirs(case, python)
        if other is None:
            print(line + "not installed, or no answer")
            continue
        value, its = other
        where = "inside" if found.low <= value <= found.high else f"{(value - found.high) / found.high:+.1e} from high"
        where = f"{(value - found.low) / found.low:+.1e} from low" if value < found.low else where
        print(f"{line}{value:.15g} ({'infinite' if math.isinf(value) else where}), {its:.3f} s")


if __name__ == "__main__":
    main()
