"""Theorem 3.3 of Hsu, Khanna, Roth 2012 as a picture: how far off any local protocol is in counting one of two values.

    python -m benchmarks.limits PICTURE

Over the number of users: the largest error that is certified to be exceeded with probability 0.1 on some data set, by the
Bayes risk of a uniform prior and by Berry-Esseen; the theorem's rate, the root of n; and the 0.9 quantile
of the error of randomized response on half ones, simulated and in the normal law.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from ldpaudit.accountants.limits.hsu import berry_esseen_failure, frequency_failure
from ldpaudit.accountants.numerics.search import first
from ldpaudit.enclosure import Enclosure

EPSILON, BETA, RUNS = 0.5, 0.1, 4000
USERS = [int(10 ** (power / 2)) for power in range(7, 19)]


def excluded(failure: Callable[[int, float, float], Enclosure], users: int) -> int:
    """The largest error in users, an integer, that is exceeded with more than the probability; -1 where none is."""
    return first(lambda error: not failure(users, error, EPSILON).low > BETA, round(math.sqrt(users)), 0, users) - 1


def reached(users: int, rng: np.random.Generator) -> float:
    """The quantile of the error of randomized response, where half of the users hold a one."""
    truth = 1 / (1 + math.exp(-EPSILON))
    ones = users // 2
    reports = rng.binomial(ones, truth, RUNS) + rng.binomial(users - ones, 1 - truth, RUNS)
    estimates = (reports - users * (1 - truth)) / (2 * truth - 1)
    return float(np.quantile(np.abs(estimates - ones), 1 - BETA))


def rows() -> list[tuple[float, ...]]:
    """For each number of users: uniform prior, Berry-Esseen, the root of n, and what is reached."""
    rng = np.random.default_rng(1)
    found = []
    for users in USERS:
        bounds = [excluded(failure, users) for failure in (frequency_failure, berry_esseen_failure)]
        found.append((users, *bounds, math.sqrt(users), reached(users, rng)))
    return found


def main(picture: str) -> None:
    """Print the table, and draw it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    table = rows()
    names = ("uniform prior", "Berry-Esseen", "root of n", "randomized response")
    print(f"{'users':>12}" + "".join(f"{name:>22}" for name in names))
    for row in table:
        print(f"{row[0]:>12,.0f}" + "".join(f"{value:>22.6g}" for value in row[1:]))
    figure, axes = plt.subplots(figsize=(7, 4.5))
    users = [row[0] for row in table]
    for column, (name, style) in enumerate(zip(names, ("o-", "s--", ":", "x-"), strict=True), start=1):
        axes.loglog(users, [row[column] if row[column] > 0 else math.nan for row in table], style, label=name, markersize=4)
    axes.set(xlabel="users", ylabel=f"error in users, exceeded with probability {BETA}", title=f"epsilon = {EPSILON}")
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
