"""Any finite randomizer, by its matrix: a row for each input, a column for each view."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.number import show
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism, Views, require_counts
from ldpaudit.mechanisms.shared import matrices
from ldpaudit.mechanisms.shared.files import File
from ldpaudit.mechanisms.shared.matrices import Given, Matrix

_DIGITS = 62  # bits that are drawn at a time, within the range of a machine integer


@dataclass(frozen=True)
class Channel(Mechanism):
    """On input x, view y with probability ``matrix[x][y]``.

    A view is an int in ``range(k)``, k the number of columns.

    Parameters
    ----------
    matrix : sequence of rows
        Probabilities, a row for each of at least two inputs; inputs are ``range(rows)``. Entries are exact numbers, or expressions
        such as ``"1/(1+exp(1))"``; one of a row may be ``"rest"``, which is 1 minus the others. As one text, entries end in ``,``
        and rows in ``;``.

    Other Parameters
    ----------------
    file : str
        CSV, JSON or NPY file with the matrix, a row for each input; in the deployment's folder.

    Examples
    --------
    >>> Channel("3/4, 1/4; 1/3, rest").law(1).probability(1)
    Fraction(2, 3)
    >>> Channel([["3/4", "1/4"], ["1/3", "rest"]]).law(1).probability(1)
    Fraction(2, 3)
    """

    title = "channel given by its matrix"

    matrix: Matrix

    def __init__(self, matrix: Given) -> None:
        rows = matrices.matrix_of("Channel", matrix)
        if len(rows) < 2 or not rows[0] or len({len(row) for row in rows}) > 1:
            found = ", ".join(map(str, sorted({len(row) for row in rows})))
            raise ValueError(f"Channel needs at least two rows of one length, got {len(rows)} of {found} entries")
        for x, row in enumerate(rows):
            _require_law(x, row)
        object.__setattr__(self, "matrix", rows)
        # An audit asks for it with each chunk of views; that of 90,000 fractions takes longer than the views.
        object.__setattr__(self, "_hash", hash(rows))

    @classmethod
    def from_file(cls, file: File | str | Path) -> Self:
        """The matrix in a CSV, JSON or NPY file; in text, decimals are exact, and entries may be expressions."""
        if not isinstance(file, File | str | Path):
            raise TypeError(f"Channel.from_file needs a path, got {file!r:.60}")
        return cls(matrices.read("Channel", file if isinstance(file, File) else File.read(file)))

    @property
    def inputs(self) -> range:
        return range(len(self.matrix))

    @property
    def views(self) -> range:
        """The columns."""
        return range(len(self.matrix[0]))

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size,)``, with exactly the probabilities of the row."""
        self.require_input(x)
        ends = [Fraction(0), *accumulate(self.matrix[x])][:-1]
        whole = np.array([int(end * (1 << _DIGITS)) for end in ends], dtype=np.int64)
        drawn = rng.integers(0, 1 << _DIGITS, size)
        views = np.searchsorted(whole, drawn, side="right") - 1
        # A number whose first digits are those of an end is before or behind it.
        for i in np.flatnonzero(np.isin(drawn, whole)):
            views[i] = _last_end(ends, int(drawn[i]), rng)
        return views.astype(np.int64)

    def law(self, x: int) -> Law:
        self.require_input(x)
        return Law(self.matrix[x].__getitem__, lambda: self.views, len(self.views))

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each input, shape ``(inputs,)``.

        Raises Unsupported where the rows are linearly dependent: different counts then give views of one law.
        """
        return self._of_views(np.bincount(views, minlength=len(self.views)))

    def run_on_counts(self, counts: Mapping[Any, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`: how many users show each view is drawn, with float probabilities."""
        require_counts(self, counts)
        rows = {x: np.array(self.matrix[x], dtype=np.float64) for x, count in counts.items() if count}
        return self._of_views(sum(rng.multinomial(counts[x], row / row.sum()) for x, row in rows.items()))

    def _of_views(self, counts: Any) -> NDArray[np.float64]:
        matrix = np.array(self.matrix, dtype=np.float64)
        if np.linalg.matrix_rank(matrix) < len(matrix):
            raise Unsupported(self, "its rows are linearly dependent, so no estimate of the inputs' counts is unbiased")
        return np.asarray(counts @ np.linalg.pinv(matrix))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined,no-any-return]

    def __str__(self) -> str:
        rows, columns = len(self.inputs), len(self.views)
        if rows * columns <= 16:  # such a matrix is shown whole
            return f"Channel({'; '.join(', '.join(map(show, row)) for row in self.matrix)})"
        text = ";".join(",".join(map(str, row)) for row in self.matrix)
        return f"Channel({rows} inputs, {columns} views, sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]})"


def channel_of(m: Mechanism) -> Channel:
    """The channel of a mechanism's finite law, if that may be listed: its inputs and its views in their order."""
    views = list(dict(m.law(m.inputs[0]).items()))
    return Channel(tuple(tuple(m.law(x).probability(y) for y in views) for x in m.inputs))


def _require_law(x: int, row: tuple[Fraction, ...]) -> None:
    for y, p in enumerate(row):
        if not 0 <= p <= 1:
            raise ValueError(f"Channel needs probabilities, got {show(p)} in row {x}, place {y}")
    if (total := matrices.total(f"Channel, row {x}", row)) != 1:
        near = f"1 {'-' if total < 1 else '+'} {show(abs(total - 1))} (decimals are exact where they stand in quotes)"
        found = show(total) if total.denominator <= 10**9 else near  # so that it is seen not to be 1
        raise ValueError(f"Channel needs rows that sum to 1 exactly, got {found} in row {x}, counted from 0")


def _last_end(ends: list[Fraction], drawn: int, rng: np.random.Generator) -> int:
    """The last of increasing ends at or before a uniform number with these first digits; more are drawn while any end has them."""
    bits = _DIGITS
    while any(end * (1 << bits) != drawn and int(end * (1 << bits)) == drawn for end in ends):
        drawn = drawn << _DIGITS | int(rng.integers(0, 1 << _DIGITS))
        bits += _DIGITS
    return max(y for y, end in enumerate(ends) if end * (1 << bits) <= drawn)
