"""The papers' tables beside certified values: `ldpaudit.studies.tables` holds what is printed, and this file certifies it."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed, rounding
from ldpaudit.accountants.sampling.thresholded import FixedBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Aggregate
from ldpaudit.studies.tables import Row, Table

COMPUTATIONS: dict[str, Callable[..., Enclosure]] = {
    "threshold-epsilon": lambda users, batch, threshold, levels, delta: ThresholdProfile(
        FixedBatch(users, batch), threshold, levels
    ).epsilon(delta),
    "noise-epsilon": lambda sigma, delta, neighbours: account(
        DiscreteGaussian(Fraction(sigma), (1, -1)), Neighbours.named(neighbours)
    ).epsilon(delta),
    "sum-epsilon": lambda epsilon0, users, delta, neighbours: account(
        Aggregate(UnaryEncoding.symmetric(2 * epsilon0, 8), users), Neighbours.named(neighbours)
    ).epsilon(delta),
}
"""By the names that rows use."""


def judged(row: Row) -> Printed | None:
    """A row's number beside its certified value; None for a statement.

    Raises KeyError where the row names a computation that does not exist.
    """
    if not row.computation:
        return None
    arguments: dict[str, Any] = row.values()
    found = COMPUTATIONS[row.computation](**arguments)
    at = ", ".join(f"{key}={value}" for key, value in row.parameters)
    return Printed(row.theorem, f"{row.quantity} at {at}", Fraction(row.value), found, rounding=rounding(row.value))


def check(table: Table) -> Iterator[tuple[Row, Printed | None]]:
    """A table's rows with what is found of each, one after the other."""
    return ((row, judged(row)) for row in table.rows)
