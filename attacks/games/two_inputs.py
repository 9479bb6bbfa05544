"""What an attacker looks for between two inputs, and how the event is chosen on views that the bound never sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.bounds.binomial import epsilon_lower

CANDIDATES = 48
"""Thresholds tried a direction; choosing among so few costs no accuracy and no level."""
LARGEST = float(np.finfo(np.float64).max)
"""Threshold that only infinite scores reach: views that the declared mechanism never shows on the other input."""
DOUBT = 1e-3
"""Scores are not believed where the views that they are tried on would be rarer than this if they were right."""
HINT = 0.75
"""An exact test refutes a coin nowhere below so many times the standard errors that a normal law would need."""
BEYOND = 1.001
"""What is declared to be as private as claimed within a thousandth cannot show that it is not."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Event:
    """Guess the first input where the score is at least `upper`, the second where it is at most `lower`."""

    upper: float
    lower: float

    @property
    def directions(self) -> int:
        """How many of the two inputs are ever guessed."""
        return int(self.upper < np.inf) + int(self.lower > -np.inf)

    @property
    def certain(self) -> bool:
        """Whether only infinite scores are guessed on."""
        return self.directions > 0 and self.upper >= LARGEST and self.lower <= -LARGEST

    def count(self, first: Floats, second: Floats) -> tuple[int, int]:
        """Right and wrong guesses, from scores of views on the first and on the second input."""
        right = wrong = 0
        # A direction that is never guessed must not count infinite scores.
        if self.upper < np.inf:
            right += int(np.count_nonzero(first >= self.upper))
            wrong += int(np.count_nonzero(second >= self.upper))
        if self.lower > -np.inf:
            right += int(np.count_nonzero(second <= self.lower))
            wrong += int(np.count_nonzero(first <= self.lower))
        return right, wrong


NEVER = Event(np.inf, -np.inf)


@dataclass(frozen=True, slots=True)
class Choice:
    """An event, what is expected of it a view, and the bound that this promises.

    `promise` is in nats, and the declared one where the views fit that; `right` and `wrong` are probabilities, the
    declared ones where these are `believed`.
    """

    event: Any
    promise: float
    right: float
    wrong: float
    believed: bool


@dataclass(frozen=True, slots=True)
class _Tails:
    """Candidate thresholds from far to near, and what lies beyond each: how many of either input, how many expected."""

    thresholds: Floats
    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    expected: Floats
    """Right ones, were the scores log-likelihood ratios."""


def _tails(first: Floats, second: Floats) -> _Tails:
    scores = np.clip(np.concatenate([first, second]), -LARGEST, LARGEST)
    positive = -np.sort(-scores[scores > 0])
    distinct = np.unique(positive)[::-1]
    if len(distinct) > CANDIDATES:
        # Even steps in the logarithm of the tail: both rare extremes and broad halves are among the candidates.
        beyond = np.unique(np.geomspace(8, len(positive), CANDIDATES).astype(np.int64)) - 1
        distinct = np.unique(positive[beyond])[::-1]
    thresholds = np.concatenate([[np.inf], distinct])
    counts = [len(s) - np.searchsorted(np.sort(np.clip(s, -LARGEST, LARGEST)), thresholds) for s in (first, second)]
    believed = np.concatenate([[0.0], np.cumsum(special.expit(positive))])
    return _Tails(thresholds, counts[0], counts[1], believed[counts[0] + counts[1]])


def fits(right: NDArray[np.int64], wrong: NDArray[np.int64], expected: Floats) -> bool:
    """Whether as many guesses are right as the scores say, candidate by candidate."""
    guesses = right + wrong
    share = np.where(guesses > 0, expected / np.maximum(guesses, 1), 0.5)
    more = np.where(right > 0, special.betainc(np.maximum(right, 1), wrong + 1, share), 1.0)
    fewer = np.where(wrong > 0, special.betainc(np.maximum(wrong, 1), right + 1, 1 - share), 1.0)
    return bool(np.minimum(more, fewer).min() * 2 * len(guesses) > DOUBT)


@dataclass(frozen=True, slots=True)
class Prospect:
    """What fresh views promise of an event that a sample has shown: luck allowed for, a lower bound.

    Parameters
    ----------
    delta : float
        The delta that the bound is for.
    alpha : float
        Failure probability of the bound.
    horizon : int
        Fresh views that it will be measured on.
    luck : float
        Failure probability of what the sample has shown: it keeps thin events from winning by luck.
    """

    delta: float
    alpha: float
    horizon: int
    luck: float

    def bound(self, right: NDArray[Any], guesses: NDArray[Any], views: int, share: NDArray[Any]) -> Floats:
        """In nats, elementwise; 0 where nothing is promised."""
        right, guesses, share = np.broadcast_arrays(right, guesses, share)
        promised = np.zeros(right.shape)
        # Elsewhere a coin would do as well by luck, and the exact bound, which takes long, is 0.
        better = (2 * right - guesses) > HINT * special.ndtri(1 - self.luck) * np.sqrt(guesses)
        r, g, s = right[better], guesses[better], share[better]
        sure = epsilon_lower(r, g - r, views, s, self.luck)
        explained = s * self.horizon
        pure = np.maximum(g * (self.horizon / max(views, 1)) - explained, 0.0)
        hits = pure * special.expit(sure)
        found = epsilon_lower(hits + explained, pure - hits, self.horizon, s, self.alpha)
        promised[better] = np.where(sure > 0, found, 0.0)
        return promised


def choose_event(first: Floats, second: Floats, prospect: Prospect) -> tuple[tuple[float, int], Event]:
    """The thresholds that promise the best bound on views which are none of these.

    Parameters
    ----------
    first, second : ndarray
        Scores of views on the first and on the second input.
    prospect : Prospect
        What the bound will be.

    Returns
    -------
    pair
        What it promises, to be compared: the bound and, beyond that, right guesses less wrong ones; and the event. Where
        nothing is promised it guesses as often as it can.
    """
    up, low = _tails(first, second), _tails(-second, -first)
    guesses = (up.right + up.wrong)[:, None] + (low.right + low.wrong)[None, :]
    right = (up.right[:, None] + low.right[None, :]).astype(np.float64)
    bounds = prospect.bound(right, guesses, len(first) + len(second), _share(up, low, prospect.delta))
    best = _best(bounds, guesses, guesses)
    event = Event(float(up.thresholds[best[0]]), float(-low.thresholds[best[1]]))
    return (float(bounds[best]), int(2 * right[best] - guesses[best])), event


def _share(up: _Tails, low: _Tails, delta: float) -> Floats:
    """The delta times the share of the inputs that are guessed, for each two thresholds."""
    both = (up.thresholds < np.inf)[:, None] & (low.thresholds < np.inf)[None, :]
    return np.where(both, delta, delta / 2)


def choose(
    first: Floats,
    second: Floats,
    delta: float,
    alpha: float,
    horizon: int,
    calibrated: bool = False,
    claimed: float | None = None,
) -> Choice:
    """The thresholds that promise the best bound from `horizon` fresh views.

    Where the scores are the declared mechanism's log-likelihood ratios and the views fit them, what they promise is
    believed, and a few views choose; unless that would not refute the claim: then only what is not as declared can, and
    events are compared, as where nothing is declared, by their bounds on these views alone.

    Parameters
    ----------
    first, second : ndarray
        Scores of views on the first and on the second input.
    delta, alpha, horizon
        What the bound will be; see `Prospect`.
    calibrated : bool
        Whether scores are log-likelihood ratios under what is declared.
    claimed : float or None
        The epsilon that is to be refuted.

    Returns
    -------
    Choice
    """
    up, low = _tails(first, second), _tails(-second, -first)
    views = len(first) + len(second)
    share = _share(up, low, delta)
    guesses = (up.right + up.wrong)[:, None] + (low.right + low.wrong)[None, :]

    def choice(right: Floats, best: tuple[Any, ...], promise: float, believed: bool) -> Choice:
        event = Event(float(up.thresholds[best[0]]), float(-low.thresholds[best[1]]))
        hits = float(right[best])
        return Choice(event, promise, hits / max(views, 1), (float(guesses[best]) - hits) / max(views, 1), believed)

    promise = None
    if calibrated and fits(up.right, up.wrong, up.expected) and fits(low.right, low.wrong, low.expected):
        right = np.minimum(up.expected[:, None] + low.expected[None, :], guesses)
        scale = horizon / max(views, 1)
        bounds = epsilon_lower(right * scale, (guesses - right) * scale, horizon, share, alpha)
        # Where there are too few views for a bound: what promises to deviate most, in standard errors.
        best = _best(bounds, (2 * right - guesses) / np.sqrt(np.maximum(guesses, 1)), guesses)
        promise = float(bounds[best])
        with np.errstate(divide="ignore", invalid="ignore"):
            declared = np.log((right[best] - share[best] * views) / (guesses[best] - right[best]))
        if claimed is None or declared > claimed * BEYOND:
            return choice(right, best, promise, True)
    right = (up.right[:, None] + low.right[None, :]).astype(np.float64)
    bounds = epsilon_lower(right, guesses - right, views, share, alpha)
    # Where no guess is better than a coin: all of them; but a direction more costs its share of delta, which then counts.
    deviates = (2 * right - guesses - share * views) / np.sqrt(np.maximum(guesses, 1))
    best = _best(bounds, deviates if delta else guesses, guesses)
    return choice(right, best, float(bounds[best]) if promise is None else promise, False)


def _best(bounds: Floats, else_: NDArray[Any], guesses: NDArray[np.int64]) -> tuple[Any, ...]:
    """Where the bound is best; of equally good events the most frequent: more guesses, a tighter measurement."""
    first = np.argmax(else_) if bounds.max() <= 0 else np.lexsort((-guesses.ravel(), -bounds.ravel()))[0]
    return np.unravel_index(int(first), bounds.shape)
