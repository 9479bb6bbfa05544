"""Mechanisms whose inputs are numbered values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism, Views


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
        """The values."""
        return range(self.k)


class BitVector(KValues):
    """A view has a number for each of the `k` values."""

    @property
    def view_length(self) -> int:
        """See `Mechanism`."""
        return self.k


class DomainValues(Mechanism):
    """An input is one of `domain` values."""

    domain: int

    @property
    def inputs(self) -> range:
        """The values."""
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
