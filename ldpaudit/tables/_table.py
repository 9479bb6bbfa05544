"""What a printed table is: data, no computation."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

Parameter: TypeAlias = int | str | Fraction
SUMS = "sums of noisy bits, which are securely aggregated"
"""A `model` of rows."""


@dataclass(frozen=True, slots=True)
class Row:
    """One printed value, or one printed statement."""

    parameters: tuple[tuple[str, Parameter], ...]  # what the value is printed for, by name
    quantity: str  # ``epsilon`` or ``delta``; ``statement`` where the printed cell is a formula or words
    printed: str  # as printed, to the digits printed
    theorem: str  # where the source takes it from
    # name of the certified computation of the same quantity; empty for statements, and where there is none
    computation: str = ""
    differs: str = ""  # why the certified value is expected to be another, where it is known
    # what the value is of, where no accountant here is about that: nothing is computed, and nothing is said of it; else
    # empty
    model: str = ""

    @property
    def value(self) -> Decimal:
        """The printed number. Raises ValueError for a statement."""
        if self.quantity == "statement":
            raise ValueError(f"{self.printed!r} is a statement, not a number")
        return Decimal(self.printed)

    def values(self) -> dict[str, Parameter]:
        """Parameters by name."""
        return dict(self.parameters)


@dataclass(frozen=True, slots=True)
class Table:
    """A printed table."""

    name: str  # as in ``ldpaudit table NAME``
    title: str  # what it shows, and where it is printed
    source: str
    rows: tuple[Row, ...]  # in the printed order
