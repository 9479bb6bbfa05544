r"""A response that is kept value by value: k-ary randomized response and dBitFlip, answered epoch after epoch.

Ding, Kulkarni, Yekhanin 2017 memoize dBitFlip so; of k-ary randomized response it is RAPPOR's permanent step alone (Erlingsson,
Pihur, Korolova 2014). No fresh noise is added: reports of one value are equal in all epochs.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism, Rows, Views
from ldpaudit.mechanisms.loloha import LISTED, Loloha, LolohaStream
from ldpaudit.mechanisms.memoized_bit import EPOCHS, MemoizedBit, Stream, StreamMechanism, counted
from ldpaudit.mechanisms.one_bit import DBitFlip
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.coins import uniform_subset
from ldpaudit.mechanisms.shared.parameters import integer, integers
from ldpaudit.neighbours import SAME_PATTERN, USER_LEVEL
from ldpaudit.profile import Number


class Memoizing(StreamMechanism):
    """One report for each of at most `values` different values of a stream, kept and shown again.

    A user who comes to one value more keeps showing the report of the value before, for ever: so whatever the user holds, at most
    `values` reports are drawn.

    Parameters
    ----------
    epochs : int
        T, from 1 to 2**20.
    values : int
        D, maximum number of values whose report is kept, at most `k` and `epochs`; 0 means as many as possible.
    """

    relations = (USER_LEVEL, SAME_PATTERN)

    k: int
    values: int

    def __post_init__(self) -> None:
        integers(self, epochs=(1, EPOCHS), k=2)
        most = min(self.epochs, self.k)
        if not integer(self, "values", 0, most):
            object.__setattr__(self, "values", most)
        object.__setattr__(self, "p", self.report.p)

    @property
    @abstractmethod
    def report(self) -> Any:
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
    def _values_held(self) -> int:
        return self.k

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
        shown = self.kept_stream(x)
        values = sorted(set(shown))
        return self.kept(values, size, rng)[:, [values.index(v) for v in shown]].reshape(size, -1)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of the users whose report is of each value, in each epoch, shape ``(epochs, k)``."""
        reports = self.reports(views)
        return np.stack([self.report.estimate(reports[:, epoch]) for epoch in range(self.epochs)])

    def _reported(self, streams: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Each client keeps a report of every value."""
        shown = self.shown(streams)
        kept = self.kept(range(self.k), len(shown), rng)
        return kept[np.arange(len(shown))[:, None], shown].reshape(len(shown), -1)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """How many users show the report of each value in each epoch, shape ``(epochs, k)``."""
        return counted(self.shown(self._streams(data)), self.k)


@dataclass(frozen=True, slots=True)
class MemoizedResponse(Memoizing):
    """k-ary randomized response, drawn once for each value and shown in every epoch in which the value is held.

    An input is a whole stream, a value for each epoch; a view is the row of answers. Neighbours are any two streams, or two that
    repeat values in the same epochs. A client keeps the answers of at most `values` values; a user who comes to one more keeps
    showing the answer of the value before, for ever.

    Parameters
    ----------
    k : int
        Number of values, at least 2.
    p : Fraction
        Probability of the truth, ``1/k <= p < 1``.

    Examples
    --------
    >>> m = MemoizedResponse(epochs=3, k=2, p=Fraction(3, 4))
    >>> m.law((0, 1, 0)).probability((0, 1, 0)), m.law((0, 1, 0)).probability((0, 1, 1))
    (Fraction(9, 16), Fraction(0, 1))
    """

    title = "k-ary randomized response, memoized"

    epochs: int
    k: int
    p: Fraction
    values: int = 0

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int, epochs: int, values: int = 0) -> Self:
        """Each answer is epsilon-LDP: as `KaryRandomizedResponse.for_epsilon`."""
        return cls(epochs, k, KaryRandomizedResponse.for_epsilon(epsilon, k).p, values)

    @property
    def report(self) -> KaryRandomizedResponse:
        return KaryRandomizedResponse(self.k, self.p)

    def kept(self, values: Sequence[int], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.stack([self.report.sample(v, size, rng) for v in values], axis=1)

    def reports(self, views: Views) -> NDArray[np.int64]:
        return np.asarray(views)

    def law(self, x: Stream) -> Law:
        """Law on rows of `epochs` answers: one independent answer for each value that is kept."""
        shown, report = self.kept_stream(x), self.report

        def probability(view: tuple[int, ...]) -> Fraction:
            answers = {v: {y for y, held in zip(view, shown, strict=True) if held == v} for v in shown}
            if any(len(each) > 1 for each in answers.values()):
                return Fraction(0)
            return math.prod((report.p if y == v else report.lie for v, (y,) in answers.items()), start=Fraction(1))

        return Law(probability, lambda: Rows((range(self.k),) * self.epochs), self.k**self.epochs)


@dataclass(frozen=True, slots=True)
class MemoizedDBitFlip(Memoizing):
    """dBitFlip, memoized: a client draws its buckets once and for all, and the bits of each value once.

    An input is a whole stream, a value for each epoch; a view is a row of ``epochs * k`` numbers, for each epoch the `k` of a
    report: a bit, or -1 where the bucket is not drawn. Neighbours and `values` are as in `MemoizedResponse`.

    Parameters
    ----------
    k : int
        Number of buckets, at least 2; inputs are streams of ``range(k)``.
    d : int
        Number of bits that a report has, from 1 to `k`.
    p : Fraction
        Probability of a true bit, ``1/2 < p < 1``.

    Examples
    --------
    >>> MemoizedDBitFlip(epochs=2, k=3, d=1, p=Fraction(3, 4)).law((0, 0)).probability((1, -1, -1, 1, -1, -1))
    Fraction(1, 4)
    """

    variant = "dbitflip"
    title = "dBitFlip, memoized"

    epochs: int
    k: int
    d: int
    p: Fraction
    values: int = 0

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int, d: int, epochs: int, values: int = 0) -> Self:
        """Each report is as `DBitFlip.for_epsilon` makes it."""
        return cls(epochs, k, d, DBitFlip.for_epsilon(epsilon, k, d).p, values)

    @property
    def report(self) -> DBitFlip:
        return DBitFlip(self.k, self.d, self.p)

    @property
    def view_length(self) -> int:
        return self.epochs * self.k

    def kept(self, values: Sequence[int], size: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Reports, shape ``(size, len(values), k)``: of all buckets first, and then those that are drawn."""
        every = replace(self.report, d=self.k)
        bits = np.stack([every.sample(v, size, rng) for v in values], axis=1)
        return np.where(uniform_subset(self.k, self.d, size, rng)[:, None], bits, np.int8(-1))

    def reports(self, views: Views) -> NDArray[np.int8]:
        return np.asarray(views).reshape(len(views), self.epochs, self.k)

    def law(self, x: Stream) -> Law:
        """Law on rows of ``epochs * k`` numbers: given the drawn buckets, bits of each value that is kept are independent."""
        shown, report, choices = self.kept_stream(x), self.report, math.comb(self.k, self.d)
        laws = {v: report.law(v) for v in shown}

        def probability(view: tuple[int, ...]) -> Fraction:
            rows = [tuple(view[self.k * t : self.k * (t + 1)]) for t in range(self.epochs)]
            kept = {v: {row for row, held in zip(rows, shown, strict=True) if held == v} for v in shown}
            drawn = {tuple(y >= 0 for y in row) for row in rows}
            if len(drawn) > 1 or any(len(each) > 1 for each in kept.values()):
                return Fraction(0)
            given = (choices * laws[v].probability(row) for v, (row,) in kept.items())
            return math.prod(given, start=Fraction(1, choices))

        every = Rows((range(-1, 2),) * (self.epochs * self.k), self._drawn_once, self._views)
        return Law(probability, lambda: every, choices << self.d * self.epochs)

    def _drawn_once(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows show the same `d` buckets in every epoch."""
        drawn = rows.reshape(len(rows), self.epochs, self.k) >= 0
        return np.asarray((drawn == drawn[:, :1]).all(axis=(1, 2)) & (drawn[:, 0].sum(axis=1) == self.d))

    def _views(self) -> Iterator[tuple[int, ...]]:
        for buckets in combinations(range(self.k), self.d):
            for bits in product((0, 1), repeat=self.d * self.epochs):
                view = np.full((self.epochs, self.k), -1)
                view[:, buckets] = np.reshape(bits, (self.epochs, self.d))
                yield tuple(view.ravel().tolist())


def over_epochs(m: Mechanism, epochs: int, values: int | None) -> Mechanism:
    """The client that keeps the reports of a mechanism over this many epochs, of at most `values` values; None is for all.

    Raises Unsupported for other mechanisms than k-ary randomized response, dBitFlip, and LOLOHA and a memoized bit of one report,
    or for a budget of values that the last two do not have.
    """
    own: dict[str, Any] = {"epochs": epochs, "values": min(values or epochs, epochs, getattr(m, "k", epochs))}
    if type(m) is KaryRandomizedResponse:
        return MemoizedResponse(k=m.k, p=m.p, **own)
    if type(m) is DBitFlip:
        return MemoizedDBitFlip(k=m.k, d=m.d, p=m.p, **own)
    if type(m) is MemoizedBit and m.epochs == 1 and values is None:
        return replace(m, epochs=epochs)
    if type(m) is Loloha and m.reports == 1 and values is None:
        return LolohaStream(epochs, m.g, m.p1, m.p2, m.domain, m.prime)
    allowed = "k-ary randomized response, dBitFlip, or loloha and memoized_bit of one report and without a budget of values"
    raise Unsupported(m, f"its reports over epochs are analysed only for memoized {allowed}")
