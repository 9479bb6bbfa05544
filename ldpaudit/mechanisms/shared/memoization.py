"""What clients share that draw one report for each value and show it again whenever the value comes back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.shared.parameters import integer
from ldpaudit.neighbours import SAME_PATTERN, USER_LEVEL

EPOCHS = 1 << 20
"""Of a stream, at most: its values are listed one by one, and a million days are 2,870 years."""
LISTED = 32
"""Streams up to which all are listed as inputs; of more, those that matter for privacy."""
Stream = tuple[int, ...]
"""One value an epoch."""


class Memoizing(Mechanism):
    """One report for each of at most `values` different values of a stream, kept and shown again.

    A user who comes to one value more keeps showing the report of the value before, for ever: so whatever the user holds, at most
    `values` reports are drawn.
    """

    relations = (USER_LEVEL, SAME_PATTERN)

    epochs: int
    k: int
    values: int

    def _require_sizes(self) -> None:
        most = min(integer(self, "epochs", 1, EPOCHS), integer(self, "k", 2))
        if not integer(self, "values", 0, most):
            object.__setattr__(self, "values", most)

    @property
    @abstractmethod
    def report(self) -> Mechanism:
        """One report of one value."""

    @abstractmethod
    def kept(self, values: Sequence[int], size: int, rng: np.random.Generator) -> NDArray[Any]:
        """What `size` clients keep for each of some values, shape ``(size, len(values), ...)``."""

    @abstractmethod
    def reports(self, views: Views) -> NDArray[Any]:
        """The report of each epoch, shape ``(size, epochs, ...)``."""

    @property
    def ascending(self) -> Stream:
        """A stream of as many different values as are kept."""
        return tuple(min(epoch, self.values - 1) for epoch in range(self.epochs))

    @property
    def rolled(self) -> Stream:
        """The same values in another order, or where only one is kept, another value: a stream of the same pattern."""
        return tuple((value + 1) % max(self.values, 2) for value in self.ascending)

    @property
    def inputs(self) -> Sequence[Stream]:
        """All streams of which every value is kept, where these are few; else two of one value, and two of the most values."""
        if self.k**self.epochs <= LISTED:
            return [x for x in product(range(self.k), repeat=self.epochs) if len(set(x)) <= self.values]
        return list(dict.fromkeys([(0,) * self.epochs, (self.k - 1,) * self.epochs, self.ascending, self.rolled]))

    @property
    def view_length(self) -> int:
        """See `Mechanism`."""
        return self.epochs

    def require_input(self, x: Any) -> None:
        """Check that `x` is a tuple of `epochs` values."""
        if not (isinstance(x, tuple) and len(x) == self.epochs and all(type(v) is int and 0 <= v < self.k for v in x)):
            raise ValueError(f"{type(self).__name__} needs {self.epochs} values from 0 to {self.k - 1}, got {x!r:.80}")

    def shown(self, streams: ArrayLike) -> NDArray[np.int64]:
        """The value whose report is shown, for each user and epoch: the one held, or the last one that is kept."""
        held = np.asarray(streams, dtype=np.int64)
        seen, users = np.zeros((len(held), self.k), dtype=np.bool_), np.arange(len(held))
        stopped, found = np.zeros(len(held), dtype=np.bool_), held.copy()
        for epoch in range(self.epochs):
            fresh = ~seen[users, held[:, epoch]]
            stopped |= fresh & (seen.sum(axis=1) == self.values)
            found[stopped, epoch] = found[stopped, epoch - 1]
            seen[users, found[:, epoch]] = True
        return found

    def kept_stream(self, x: Stream) -> Stream:
        """`shown` of one user."""
        self.require_input(x)
        return tuple(self.shown([x])[0].tolist())

    def sample(self, x: Stream, size: int, rng: np.random.Generator) -> Views:
        """Views, one row each."""
        shown = self.kept_stream(x)
        values = sorted(set(shown))
        return self.kept(values, size, rng)[:, [values.index(v) for v in shown]].reshape(size, -1)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of the users whose report is of each value, in each epoch, shape ``(epochs, k)``."""
        reports = self.reports(views)
        return np.stack([self.report.estimate(reports[:, epoch]) for epoch in range(self.epochs)])

    run_on_counts = Mechanism.run_on_counts

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system, from users' streams, shape ``(users, epochs)``; each client keeps a report of every value."""
        shown = self.shown(self._streams(data))
        kept = self.kept(range(self.k), len(shown), rng)
        return self.estimate(kept[np.arange(len(shown))[:, None], shown].reshape(len(shown), -1))

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """How many users show the report of each value in each epoch, shape ``(epochs, k)``."""
        columns = self.shown(self._streams(data)).T
        return np.stack([np.bincount(column, minlength=self.k) for column in columns]).astype(np.float64)

    def _streams(self, data: ArrayLike) -> NDArray[np.int64]:
        streams = np.asarray(data)
        fits = streams.ndim == 2 and streams.shape[1] == self.epochs and streams.dtype.kind in "iu" and streams.size > 0
        if not (fits and streams.min() >= 0 and streams.max() < self.k):
            needs = f"{self.epochs} values from 0 to {self.k - 1} of each user"
            raise ValueError(f"{type(self).__name__}.run needs {needs}, got an array of shape {streams.shape}")
        return streams.astype(np.int64)
