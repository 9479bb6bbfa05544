r"""RAPPOR's two steps on one bit of a value that changes: kept noise for each value, and fresh noise in every epoch.

Erlingsson, Pihur, Korolova 2014, of one bit of their filter, over a user's whole stream: whenever the user comes to a value that
they have not held before, a noisy copy of its bit is drawn and kept; each epoch reports the copy that belongs to the value held.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Mechanism, Rows, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.parameters import half_open, integer, probability
from ldpaudit.neighbours import USER_LEVEL

EPOCHS = 1 << 20  # of a stream, at most: its values are listed one by one, and a million days are 2,870 years
LISTED = 2  # epochs up to which all streams are listed as inputs, each up to the names of its values
Stream = tuple[int, ...]  # one value an epoch


class StreamMechanism(Mechanism):
    """An input is a user's stream, a value for each of some epochs."""

    counts_users = True

    epochs: int

    @property
    @abstractmethod
    def _values_held(self) -> int:
        """How many values there are, numbers from 0 on."""

    @property
    def view_length(self) -> int:
        return self.epochs

    def require_input(self, x: Any) -> None:
        """Check that `x` is a tuple of `epochs` values."""
        most = self._values_held - 1
        if not (isinstance(x, tuple) and len(x) == self.epochs and all(type(v) is int and 0 <= v <= most for v in x)):
            raise ValueError(f"{type(self).__name__} needs {self.epochs} values from 0 to {most}, got {x!r:.80}")

    def _streams(self, data: ArrayLike) -> NDArray[np.int64]:
        streams, most = np.asarray(data), self._values_held - 1
        fits = streams.ndim == 2 and streams.shape[1] == self.epochs and streams.dtype.kind in "iu" and streams.size > 0
        if not (fits and streams.min() >= 0 and streams.max() <= most):
            needs = f"{self.epochs} values from 0 to {most} of each user"
            raise ValueError(f"{type(self).__name__}.run needs {needs}, got an array of shape {streams.shape}")
        return streams.astype(np.int64)

    @abstractmethod
    def _reported(self, streams: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Views of users whose values are given, shape ``(users, epochs)``."""

    def sample(self, x: Stream, size: int, rng: np.random.Generator) -> Views:
        self.require_input(x)
        return self._reported(np.broadcast_to(np.array(x), (size, self.epochs)), rng)

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system, from users' streams, shape ``(users, epochs)``."""
        return self.estimate(self._reported(self._streams(data), rng))

    run_on_counts = Mechanism.run_on_counts


@dataclass(frozen=True, slots=True)
class MemoizedBit(StreamMechanism):
    """`epochs` reports of one bit, memoized value by value.

    An input is a whole stream: a value for each epoch, a number below ``2 * epochs``, whose last binary digit is the bit that is
    reported. So all epochs may hold different values of either bit. The kept copy of a value's bit is wrong with probability
    f/2, independently of all other values; a report shows a kept 1 as 1 with probability `q` and a kept 0 with probability `p`.
    A view is the row of `epochs` reports. Neighbours are any two streams.

    Parameters
    ----------
    epochs : int
        T, from 1 to 2**20.
    f : Fraction
        Probability that the kept copy is a fair coin, ``0 <= f < 1``.
    p, q : Fraction
        P[report 1 | kept 0] and P[report 1 | kept 1], ``0 < p < q < 1``.

    Examples
    --------
    >>> m = MemoizedBit(epochs=2, f=Fraction(1, 2), p=Fraction(1, 2), q=Fraction(3, 4))
    >>> m.law((1, 1)).probability((0, 0)), m.law((1, 3)).probability((0, 0))
    (Fraction(7, 64), Fraction(25, 256))
    """

    title = "RAPPOR, one bit of a stream"
    relations = (USER_LEVEL,)

    epochs: int
    f: Fraction
    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        integer(self, "epochs", 1, EPOCHS)
        half_open(self, "f", 0, "0 <= f < 1")
        probability(self, "p", high=probability(self, "q"))

    @property
    def inputs(self) -> Sequence[Stream]:
        """All streams of at most 2 epochs, up to names; of more, those that hold one value, and those that hold no value twice."""
        if self.epochs <= LISTED:
            return all_streams(self.epochs)
        return [tuple(2 * step * i + bit for i in range(self.epochs)) for bit in (0, 1) for step in (0, 1)]

    @property
    def _values_held(self) -> int:
        """Two for each epoch; the bit of a value is its last binary digit."""
        return 2 * self.epochs

    def kept(self, value: int) -> Fraction:
        """Probability that the kept copy of a value's bit is 1."""
        return 1 - self.f / 2 if value % 2 else self.f / 2

    def shown(self, value: int, ones: int, zeros: int) -> Fraction:
        """Probability of this many ones and zeros, in a given order, in the epochs in which one value is held."""
        kept = self.kept(value)
        return kept * self.q**ones * (1 - self.q) ** zeros + (1 - kept) * self.p**ones * (1 - self.p) ** zeros

    def law(self, x: Stream) -> Law:
        """Law on rows of `epochs` bits: reports of different values are independent."""
        self.require_input(x)

        def probability(view: tuple[int, ...]) -> Fraction:
            chance = Fraction(1)
            for value in set(x):
                reports = [y for y, held in zip(view, x, strict=True) if held == value]
                chance *= self.shown(value, sum(reports), len(reports) - sum(reports))
            return chance

        return Law(probability, lambda: Rows((range(2),) * self.epochs), 2**self.epochs)

    def _reported(self, streams: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
        values, places = np.unique(streams, return_inverse=True)
        shape = len(streams), len(values)
        copies = (values % 2 == 1) ^ bernoulli(self.f / 2, shape, rng)
        kept = np.take_along_axis(copies, places.reshape(streams.shape), axis=1)
        return np.where(kept, bernoulli(self.q, kept.shape, rng), bernoulli(self.p, kept.shape, rng)).view(np.uint8)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of the users whose value has a 1 in each epoch, shape ``(epochs,)``."""
        ones: NDArray[np.float64] = np.asarray(views).sum(axis=0, dtype=np.float64)
        low, high = self.shown(0, 1, 0), self.shown(1, 1, 0)
        return (ones - len(views) * float(low)) / float(high - low)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """How many users hold a value with a 1 in each epoch."""
        return np.asarray((self._streams(data) % 2).sum(axis=0), dtype=np.float64)


def all_streams(epochs: int) -> list[Stream]:
    """Every way to hold equal values in some epochs, with every choice of their bits: a new value is the least unused one."""
    streams: list[Stream] = [()]
    for _ in range(epochs):
        streams = [(*x, value) for x in streams for value in (*dict.fromkeys(x), *_unused(x))]
    return streams


def _unused(x: Stream) -> tuple[int, int]:
    """The least values with the bits 0 and 1 that a stream does not hold yet."""
    even, odd = (sum(value % 2 == bit for value in set(x)) for bit in (0, 1))
    return 2 * even, 2 * odd + 1


def counted(streams: NDArray[np.int64], values: int) -> NDArray[np.float64]:
    """How many streams have each of these values in each epoch, shape ``(epochs, values)``."""
    return np.stack([np.bincount(column, minlength=values) for column in streams.T]).astype(np.float64)
