"""The trusted part where laws are finite: every entry of a table of exact probabilities is looked at. No symbols, no floats.

A law is a row; of any two rows of one table, either may be the other's neighbour. The bound is a rational r with
P(y) <= r Q(y) for all pairs of rows and all views y: no event's likelihood ratio is larger than that of its best view.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from ldpaudit.errors import ProofError

Row: TypeAlias = Sequence[Fraction]
Table: TypeAlias = Sequence[Row]
"""Laws on the same views, any two of which are neighbours."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A bound that was checked entry by entry, and is attained."""

    sentence: str  # what is bounded
    ratio: Fraction  # the largest likelihood ratio, at least 1
    rows: int  # how many were checked
    columns: int
    relation: str  # which rows are neighbours
    assumes: tuple[str, ...]  # what is not checked here
    admissions: tuple[str, ...] = ()
    tight: str = ""

    @property
    def statement(self) -> str:
        """The sentence, and the bound."""
        r = self.ratio
        short = r.denominator < 10**12 and r.numerator < 10**60
        ratio = str(r) if short else f"{r.numerator.bit_length()} bits / {r.denominator.bit_length()} bits"
        return f"{self.sentence} is private with epsilon = log({ratio}), and no less"

    @property
    def steps(self) -> tuple[str, ...]:
        """What was checked."""
        return (
            *(f"row {i} is nonnegative and sums to 1" for i in range(self.rows)),
            *(f"column {y}: its largest entry is at most the ratio times its least" for y in range(self.columns)),
            "in one column it is as much: attained",
        )

    def at(self, mechanism: object) -> list[tuple[Fraction, Fraction, bool]]:
        """The proved epsilon, as terms (times, ratio, nats)."""
        return [(Fraction(1), self.ratio, False)]


def prove_tables(sentence: str, tables: Sequence[Table], relation: str, *assumes: str) -> Checked | None:
    """The least epsilon of these tables; None where none is finite. Raises ProofError where a row is no law."""
    ratio = Fraction(1)
    for i, table in enumerate(tables):
        for x, row in enumerate(table):
            if len(row) != len(table[0]) or any(type(p) is not Fraction or p < 0 for p in row) or sum(row) != 1:
                raise ProofError(f"table {i}, row {x}", "a row that is no law")
        for column in zip(*table, strict=True):
            most, least = max(column), min(column)
            if most > 0 == least:
                return None
            ratio = max(ratio, most / least) if most else ratio
    rows, columns = sum(map(len, tables)), sum(len(table[0]) for table in tables)
    return Checked(sentence, ratio, rows, columns, relation, assumes) if tables else None


@dataclass(frozen=True, slots=True)
class Exhaustive:
    """A theorem that is checked anew for each mechanism of a class, on all entries of its table."""

    mechanism: str  # the class
    sentence: str  # what is bounded
    table: Callable[[Any], Table]  # from a mechanism to its table
    example: Table  # what is checked where no mechanism is given
    assumes: tuple[str, ...] = ()  # what is not checked
    relation: str = "replace-one"
    admissions: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """What is checked where a mechanism is given; a `ProofError` where the example does not check."""
        _ = self.steps
        return f"{self.sentence} is private with epsilon = log(the largest ratio of two entries of a column), and no less"

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps for the example; a `ProofError` where one does not check."""
        found = prove_tables(self.sentence, (self.example,), self.relation)
        if found is None:
            raise ProofError(self.sentence, "an example without a finite bound")
        shown = "; ".join(", ".join(map(str, row)) for row in self.example)
        return tuple(f"of the matrix ({shown}): {step}" for step in found.steps)

    def of(self, mechanism: object) -> Checked | None:
        """The theorem for one mechanism; None where it is not about it, or no epsilon is finite."""
        if self.mechanism not in {c.__name__ for c in type(mechanism).__mro__}:
            return None
        return prove_tables(self.sentence, (self.table(mechanism),), self.relation, *self.assumes)

    def at(self, mechanism: object) -> list[tuple[Fraction, Fraction, bool]] | None:
        """The proved epsilon of a mechanism, as terms; None where the theorem is not about it, or no epsilon is finite."""
        found = self.of(mechanism)
        return None if found is None else found.at(mechanism)
