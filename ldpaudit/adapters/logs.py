"""Recorded reports: pairs of an input and what was sent for it."""

import json
import math
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.adapters import rows
from ldpaudit.core import strict_json
from ldpaudit.errors import DeploymentError, ImplementationError

SPREAD = 7
"""Standard deviations of a fair coin's count that are kept in reserve: one audit in 10**11 runs out of reports."""

SHOWN = 5  # inputs that an error message names


class Log:
    """``log(x, size, rng)`` hands out `size` reports on input `x` that were not handed out before.

    In an order of its own: what was recorded in an order that says something, such as sorted, would be learned from one kind
    of reports and measured on another.

    ``reports``: input to its reports. Raises ValueError where there are fewer than two inputs.
    """

    seeded = False
    """Its reports are no function of the generator."""

    def __init__(self, reports: dict[Any, list[Any]]) -> None:
        if len(reports) < 2:
            raise ValueError(f"a log needs reports on at least two inputs, got {len(reports)}")
        mixed = np.random.default_rng(0)
        self.reports = {x: [made[i] for i in mixed.permutation(len(made))] for x, made in reports.items()}
        self._next = dict.fromkeys(reports, 0)
        self._one = threading.Lock()

    def __reduce__(self) -> Any:
        raise TypeError("each report of a log is used once, in one process: use threads")

    @property
    def inputs(self) -> list[Any]:
        """The inputs, those with the most reports first."""
        return sorted(self.reports, key=lambda x: -len(self.reports[x]))

    @property
    def compared(self) -> list[Any]:
        """The two inputs with the most reports, and those that have a quarter as many as the second: a rarer one costs trials."""
        least = len(self.reports[self.inputs[1]]) / 4
        return [x for x in self.inputs if len(self.reports[x]) >= least]

    @property
    def trials(self) -> int:
        """Trials on the two best recorded inputs that fair coins can make without running out."""
        return self.trials_on(self.inputs[:2])

    def trials_on(self, inputs: Sequence[Any], users: int = 1) -> int:
        """Trials, on whichever two of these inputs, that fair coins can make without running out.

        With two users, each trial takes a report on the first of the inputs too. Raises
        ImplementationError where the log holds no reports on an input.
        """
        fewer = min(len(self.reports[self._held(x)]) for x in inputs)
        return max(0, int(2 * (fewer - SPREAD * math.sqrt(fewer)) / (1 if users == 1 else 3)))

    def _held(self, x: Any) -> Any:
        """The input as the log has it."""
        with suppress(TypeError):  # of what can be no key
            if x in self.reports:
                return x
        with suppress(TypeError):
            if _key(x) in self.reports:
                return _key(x)
        shown = ", ".join(f"{each!r:.20}" for each in self.inputs[:SHOWN])
        raise ImplementationError(f"the log has no reports on it, only on {shown}", x)

    def __call__(self, x: Any, size: int, rng: np.random.Generator) -> list[Any]:
        """Fresh reports. Raises ImplementationError where the log holds no more of them, or none."""
        key = self._held(x)
        with self._one:
            reports, start = self.reports[key], self._next[key]
            if start + size > len(reports):
                raise ImplementationError(f"the log holds {len(reports)} reports, but more are needed", x)
            self._next[key] = start + size
        return reports[start : start + size]


def read_log(path: str | Path, input_column: str = "input", report_column: str = "report") -> Log:
    """A log from CSV, or from Parquet (extra 'logs').

    ``path``: with a header; values that are JSON are read as such; ``input_column``, ``report_column``: names of the
    two columns. Raises DeploymentError where it cannot be read, a column is missing, a line has fewer or more values
    than there are columns, or an input is no value of JSON.
    """
    file = Path(path)
    binary = rows.form(file, (rows.CSV, rows.PARQUET)) == rows.PARQUET
    found: dict[Any, list[Any]] = defaultdict(list)
    for number, row in enumerate(rows.table_rows(file), 2) if binary else _csv(file):
        if row.get(input_column) == "":
            raise DeploymentError("needs an input, got an empty cell", str(file), number)
        try:
            found[_key(_value(row[input_column]))].append(_value(row[report_column]))
        except KeyError as error:
            raise DeploymentError(rows.no_column(error.args[0], [*map(str, row)]), str(file)) from None
        except TypeError:
            kind = type(row[input_column]).__name__
            raise DeploymentError(f"needs inputs that can be written as JSON, got {kind}", str(file), number) from None
        except RecursionError:
            raise DeploymentError("needs JSON with less nesting", str(file), number) from None
    if not found:
        raise DeploymentError(f"needs the columns {input_column} and {report_column}, and rows of reports, got no row", str(file))
    if all(report == "" for reports in found.values() for report in reports):
        raise DeploymentError(f"needs reports, got empty cells in the column {report_column!r}", str(file))
    try:
        return Log(dict(found))
    except ValueError as error:
        raise DeploymentError(str(error), str(file)) from None


def _csv(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        table = rows.table(file)
        _, names = next(table, (1, list[str]()))
        for number, row in table:
            yield number, dict(zip(names, row, strict=True))
    except (OSError, MemoryError) as error:
        raise DeploymentError(f"needs a readable CSV file: {getattr(error, 'strerror', None) or error}", str(file)) from None


def _value(text: Any) -> Any:
    if isinstance(text, str):
        try:
            return strict_json.whole(text)
        except ValueError:
            return text
    return text


def _key(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool | None) else json.dumps(value)
