"""Streams of data that evolve: what groups of users draw from, epoch after epoch, for measurements of accuracy.

Joseph, Roth, Ullman, Waggoner 2018: users fall into subgroups, all users of a subgroup draw from one distribution in an epoch, and
a *change* is an epoch in which some subgroup's distribution is not that of the epoch before, by however little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

WORDS = (0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05)
"""Frequencies of eight words; reversed, those that a stream of words moves to."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """What each group of users draws from in each epoch.

    Raises ValueError where values are no means or distributions, or shares do not fit them.

    Examples
    --------
    >>> stream = drift(epochs=5, start=0.25, end=0.75)
    >>> stream.average.tolist(), stream.changes
    ([0.25, 0.375, 0.5, 0.625, 0.75], 4)
    """

    name: str  # in words: "a mean that ..."
    values: NDArray[np.float64]  # means in [0, 1], or distributions of words
    shares: tuple[float, ...] = (1.0,)  # each group's share of the users; they sum to 1

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        if values.ndim not in (2, 3) or not values.size or not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"Stream needs values in [0, 1] per epoch and group, got an array of shape {values.shape}")
        if values.ndim == 3 and not np.allclose(values.sum(axis=2), 1, rtol=0, atol=1e-9):
            raise ValueError("Stream needs distributions of words that sum to 1")
        if len(self.shares) != values.shape[1] or min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-9:
            raise ValueError(f"Stream needs a share above 0 for each of {values.shape[1]} groups, of sum 1, got {self.shares}")

    @property
    def epochs(self) -> int:
        """T."""
        return len(self.values)

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which epochs are changes, shape ``(epochs,)``; the first is none."""
        different = np.diff(self.values, axis=0) != 0
        return np.concatenate([[False], different.reshape(self.epochs - 1, -1).any(axis=1)])

    @property
    def changes(self) -> int:
        """Number of changes."""
        return int(np.count_nonzero(self.changed))

    @property
    def average(self) -> NDArray[np.float64]:
        """What all users together draw from, shape ``(epochs,)`` or ``(epochs, words)``."""
        return np.asarray(np.tensordot(self.values, self.shares, axes=(1, 0)), dtype=np.float64)

    def counts(self, users: int, rounds: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Each user's number of ones, or of each word, among `rounds` draws in each epoch.

        Groups hold their share of the users, rounded, one group after the other.
        """
        ends = np.rint(np.cumsum(self.shares) * users).astype(np.int64)
        sizes = np.diff(ends, prepend=0)
        return np.concatenate([self._drawn(group, int(size), rounds, rng) for group, size in enumerate(sizes)])

    def _drawn(self, group: int, size: int, rounds: int, rng: np.random.Generator) -> NDArray[np.int64]:
        values = self.values[:, group]
        if values.ndim == 1:
            return np.asarray(rng.binomial(rounds, values, (size, self.epochs)), dtype=np.int64)
        return np.stack([rng.multinomial(rounds, each, size) for each in values], axis=1).astype(np.int64)

    def mixtures(self, first: ArrayLike = WORDS, second: ArrayLike = WORDS[::-1]) -> Stream:
        """Words instead of bits: where the mean is x, each user draws from ``(1 - x) first + x second``."""
        weight = self.values[:, :, None]
        words = (1 - weight) * np.asarray(first) + weight * np.asarray(second)
        return Stream(f"words whose mixture follows {self.name}", words, self.shares)


def piecewise(epochs: int, changes: int, size: float, rng: np.random.Generator) -> Stream:
    """A mean that stays, and then moves by `size`, back and forth around 1/2; epochs of changes are drawn without replacement.

    Raises ValueError where that many changes do not fit.
    """
    if not 0 <= changes <= epochs - 1:
        raise ValueError(f"a stream of {epochs} epochs has no room for {changes} changes")
    places = np.sort(rng.choice(epochs - 1, changes, replace=False)) + 1
    return _moved(f"a mean that moves by {size:g} {changes} times", epochs, places, size)


def at_the_bound(epochs: int, changes: int, size: float) -> Stream:
    """The slowest detection at the highest cost: each change comes right after a multiple of 2**(K-1), or of a smaller power.

    With K = floor(log T), users can vote for a change of few thresholds in multiples of 2**(K-1) only. Changes beyond those
    multiples make all of them come after multiples of 2**(K-2), and so on.

    Raises ValueError where that many changes do not fit.
    """
    step = max(1, 1 << (epochs.bit_length() - 1) >> 1)
    while step > 1 and changes > (epochs - 1) // step:
        step //= 2
    # Epoch number t, from 1, stands at t - 1: right after a multiple s of `step` is the place s.
    places = np.arange(step, epochs, step)[:changes]
    if len(places) < changes:
        raise ValueError(f"a stream of {epochs} epochs has no room for {changes} changes")
    return _moved(f"a mean that moves by {size:g} {changes} times, each time at the worst epoch", epochs, places, size)


def drift(epochs: int, start: float, end: float) -> Stream:
    """A mean that moves by the same amount in every epoch: each is a change."""
    return Stream(f"a mean that drifts from {start:g} to {end:g}", np.linspace(start, end, epochs)[:, None])


def sine_wave(epochs: int, period: int, amplitude: float) -> Stream:
    """A mean that follows a sine around 1/2: nearly every epoch is a change."""
    wave = 0.5 + amplitude / 2 * np.sin(np.arange(epochs) * (2 * np.pi / period))
    return Stream(f"a mean that follows a sine of {period} epochs", wave[:, None])


def _moved(name: str, epochs: int, places: NDArray[np.int64], size: float) -> Stream:
    """Up at the first of the places, down at the next, and so on."""
    high = np.searchsorted(places, np.arange(epochs), side="right") % 2
    return Stream(name, np.where(high, 0.5 + size / 2, 0.5 - size / 2)[:, None])
