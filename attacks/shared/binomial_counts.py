"""Counts with binomial noise: the loss of one count, where its coins or its messages differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from ldpaudit.mechanism import Views

_LONG = 1 << 20
"""Coins of a count up to which its losses are tabulated: 8 MB."""

Floats: TypeAlias = NDArray[np.float64]
Column: TypeAlias = tuple[int, int]
"""Coins and messages of a count."""


def score_of(first: Sequence[Column], second: Sequence[Column], gamma: float) -> tuple[Callable[[Views], Floats], int]:
    """Rows of counts to log-likelihood ratios of one input's columns against another's, and how many columns differ."""
    columns = zip(first, second, strict=True)
    differ = [(i, _loss(there, back, gamma)) for i, (there, back) in enumerate(columns) if there != back]

    def score(views: Views) -> Floats:
        counts, found = np.asarray(views), np.zeros(len(views))
        with np.errstate(invalid="ignore"):
            for i, loss in differ:
                found += loss(counts[:, i])
        # Rounded, so that equal sums in another order stay equal; inf - inf is a view that neither input shows.
        return np.nan_to_num(np.round(found, 9), nan=0.0, posinf=np.inf, neginf=-np.inf)

    return score, len(differ)


def _loss(first: Column, second: Column, gamma: float) -> Callable[[NDArray[Any]], Floats]:
    """Counts to the log-ratio of Bin(coins, gamma) + messages under the first and under the second."""
    most = max(coins + own for coins, own in (first, second))
    if most > _LONG:
        return lambda y: _long(y.astype(np.float64), first, second, gamma)
    support = np.arange(most + 1)
    there, back = (binom.logpmf(support - own, coins, gamma) for coins, own in (first, second))
    with np.errstate(invalid="ignore"):
        table = np.append(np.where(there == back, 0.0, there - back), 0.0)  # the last for what neither shows
    return lambda y: table[np.where((y >= 0) & (y <= most), y, most + 1)]


def _long(y: Floats, first: Column, second: Column, gamma: float) -> Floats:
    (coins, own), (fewer, other) = first, second
    missing, odds = coins - fewer, gamma / (1 - gamma)
    found = np.zeros_like(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        # C(n, y - own) / C(n, y - other), factor by factor
        for i in range(min(own, other), max(own, other)):
            factor = np.log((y - i) / (coins - y + 1 + i) / odds)
            found += factor if own > other else -factor
        if missing:
            # (1 - gamma)^r C(n, x) / C(n - r, x): r factors (n - j)/(n - j - x), all about those in the middle
            middle = coins - (missing - 1) / 2
            found -= missing * np.log1p(-((y - other) / middle - gamma) / (1 - gamma))
    return found
