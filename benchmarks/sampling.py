"""Views a second of every mechanism, beside what the random numbers alone cost.

    python -m benchmarks.sampling
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tests.zoo import AT_ONE

SIZE = 1 << 20
WIDE = 1 << 14
"""Views that are drawn where one has more than a hundred numbers."""


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The fastest of a few runs: the machine has other things to do."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    floor = seconds(lambda: rng.random(SIZE)) / SIZE
    print(f"{'mechanism':60} {'views/s':>12} {'in uniforms':>12}")
    for m in AT_ONE:
        x = m.inputs[0]
        size = WIDE if np.asarray(m.sample(x, 1, rng)).size > 100 else SIZE
        cost = seconds(lambda m=m, x=x, size=size: m.sample(x, size, rng)) / size
        print(f"{str(m)[:60]:60} {1 / cost:12,.0f} {cost / floor:12.1f}")


if __name__ == "__main__":
    main()
