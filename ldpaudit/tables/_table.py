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
    """One printed value, or one printed statement.

    Parameters
    ----------
    parameters : tuple of (str, int or Fraction or str)
        What the value is printed for, by name.
    quantity : str
        ``epsilon`` or ``delta``; ``statement`` where the printed cell is a formula or words.
    printed : str
        As printed, to the digits printed.
    theorem : str
        Where the source takes it from.
    computation : str
        Name of the certified computation of the same quantity; empty for statements, and where there is none.
    differs : str
        Why the certified value is expected to be another, where it is known.
    model : str
        What the value is of, where no accountant here is about that: nothing is computed, and nothing is said of it; else empty.
    """

    parameters: tuple[tuple[str, Parameter], ...]
    quantity: str
    printed: str
    theorem: str
    computation: str = ""
    differs: str = ""
    model: str = ""

    @property
    def value(self) -> Decimal:
        """The printed number.

        Raises
        ------
        ValueError
            For a statement.
        """
        if self.quantity == "statement":
            raise ValueError(f"{self.printed!r} is a statement, not a number")
        return Decimal(self.printed)

    def values(self) -> dict[str, Parameter]:
        """Parameters by name."""
        return dict(self.parameters)


@dataclass(frozen=True, slots=True)
class Table:
    """A printed table.

    Parameters
    ----------
    name : str
        As in ``ldpaudit table NAME``.
    title, source : str
        What it shows, and where it is printed.
    rows : tuple of Row
        In the printed order.
    """

    name: str
    title: str
    source: str
    rows: tuple[Row, ...]
