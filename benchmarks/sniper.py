"""Ours beside DP-Sniper: ten of the violations that `benchmarks.violations` audits, of the same views for both.

    python -m benchmarks.sniper [--views 100_000]

DP-Sniper is written again here from its paper (Bichsel, Steffen, Bogunovic, Vechev 2021, "DP-Sniper: Black-Box Discovery of
Differential Privacy Violations using Classifiers", Algorithms 1 and 2): a logistic regression tells the two inputs' reports
apart; the reports that it finds likeliest on the first input, a share C of those on the second, are the event, with ties broken
by a coin; two Clopper-Pearson intervals give the bound. A third of the views trains it, a third finds the threshold, the rest is
counted; the better of both orders of the inputs is chosen by the second third. A report is the vector of its numbers, so that only
violations whose reports have one length are compared. Ours is an audit of a fixed sample. Both bounds hold with confidence 0.95.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from benchmarks.experiment import options, show, timed
from benchmarks.known_laws import CASES, Case
from benchmarks.violations import MOST, claimed, epsilon_of
from ldpaudit import audit
from ldpaudit.evidence import Mode

ALPHA, C = 0.05, 0.01
"""Failure probability, and the share of the second input's reports on which the event fires (Section 5.1)."""
RIDGE = 1e-3  # weight of the penalty that keeps the regression finite where the inputs are separated
TEN = (
    "randomized response: epsilon is spent twice", "randomized response: of a hundred", "unary: symmetric, of ten",
    "unary: each bit spends all", "Laplace: the scale is the deviation", "Laplace: a histogram, one entry for two",
    "Laplace: a vector of which one entry tells", "rare leaks: 1e-2", "order: the first of a list",
    "images: a low bit of 256 pixels",
)  # fmt: skip

Floats = NDArray[np.float64]
Function = Callable[[Any], Any]


def drawn(function: Function, x: Any, size: int) -> Floats:
    """Reports as rows of numbers."""
    return np.array([np.ravel(function(x)) for _ in range(size)], dtype=np.float64)


def regression(first: Floats, second: Floats) -> Callable[[Floats], Floats]:
    """The log-odds of the first input, by logistic regression on standardized numbers."""
    both = np.concatenate([first, second])
    middle, spread = both.mean(axis=0), np.maximum(both.std(axis=0), 1e-9)
    sign = np.concatenate([np.ones(len(first)), -np.ones(len(second))])

    def table(reports: Floats) -> Floats:
        return np.column_stack([(reports - middle) / spread, np.ones(len(reports))])

    known = table(both)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = sign * (known @ weights)
        gradient = -(known * (sign * special.expit(-margin))[:, None]).mean(axis=0) + RIDGE * weights
        return float(-special.log_expit(margin).mean() + RIDGE / 2 * weights @ weights), gradient

    fitted = optimize.minimize(loss, np.zeros(known.shape[1]), jac=True, method="L-BFGS-B").x
    return lambda reports: table(reports) @ fitted


def event(scores: Floats) -> tuple[float, float]:
    """The threshold above which a share C of the scores lies, and the probability with which a score at it counts."""
    ordered = -np.sort(-scores)
    threshold = float(ordered[min(int(C * len(scores)), len(scores) - 1)])
    above, at = np.count_nonzero(scores > threshold), np.count_nonzero(scores == threshold)
    return threshold, float(np.clip((C * len(scores) - above) / at, 0.0, 1.0))


def sniper(function: Function, a: Any, b: Any, views: int, rng: np.random.Generator) -> float:
    """DP-Sniper's lower bound."""
    third = views // 6  # on each input
    log_odds = regression(*(drawn(function, x, third) for x in (a, b)))
    found = []
    for sign, pair in ((1.0, [a, b]), (-1.0, [b, a])):
        first, second = (sign * log_odds(drawn(function, x, third // 2)) for x in pair)
        threshold, tie = event(second)
        fires = np.mean(first > threshold) + tie * np.mean(first == threshold)
        found.append((float(fires), sign, threshold, tie, pair))
    _, sign, threshold, tie, pair = max(found, key=lambda each: each[0])
    counts = []
    for x in pair:
        scores = sign * log_odds(drawn(function, x, third))
        counts.append(np.count_nonzero((scores > threshold) | ((scores == threshold) & (rng.random(third) < tie))))
    least = special.betaincinv(counts[0], third - counts[0] + 1, ALPHA / 2) if counts[0] else 0.0
    most = special.betaincinv(counts[1] + 1, third - counts[1], 1 - ALPHA / 2)
    return max(0.0, math.log(least / most)) if least else 0.0


def row(case: Case, views: int) -> tuple[str | float, ...]:
    """Both bounds, and the processor's seconds."""
    built = case.build(case.wrong)
    theirs = built.make(np.random.default_rng(1))
    found, seconds = timed(lambda: sniper(theirs, *case.inputs, views, np.random.default_rng(2)))
    ours = built.make(np.random.default_rng(3))
    evidence, own = timed(lambda: audit(lambda x: ours(x), inputs=list(case.inputs), trials=views, mode=Mode.FIXED))
    truth = epsilon_of(built.law, 0.0)
    bounds = claimed(case), truth if truth < MOST else math.inf, found, evidence.epsilon_lower
    return f"{case.family}: {case.name}", *bounds, seconds, own


COLUMNS = "{violation:46} {claimed:7.3f} {true:7.3f} {DP-Sniper:9.3f} {ours:7.3f} {s:6.1f} {s, ours:7.1f}"


def rows(views: int) -> Iterator[tuple[str | float, ...]]:
    """The ten, in the order of `TEN`."""
    named = {f"{case.family}: {case.name}": case for case in CASES}
    return (row(named[name], views) for name in TEN)


if __name__ == "__main__":
    show(COLUMNS, rows(options(__doc__, views=100_000).views))
