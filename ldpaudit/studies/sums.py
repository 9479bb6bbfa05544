"""What estimates need of users' views, as arrays that add up: exactly, so that it does not matter how users are parted.

Of vectors, their sum; of reports of few kinds, how many are of each; where a report adds one of two numbers to an estimate, how
often it was the larger one. All are integers. What is neither is added in floats, in the order of the parts, and may differ in the
last bits where the parts are others; of systems that name values all reports are kept.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ldpaudit.files.reports import ReportForm
from ldpaudit.mechanism import ENUMERABLE, Mechanism, is_ours
from ldpaudit.mechanisms.shared.projections.noisy_column import NoisyColumn
from ldpaudit.mechanisms.shared.values import CountedEstimate, LinearEstimate
from ldpaudit.studies.intervals import near_whole, two_numbers

Floats = NDArray[np.float64]
_SHIFT, _WINDOW = 1087, 10  # every float is an integer times 2**-1140, and windows of ten exponents stay within 63 bits
_UNIT = 1 << _SHIFT + 53
_HALF = 32  # bits of an integer that are added by themselves, so that 2**31 of them stay below 2**63


@dataclass(frozen=True, slots=True)
class Summing(ABC):
    """One way to add up the views of a mechanism."""

    m: Mechanism
    form: ReportForm

    @abstractmethod
    def of(self, views: NDArray[Any]) -> NDArray[Any]:
        """What views add to the sum."""

    def add(self, one: NDArray[Any] | None, other: NDArray[Any]) -> NDArray[Any]:
        """The sum of two sums, the first of which may be of nobody."""
        return other if one is None else np.asarray(one + other)

    def total(self, blocks: Iterable[NDArray[Any]]) -> NDArray[Any] | None:
        """The sum of all views, None where there are none."""
        return reduce(self.add, (self.of(views) for views in blocks if len(views)), None)

    @abstractmethod
    def estimate(self, total: NDArray[Any], users: int) -> Floats:
        """What `Mechanism.estimate` says of all views."""


def summing(m: Mechanism, form: ReportForm) -> Summing:
    """The way for a mechanism: ours add up, report by report, but for systems that name values."""
    if not is_ours(m) or m.names_values:
        return _Kept(m, form)
    if type(m).estimate is LinearEstimate.estimate or isinstance(m, NoisyColumn):
        return _Vectors(m, form)
    if isinstance(m, CountedEstimate):
        return _Counts(m, form)
    if form.columns is not None and math.prod(map(len, form.columns)) <= ENUMERABLE:
        return _Kinds(m, form)
    shape = m.estimate(m.sample(m.inputs[0], 1, np.random.default_rng(0))).shape
    two = two_numbers(m, math.prod(shape))
    return _InFloats(m, form) if two is None else _Ones(m, form, *two, shape)


class _Vectors(Summing):
    """Sums of vectors, in Python's integers; of floats, in units of the least one."""

    __slots__ = ()

    def of(self, views: NDArray[Any]) -> NDArray[Any]:
        return _exact(views.reshape(len(views), -1))

    def estimate(self, total: NDArray[Any], users: int) -> Floats:
        unit = _UNIT if self.form.is_real else 1
        floats = np.array([float(Fraction(each, unit)) for each in total.tolist()])
        # A noisy column's estimate is linear, and asks for no number of users: their sum is estimated as one view.
        return self.m.estimate(floats[None]) if isinstance(self.m, NoisyColumn) else self.m.estimate_from_sum(floats, users)


def _exact(views: NDArray[Any]) -> NDArray[Any]:
    """The sums of a matrix's columns."""
    if views.dtype.kind == "f":
        parts, exponents = np.frexp(views)
        windows, behind = np.divmod(exponents, _WINDOW)
        whole = (parts * 2**53).astype(np.int64) << behind
        some = ((_exact(np.where(windows == w, whole, 0)), int(w)) for w in np.unique(windows))
        return np.asarray(sum(part * (1 << _SHIFT + _WINDOW * w) for part, w in some))
    if views.dtype.itemsize < 8:
        return np.asarray(views.sum(axis=0, dtype=np.int64), dtype=object)
    high, low = (each.sum(axis=0).astype(object) for each in (views >> _HALF, views & (1 << _HALF) - 1))
    return np.asarray(high * (1 << _HALF) + low)


class _Kinds(Summing):
    """How many reports are of each kind."""

    __slots__ = ()

    def of(self, views: NDArray[Any]) -> NDArray[np.int64]:
        columns = self.form.columns or ()
        table = views.reshape(len(views), len(columns)).astype(np.int64)
        places = [(table[:, i] - each.start) // each.step for i, each in enumerate(columns)]
        sizes = tuple(map(len, columns))
        return np.bincount(np.ravel_multi_index(tuple(places), sizes), minlength=math.prod(sizes))

    def estimate(self, total: NDArray[Any], users: int) -> Floats:
        columns, codes = self.form.columns or (), np.flatnonzero(total)
        places = np.unravel_index(codes, tuple(map(len, columns)))
        table = np.stack([each.start + each.step * place for each, place in zip(columns, places, strict=True)], axis=-1)
        views, often = table.reshape(-1, *self.form.shape).astype(self.form.type), total[codes]
        if users <= ENUMERABLE:
            return self.m.estimate(np.repeat(views, often, axis=0))
        bits = (bit for bit in range(users.bit_length()) if (often >> bit & 1).any())
        return np.asarray(sum(2.0**bit * self.m.estimate(views[often >> bit & 1 == 1]) for bit in bits))


class _Counts(Summing):
    """The numbers that the mechanism says are enough."""

    __slots__ = ()

    def of(self, views: NDArray[Any]) -> NDArray[np.int64]:
        return cast(CountedEstimate, self.m).tally(views)

    def estimate(self, total: NDArray[Any], users: int) -> Floats:
        return cast(CountedEstimate, self.m).estimate_from_tally(total)


class _InFloats(Summing):
    """Estimates themselves."""

    __slots__ = ()

    def of(self, views: NDArray[Any]) -> Floats:
        return self.m.estimate(views)

    def estimate(self, total: NDArray[Any], users: int) -> Floats:
        return total


@dataclass(frozen=True, slots=True)
class _Ones(Summing):
    """How many reports add the larger of two numbers to each estimate; and what these do not explain, which is nothing."""

    less: float
    more: float
    shape: tuple[int, ...]

    def of(self, views: NDArray[Any]) -> Floats:
        found, gap = np.ravel(self.m.estimate(views)) - len(views) * self.less, self.more - self.less
        ones = np.rint(found / gap)
        return np.stack([ones, np.where(near_whole(found / gap), 0.0, found - gap * ones)])

    def estimate(self, total: NDArray[Any], users: int) -> Floats:
        ones, rest = total
        return np.reshape(users * self.less + (self.more - self.less) * ones + rest, self.shape)


class _Kept(Summing):
    """All views."""

    __slots__ = ()

    def of(self, views: NDArray[Any]) -> NDArray[Any]:
        return views

    def add(self, one: NDArray[Any] | None, other: NDArray[Any]) -> NDArray[Any]:
        return other if one is None else np.concatenate([one, other])

    def total(self, blocks: Iterable[NDArray[Any]]) -> NDArray[Any] | None:
        some = [views for views in blocks if len(views)]
        return np.concatenate(some) if some else None  # at once, and not again for every block

    def estimate(self, total: NDArray[Any], users: int) -> Floats:
        return self.m.estimate(total)
