"""How well the cost of a sum is known, and how quickly: high over low, and seconds, over users, noise and delta.

    python -m benchmarks.sums [--users 100 10000 ...] [--epsilon0 1 5 ...] [--deltas 1e-6 ...]
    python -m benchmarks.sums --picture docs/pictures/sums-users.svg

Flips of equal probability, of epsilon0 for a single bit, and optimized unary encoding of epsilon0 for a replaced value, of eight
values and of two. A cell is the largest ratio over the deltas, and the seconds of the processor for the first of them, with nothing
computed before.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

from benchmarks.experiment import options, picture, show, timed
from ldpaudit import Aggregate, Enclosure, Plan, Run, Shuffle, account
from ldpaudit.accountants.aggregation.envelope import envelope
from ldpaudit.mechanisms import DiscreteLaplace, UnaryEncoding

USERS = [10**2, 10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9]
NOISE: dict[str, Callable[[Fraction], UnaryEncoding]] = {
    "flips": lambda epsilon0: UnaryEncoding.symmetric(2 * epsilon0, 8),
    "optimized": lambda epsilon0: UnaryEncoding.optimized(epsilon0, 8),
    "two values": lambda epsilon0: UnaryEncoding.optimized(epsilon0, 2),
}


def rows(users: list[int], epsilons: list[float], deltas: list[float]) -> Iterator[tuple[str, float, int, float, float, float]]:
    """Noise, epsilon0, users, epsilon at the last delta, worst ratio, seconds."""
    for name, mechanism in NOISE.items():
        for epsilon0 in epsilons:
            for n in users:
                envelope.cache_clear()
                profile = account(Aggregate(mechanism(Fraction(epsilon0).limit_denominator(100)), n))
                first, seconds = timed(lambda profile=profile: profile.epsilon(deltas[0]))  # type: ignore[misc]
                found: list[Enclosure] = [first, *map(profile.epsilon, deltas[1:])]
                ratio = max(e.high / e.low if e.low else 1 + e.high for e in found)
                yield name, epsilon0, n, found[-1].high, ratio, seconds


def draw(file: Path) -> None:
    """Epsilon over users: of one report, of all reports shuffled, of their sum, and of their sum with noise."""
    m, noise = NOISE["flips"](Fraction(5)), DiscreteLaplace(Fraction(9, 10))
    users = [round(10 ** (place / 4)) for place in range(12, 33)]
    plans: dict[str, Callable[[int], Plan]] = {
        "one report": lambda n: Run(m),
        "all reports, shuffled": lambda n: Shuffle(m, n),
        "the sum of all reports": lambda n: Aggregate(m, n),
        "the sum, with noise of an aggregator": lambda n: Aggregate(m, n, [noise]),
    }
    with picture(file, (7, 4), "sums") as figure:
        axes = figure.add_subplot()
        for label, plan in plans.items():
            found = [account(plan(n)).epsilon(1e-9) for n in users]
            (line,) = axes.loglog(users, [e.high for e in found], label=label)
            axes.fill_between(users, [max(e.low, 1e-6) for e in found], [e.high for e in found], color=line.get_color(), alpha=0.3)
        axes.set(xlabel="users", ylabel="epsilon at delta = 1e-9", ylim=(3e-3, 20))
        axes.grid(True, alpha=0.3)
        axes.legend(frameon=False)


if __name__ == "__main__":
    given = options(__doc__, picture=Path, users=USERS, epsilon0=[0.1, 1.0, 3.0, 5.0, 10.0], deltas=[1e-6, 1e-3, 1e-9, 1e-12])
    if given.picture:
        draw(given.picture)
        raise SystemExit
    columns = "{noise:11}{epsilon0:>9.3g}{users:>12.0e}{epsilon:>12.4g}{high/low:>10.4f}{seconds:>9.2f}"
    found = show(columns, rows(given.users, given.epsilon0, given.deltas))
    print(f"worst ratio {max(row[4] for row in found):.4f}, slowest {max(row[5] for row in found):.2f} s")
