"""The papers' tables beside certified values: what is printed is data (`ldpaudit.tables`), what is certified is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from importlib import import_module
from typing import Any

from ldpaudit.enclosure import Enclosure
from ldpaudit.tables import Row, Table


class Comparison(Enum):
    """How a printed value stands to the certified one."""

    AGREES = "agrees to the digits printed"
    LOOSE = "valid, and above what is certified"
    BELOW = "below what is certified, and nothing shows that it is wrong"
    REFUTED = "below what a data set reaches"
    STATEMENT = "a statement, not a number"


@dataclass(frozen=True, slots=True)
class Checked:
    """A row with its certified value.

    Parameters
    ----------
    row : Row
        As printed.
    certified : Enclosure or None
        Of the same quantity; None for statements.
    """

    row: Row
    certified: Enclosure | None

    @property
    def comparison(self) -> Comparison:
        """The printed value is read as the interval of all numbers that round to it, either way."""
        if self.certified is None:
            return Comparison.STATEMENT
        value = self.row.value
        unit = Decimal(1).scaleb(int(value.as_tuple().exponent))
        low, high = Decimal(self.certified.low), Decimal(self.certified.high)
        if low > value + unit:
            return Comparison.REFUTED
        if value - unit < high < value + unit:
            return Comparison.AGREES
        return Comparison.LOOSE if high <= value - unit else Comparison.BELOW


def _shuffle_epsilon(epsilon0: Fraction | int, users: int, delta: Fraction) -> Enclosure:
    plan = import_module("ldpaudit.plan")
    # Its own module, not `account`, which decides by the shape of the plan: this is any report with that epsilon0.
    profile = import_module("ldpaudit.accountants.shuffling.plan").profile(plan.Shuffle(plan.Guarantee(epsilon0), users))
    found: Enclosure = profile.epsilon(delta)
    return found


def _threshold_epsilon(users: int, batch: int, threshold: int, levels: int, delta: Fraction) -> Enclosure:
    sampling = import_module("ldpaudit.accountants.sampling.thresholded").FixedBatch(users, batch)
    profile = import_module("ldpaudit.accountants.sampling.trie").ThresholdProfile(sampling, threshold, levels)
    found: Enclosure = profile.epsilon(delta)
    return found


COMPUTATIONS: dict[str, Callable[..., Enclosure]] = {
    "shuffle-epsilon": _shuffle_epsilon,
    "threshold-epsilon": _threshold_epsilon,
}
"""By the names that rows use."""


def certified(row: Row) -> Enclosure | None:
    """The certified value of a row's quantity; None for statements.

    Raises
    ------
    KeyError
        Where the row names a computation that does not exist.
    """
    arguments: dict[str, Any] = row.values()
    return COMPUTATIONS[row.computation](**arguments) if row.computation else None


def check(table: Table) -> Iterator[Checked]:
    """A table's rows with their certified values, one after the other."""
    return (Checked(row, certified(row)) for row in table.rows)
