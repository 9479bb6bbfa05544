"""Recorded reports: pairs of an input and what was sent for it."""

from __future__ import annotations

import csv
import json
import math
import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.errors import DeploymentError, ImplementationError

SPREAD = 7
"""Standard deviations of a fair coin's count that are kept in reserve: one audit in 10**11 runs out of reports."""

SHOWN = 5
"""Inputs that an error message names."""


class Log:
    """``log(x, size, rng)`` hands out `size` reports on input `x` that were not handed out before.

    Parameters
    ----------
    reports : dict
        Input to its reports, in the order of recording.

    Raises
    ------
    ValueError
        Where there are fewer than two inputs.
    """

    seeded = False
    """Its reports are no function of the generator."""

    def __init__(self, reports: dict[Any, list[Any]]) -> None:
        if len(reports) < 2:
            raise ValueError(f"a log needs reports on at least two inputs, got {len(reports)}")
        self.reports = reports
        self._next = dict.fromkeys(reports, 0)
        self._one = threading.Lock()

    def __reduce__(self) -> Any:
        raise TypeError("a log hands out each of its reports once, in one process: use threads")

    @property
    def inputs(self) -> list[Any]:
        """The inputs, those with the most reports first."""
        return sorted(self.reports, key=lambda x: -len(self.reports[x]))

    @property
    def trials(self) -> int:
        """Trials on the two best recorded inputs that fair coins can make without running out."""
        return self.trials_on(self.inputs[:2])

    def trials_on(self, inputs: Sequence[Any], users: int = 1) -> int:
        """Trials, on whichever two of these inputs, that fair coins can make without running out.

        Parameters
        ----------
        inputs : sequence
            Of the log's.
        users : int
            2: each trial takes a report on the first of the inputs too.

        Raises
        ------
        ImplementationError
            Where the log holds no reports on an input.
        """
        fewer = min(len(self._of(x)) for x in inputs)
        return max(0, int(2 * (fewer - SPREAD * math.sqrt(fewer)) / (1 if users == 1 else 3)))

    def _of(self, x: Any) -> list[Any]:
        try:
            return self.reports[x]
        except (KeyError, TypeError):
            shown = ", ".join(map(repr, self.inputs[:SHOWN]))
            raise ImplementationError(f"the log holds no reports on it, but on {shown}", x) from None

    def __call__(self, x: Any, size: int, rng: np.random.Generator) -> list[Any]:
        """Fresh reports.

        Raises
        ------
        ImplementationError
            Where the log holds no more of them, or none.
        """
        with self._one:
            reports, start = self._of(x), self._next[x]
            if start + size > len(reports):
                raise ImplementationError(f"the log holds {len(reports)} reports, and more are needed", x)
            self._next[x] = start + size
        return reports[start : start + size]


def read_log(path: str | Path, input_column: str = "input", report_column: str = "report") -> Log:
    """A log from CSV, or from Parquet (extra 'logs').

    Parameters
    ----------
    path : str or Path
        With a header; values that are JSON are read as such.
    input_column, report_column : str
        Names of the two columns.

    Raises
    ------
    DeploymentError
        Where it cannot be read, or a column is missing.
    """
    file = Path(path)
    rows = _parquet(file) if file.suffix == ".parquet" else _csv(file)
    found: dict[Any, list[Any]] = defaultdict(list)
    for number, row in enumerate(rows, 2):
        try:
            found[_hashable(row[input_column])].append(_value(row[report_column]))
        except KeyError as error:
            columns = ", ".join(map(str, row))
            raise DeploymentError(f"needs a column {error}, got {columns}", str(file), number) from None
    try:
        return Log(dict(found))
    except ValueError as error:
        raise DeploymentError(str(error), str(file)) from None


def _csv(file: Path) -> list[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DeploymentError(f"needs a readable CSV file: {error}", str(file)) from None


def _parquet(file: Path) -> list[dict[str, Any]]:
    try:
        import polars
    except ImportError:
        raise DeploymentError("a Parquet log needs polars: install ldpaudit[logs]", str(file)) from None
    try:
        rows: list[dict[str, Any]] = polars.read_parquet(file).to_dicts()
    except (OSError, polars.exceptions.PolarsError) as error:
        raise DeploymentError(f"needs a readable Parquet file: {error}", str(file)) from None
    return rows


def _value(text: Any) -> Any:
    if isinstance(text, str):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _hashable(text: Any) -> Any:
    value = _value(text)
    return value if isinstance(value, int | float | str | bool | None) else json.dumps(value)
