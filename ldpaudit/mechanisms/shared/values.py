"""Mechanisms whose inputs are numbered values."""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.enclosure import round_down, round_up
from ldpaudit.mechanism import Mechanism, Views, counted
from ldpaudit.mechanisms.shared.parameters import exact


class KValues(Mechanism):
    """An input is one of `k` values.

    Parameters
    ----------
    k : int
        Number of values, at least 2; inputs are ``range(k)``.
    """

    k: int

    @property
    def inputs(self) -> range:
        return range(self.k)


class BitVector(KValues):
    """A view has a number for each of the `k` values."""

    @property
    def view_length(self) -> int:
        return self.k


class DomainValues(Mechanism):
    """An input is one of `domain` values."""

    domain: int

    @property
    def inputs(self) -> range:
        return range(self.domain)


class BinaryValues(DomainValues):
    """An input is one of `domain` values, and its bits matter."""

    @property
    def bits(self) -> int:
        """Length of a value's binary expansion."""
        return (self.domain - 1).bit_length()

    def two_values(self, difference: int) -> tuple[int, int]:
        """Two values with this exclusive or; every number of `bits` bits has such a pair."""
        second = 0 if difference < self.domain else 1 << (self.bits - 1)
        return difference ^ second, second


class LinearEstimate(Mechanism):
    """Views are added up, and the estimate is linear in their sum."""

    summed = "vector"

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased estimate, from the sum of the views; see `estimate_from_sum`."""
        return self.estimate_from_sum(np.atleast_1d(np.asarray(views).sum(axis=0, dtype=np.float64)), len(views))


class DrawnAtOnce(Mechanism):
    """Whose `run_on_counts` draws what all users report at once, in place of report after report."""

    __slots__ = ()

    def run_in_law(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`, and of the same law, at the cost of `run_on_counts`."""
        return self.run_on_counts(counted(data), rng)


class CountedEstimate(Mechanism):
    """The estimate needs no more of views than how many of them are of some kinds."""

    @abstractmethod
    def tally(self, views: Views) -> NDArray[np.int64]:
        """How many views are of each kind: numbers that add up."""

    @abstractmethod
    def estimate_from_tally(self, tally: NDArray[np.int64]) -> NDArray[np.float64]:
        """As `estimate`, from the sum of all views' numbers."""

    def estimate(self, views: Views) -> NDArray[np.float64]:
        return self.estimate_from_tally(self.tally(views))


class IntervalValues(LinearEstimate):
    """An input is a number in ``[low, high]``, and a view is a number whose mean it is.

    Parameters
    ----------
    low, high : Fraction
        Ends of the interval of inputs, ``low < high``.
    """

    low: Fraction
    high: Fraction

    def _require_interval(self) -> None:
        """Make the ends exact, and check them."""
        for name in ("low", "high"):
            object.__setattr__(self, name, exact(getattr(self, name)))
        if not round_up(self.low) < round_down(self.high):
            raise ValueError(f"{type(self).__name__} needs two floats low < high, got low={self.low} and high={self.high}")

    @property
    def inputs(self) -> tuple[float, float]:
        """The ends; every number between them is an input too."""
        return round_up(self.low), round_down(self.high)

    @property
    def sensitivity(self) -> Fraction:
        """How far two inputs may lie apart."""
        return self.high - self.low

    def require_input(self, x: Any) -> None:
        """Check that `x` is a number in ``[low, high]``."""
        if isinstance(x, bool) or not isinstance(x, int | float | Fraction) or not self.low <= x <= self.high:
            raise ValueError(f"{type(self).__name__} needs a number from {self.low} to {self.high}, got {x!r}")

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        return total

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.sum(np.asarray(data, dtype=np.float64), keepdims=True))
