"""Mechanisms whose inputs are numbered values."""

from __future__ import annotations

from ldpaudit.mechanism import Mechanism


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
