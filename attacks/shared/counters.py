"""Log-likelihood ratios of noisy counts, each of coins and of messages that are certain."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views

_LONG = 1 << 20  # coins of a count up to which its losses are tabulated: 8 MB

Floats = NDArray[np.float64]
Column = tuple[int, int]  # coins and messages of a count


def counter_loss(first: Column, second: Column, gamma: float) -> Callable[[NDArray[Any]], Floats]:
    """Counts to the log-ratio of Bin(coins, gamma) + messages under the first and under the second."""
    from scipy.stats import binom  # here: it takes a while to import

    most = max(coins + own for coins, own in (first, second))
    if most > _LONG:
        return lambda y: _long(y.astype(np.float64), first, second, gamma)
    support = np.arange(most + 1)
    there, back = (binom.logpmf(support - own, coins, gamma) for coins, own in (first, second))
    with np.errstate(invalid="ignore"):
        table = np.append(there - back, np.nan)  # the last for what neither shows
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


def by_counts(pair: tuple[Any, Any], columns: Callable[[Any], Sequence[Column]], gamma: Fraction) -> Attack:
    """Two inputs told apart by the sum of the losses of all counts of a view; ``columns``: the counts of an input."""
    both = zip(*map(columns, pair), strict=True)
    differ = [(i, counter_loss(there, back, float(gamma))) for i, (there, back) in enumerate(both) if there != back]

    def score(views: Views) -> Floats:
        counts, found = np.asarray(views), np.zeros(len(views))
        with np.errstate(invalid="ignore"):
            for i, loss in differ:
                found += loss(counts[:, i])
        # Rounded, so that equal sums in another order stay equal; inf - inf is a view that neither input shows.
        return np.round(found, 9)

    return Attack(pair, score, f"{{the {len(differ)} counts that differ are those of the first}}")
