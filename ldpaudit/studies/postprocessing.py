"""Estimated counts made to be counts, at no cost of privacy: functions of what is released."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]


def none(counts: Counts, users: int) -> Counts:
    """As they are: unbiased, and some of them negative."""
    return counts


def nonnegative(counts: Counts, users: int) -> Counts:
    """Negative ones are 0; none is farther from the truth, but their sum is too large."""
    return np.maximum(counts, 0.0)


def norm_sub(counts: Counts, users: int) -> Counts:
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


def norm_cut(counts: Counts, users: int) -> Counts:
    """Negative ones are 0, and the smallest ones too, as many as it takes for the sum to be at most the number of users.

    Those that stay are as they were: the best for frequent values. Source: Wang and others 2020, Section 4.
    """
    order = np.argsort(counts)[::-1]
    kept = np.cumsum(np.maximum(counts[order], 0.0)) <= users
    found = np.zeros_like(counts)
    found[order] = np.where(kept, np.maximum(counts[order], 0.0), 0.0)
    return found


WAYS: dict[str, Callable[[Counts, int], Counts]] = {
    "none": none,
    "nonnegative": nonnegative,
    "norm-sub": norm_sub,
    "simplex": norm_sub,
    "norm-cut": norm_cut,
}
"""By their names in the command; `simplex` is what Norm-Sub computes."""
