"""What an attacker looks for, and how the event is chosen on samples that the bound never sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks._bound import epsilon_lower
from ldpaudit.mechanism import Views

CANDIDATES = 48
"""Thresholds tried a direction; choosing among so few costs no accuracy and no level."""


@dataclass(frozen=True, slots=True)
class Attack:
    """Two inputs and a score that tells them apart.

    Parameters
    ----------
    pair : tuple
        Two neighbouring inputs.
    score : callable
        Views to an array of log-likelihood ratios, shape ``(size,)``, or an increasing function of these: the larger,
        the more the view speaks for the first input; 0 where it speaks for neither. Scores of repeated runs are added.
    event : str
        What the extreme scores are, in words.
    """

    pair: tuple[Any, Any]
    score: Callable[[Views], NDArray[np.float64]]
    event: str


@dataclass(frozen=True, slots=True)
class Event:
    """Guess the first input where the score is at least `upper`, the second where it is at most `lower`."""

    upper: float
    lower: float

    @property
    def directions(self) -> int:
        """How many of the two inputs are ever guessed."""
        return int(np.isfinite(self.upper)) + int(np.isfinite(self.lower))

    def count(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[int, int]:
        """Right and wrong guesses, from scores of views on the first and on the second input."""
        right = np.count_nonzero(first >= self.upper) + np.count_nonzero(second <= self.lower)
        wrong = np.count_nonzero(first <= self.lower) + np.count_nonzero(second >= self.upper)
        return int(right), int(wrong)


NEVER = Event(np.inf, -np.inf)


def _tails(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Candidate thresholds from far to near, and how many scores of either input lie beyond each."""
    scores = np.concatenate([first, second])
    distinct = np.unique(scores[scores > 0])[::-1]
    if len(distinct) > CANDIDATES:
        # Even steps in the logarithm of the tail: both rare extremes and broad halves are among the candidates.
        beyond = np.unique(np.geomspace(8, np.count_nonzero(scores > 0), CANDIDATES).astype(np.int64)) - 1
        distinct = np.unique(-np.sort(-scores)[beyond])[::-1]
    thresholds = np.concatenate([[np.inf], distinct])
    inside = [np.sort(s) for s in (first, second)]
    counts = [len(s) - np.searchsorted(s, thresholds, side="left") for s in inside]
    return thresholds, counts[0], counts[1]


def choose_event(first: NDArray[np.float64], second: NDArray[np.float64], delta: float, alpha: float) -> Event:
    """The thresholds with the best lower bound on this sample, which must not be used again to measure.

    Parameters
    ----------
    first, second : ndarray
        Scores of views on the first and on the second input.
    delta : float
        The delta that the bound is for.
    alpha : float
        Failure probability of the bound that is compared; it keeps thin events from winning by luck.

    Returns
    -------
    Event
        `NEVER` where no guess is better than a coin.
    """
    upper, up_right, up_wrong = _tails(first, second)
    lower, low_right, low_wrong = _tails(-second, -first)
    right = up_right[:, None] + low_right[None, :]
    wrong = up_wrong[:, None] + low_wrong[None, :]
    both = np.isfinite(upper)[:, None] & np.isfinite(lower)[None, :]
    delta_of = np.where(both, delta, delta / 2)
    bounds = epsilon_lower(right, wrong, len(first) + len(second), delta_of, alpha)
    # Of equally good events the most frequent: more guesses, a tighter measurement.
    best = np.lexsort((-(right + wrong).ravel(), -bounds.ravel()))[0]
    row, column = np.unravel_index(best, bounds.shape)
    if bounds[row, column] <= 0:
        if bounds.shape == (1, 1):
            return NEVER
        row, column = len(upper) - 1, len(lower) - 1
    return Event(float(upper[row]), float(-lower[column]))
