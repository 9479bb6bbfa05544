"""Mechanisms whose inputs are numbered values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism, Views


class OfK(Mechanism):
    """On one of `k` values.

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


class BitVector(OfK):
    """Of which a view is a row of `k` bits."""

    @property
    def view_length(self) -> int:
        """See `Mechanism`."""
        return self.k


class OfDomain(Mechanism):
    """On one of `domain` values."""

    domain: int

    @property
    def inputs(self) -> range:
        """The values."""
        return range(self.domain)


class OfBits(OfDomain):
    """Of whose values the bits matter."""

    @property
    def bits(self) -> int:
        """Length of a value's binary expansion."""
        return (self.domain - 1).bit_length()


class Summed(Mechanism):
    """Whose estimate is linear in the sum of the views."""

    summed = "vector"

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased estimate, from the sum of the views; see `estimate_from_sum`."""
        return self.estimate_from_sum(np.atleast_1d(np.asarray(views).sum(axis=0, dtype=np.float64)), len(views))
