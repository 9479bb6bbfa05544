"""Estimated counts made to be counts, at no cost of privacy: functions of what is released."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
Variance: TypeAlias = Callable[[Counts], Counts]
"""From true counts to the variances of their estimates."""
_FAR = 40.0  # standard deviations up to which counts are drawn towards others; beyond, hardly anything would change
_STEP = 0.125  # of the grid of true counts, in standard deviations
_ROUNDS = 300  # of the maximization; later ones sharpen the law of the counts, and hardly move their means


def none(counts: Counts, users: int, variance: Variance) -> Counts:
    """As they are: unbiased, and some of them negative."""
    return counts


def nonnegative(counts: Counts, users: int, variance: Variance) -> Counts:
    """Negative ones are 0; none is farther from the truth, but their sum is too large."""
    return np.maximum(counts, 0.0)


def norm_sub(counts: Counts, users: int, variance: Variance) -> Counts:
    r"""The nearest counts that are not negative and sum to the number of users: :math:`\max(x_v - \delta, 0)`.

    Norm-Sub subtracts one number from all positive counts and makes negative ones 0 until the sum is right; what it arrives at
    satisfies the conditions of Karush, Kuhn and Tucker, so it is the Euclidean projection on the simplex. Never farther from the
    truth than the counts are. Source: Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li 2020, "Locally differentially private frequency
    estimation with consistency", Sections 4 and 5; Duchi, Shalev-Shwartz, Singer, Chandra 2008, Figure 1.
    """
    falling = np.sort(counts)[::-1]
    deltas = (np.cumsum(falling) - users) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(falling > deltas)[-1]
    found: Counts = np.maximum(counts - deltas[last], 0.0)
    return found


def empirical_bayes(counts: Counts, users: int, variance: Variance) -> Counts:
    r"""The mean of a value's true count given its estimate, if true counts have the law that makes all estimates most likely.

    Small counts are mostly noise, and are drawn to where most of them are; large ones stay. The law is on a grid, found by
    expectation maximization with normal errors; `norm_sub` makes the sum right. Of all ways the smallest mean squared error on
    skewed and on flat data, though no bound says so: a single count may be farther off. Source: Robbins 1956; Kiefer, Wolfowitz
    1956; Koenker, Mizera 2014.
    """
    deviation = float(np.sqrt(variance(np.zeros(1))[0]))
    near = counts <= _FAR * deviation
    if not deviation > 0 or not near.any():
        return norm_sub(counts, users, variance)
    step = _STEP * deviation
    bins, place, often = np.unique(np.rint(counts[near] / step), return_inverse=True, return_counts=True)
    grid = np.arange(0.0, max(bins[-1], 0.0) + 1 / _STEP) * step
    apart, spread = bins[:, None] * step - grid, variance(grid)
    logs = -(apart**2) / (2 * spread) - np.log(spread) / 2
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    law, share = np.full(len(grid), 1 / len(grid)), often / often.sum()
    for _ in range(_ROUNDS):
        law = law * (share / (chances @ law) @ chances)
    means = np.maximum.accumulate((chances * law) @ grid / (chances @ law))
    found = counts.copy()
    found[near] = means[place.ravel()]
    return norm_sub(found, users, variance)


WAYS: dict[str, Callable[[Counts, int, Variance], Counts]] = {
    "none": none,
    "nonnegative": nonnegative,
    "norm-sub": norm_sub,
    "simplex": norm_sub,
    "empirical-bayes": empirical_bayes,
}
"""By their names in the command; `simplex` is what Norm-Sub computes."""
