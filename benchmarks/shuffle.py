"""Shuffling: certified epsilon and delta, how far apart the two ends are, and what a query costs.

    python -m benchmarks.shuffle [--quick]

Times are process time of one query on one core, without imports. "clones" are any local randomizer's dominating pair,
from both sides: its width is that of the arithmetic. The mechanisms' widths are those between the theorem above and the
data set below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from benchmarks.experiment import options, show, timed
from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.certified_search import certified_crossing
from ldpaudit.accountants.shuffling.clones import TOLERANCE, CloneProfile, Clones
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import Rappor
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Shuffle

USERS = tuple(10**power for power in range(4, 13))
EPSILONS = (1, 4, 8)
DELTAS = (1e-6, 1e-9)
DEEP = 1e-300
TOLERANCES = (1e-3, 1e-9)
"""Relative widths of the targets: 50 ms for the first, 1 s for the second, at n = 1e9."""


def clone_epsilon(epsilon0: int, users: int, delta: float) -> Enclosure:
    """Where the clones' delta is certainly above the goal, and where it is certainly at most that."""
    clones = Clones(Fraction(epsilon0))
    low, high = certified_crossing(lambda e, t: clones.delta(e, users, t), Fraction(delta), float(epsilon0), TOLERANCE)
    return Enclosure(low, max(low, high), Rigour.INTERVAL, "clones")


CLONES = "{clones:>8} {n:6.0e} {delta:7.0e} {epsilon:14.8g} {width:8.1e} {ms:8.0f}   {delta there, by tolerance}"


def clones(users: Iterable[int]) -> Iterator[tuple[str | float, ...]]:
    """Any local randomizer."""
    for epsilon0 in EPSILONS:
        for n in users:
            for delta in (*DELTAS, DEEP):
                found, seconds = timed(lambda e=epsilon0, n=n, d=delta: clone_epsilon(e, n, d))  # type: ignore[misc]
                there = delta_costs(epsilon0, n, found.high)
                yield epsilon0, n, delta, found.high, found.relative_width, 1e3 * seconds, there


def delta_costs(epsilon0: int, users: int, epsilon: float) -> str:
    """Width and time of one query of delta at either tolerance."""
    parts = []
    for tolerance in TOLERANCES:
        profile = CloneProfile(Fraction(epsilon0), users, tolerance)
        found, seconds = timed(lambda p=profile: p.delta(epsilon))  # type: ignore[misc]
        parts.append(f"{tolerance:.0e}: {found.relative_width:.1e} {1e3 * seconds:.1f}ms")
    return "; ".join(parts)


MECHANISMS: tuple[tuple[str, Mechanism], ...] = (
    *((f"binary RR {e}", KaryRandomizedResponse.for_epsilon(e, 2)) for e in EPSILONS),
    *((f"10-RR {e}", KaryRandomizedResponse.for_epsilon(e, 10)) for e in EPSILONS),
    *((f"1000-RR {e}", KaryRandomizedResponse.for_epsilon(e, 1000)) for e in EPSILONS),
    *((f"SUE 100 {e}", UnaryEncoding.symmetric(e, 100)) for e in EPSILONS),
    ("RAPPOR of Chromium", Rappor(32, 2, Fraction(1, 2), Fraction(1, 4), Fraction(3, 4))),
)


REPORTS = (
    "{mechanism:>18} {n:6.0e} {delta:7.0e} {epsilon low:14.8g} {high:14.8g} {width:8.1e} {rigour:>8} {seconds:8.2f}   "
    "{width at delta of high:22.1e} {ms:8.0f}"
)


def mechanisms(users: Iterable[int]) -> Iterator[tuple[str | float, ...]]:
    """What is known of particular ones."""
    for name, mechanism in MECHANISMS:
        for n in users:
            for delta in DELTAS:
                profile = account(Shuffle(mechanism, n))
                found, seconds = timed(lambda p=profile, d=delta: p.epsilon(d))  # type: ignore[misc]
                there, cost = timed(lambda p=profile, e=found.high: p.delta(e))  # type: ignore[misc]
                ends = found.low, found.high, found.relative_width, found.rigour.name
                yield name, n, delta, *ends, seconds, there.relative_width, 1e3 * cost


def main() -> None:
    """Print both tables."""
    users = (10**4, 10**6, 10**9) if options(__doc__, quick=False).quick else USERS
    show(CLONES, clones(users))
    show(REPORTS, mechanisms(users))


if __name__ == "__main__":
    main()
