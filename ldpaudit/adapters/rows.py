"""Files of users' values and of reports: what a record is in each format, for all that reads them.

Text: a line, up to a line feed, or a carriage return and a line feed, and nothing else that anybody counts as the end of a line.
CSV: a row after the header, as RFC 4180 has it, with a value for each column, of which ``""`` is one. Parquet: a row, no null.
Nothing is dropped, and nothing is guessed: an empty line, a row that is short or long, any other ending is an error.
"""

import csv
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ldpaudit.adapters.places import copied_here, ending, opened
from ldpaudit.core.nearest import or_rather
from ldpaudit.core.strict_json import shown
from ldpaudit.errors import DeploymentError, without_file

CSV, PARQUET, TEXT, ARROW, FEATHER = ".csv", ".parquet", ".txt", ".arrow", ".feather"
TABLES = (PARQUET, ARROW, FEATHER)  # that polars reads
FORMS = (CSV, *TABLES, TEXT)  # what files end in, small or large, before .gz or .zst; a name without an ending is that of text


def form(file: Path, known: Sequence[str] = FORMS) -> str:
    """The format of a file, by the end of its name. Raises DeploymentError where it is none of the known ones, or a folder."""
    if file.is_dir():
        raise DeploymentError("needs a file, got a folder", str(file))
    found = ending(file) or TEXT
    if found not in known:
        raise DeploymentError(f"needs a file that ends in {' or '.join(known)}, got {file.suffix or 'no ending'}", str(file))
    return found


def values(file: Path, column: str = "") -> Iterable[Any]:
    """One value for each record of a file, whatever its format; that of the first column where no other is named.

    Raises DeploymentError, OSError as for `lines`, `columns` and `table_column`, and where a column of text is named.
    """
    kind = form(file)
    if kind == CSV:
        return (value for _, (value,) in columns(file, column))
    if kind in TABLES:
        return table_column(file, column)
    if column:
        raise DeploymentError(f"needs a file with columns, CSV or Parquet, for {column!r}", str(file))
    return lines(file)


def lines(file: Path) -> Iterator[str]:
    """The values of a text file, one a line.

    Raises DeploymentError where a line has none, or is no text; with its number; OSError where the file cannot be read.
    """
    for number, line in enumerate(decoded(file), 1):
        value = line[:-2] if line.endswith("\r\n") else line.removesuffix("\n")
        if not value or "\r" in value:
            found = "a carriage return within one" if value else "an empty one"
            raise DeploymentError(f"needs a value in every line, got {found}", str(file), number)
        yield value


def table(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the numbers of the lines on which they end: first the header, then all others, of its length.

    Raises DeploymentError where a row is shorter or longer, or a name stands twice in the header, or it is no CSV; with
    the number of the line; OSError where the file cannot be read.
    """
    # Lines end where RFC 4180 says; csv itself refuses carriage returns that are neither quoted nor at a line's end.
    rows = csv.reader(decoded(file), strict=True)
    names: list[str] | None = None
    try:
        for row in rows:
            if names is None:
                names = row = [name.strip() for name in row]  # people write blanks after commas
                if twice := {name for name in names if names.count(name) > 1}:
                    found = f"needs each column once, got {min(twice)!r:.60} twice; the first line names the columns"
                    raise DeploymentError(found, str(file), rows.line_num)
            elif len(row) != len(names):
                found = f"{len(row)} for {len(names)} columns" if row else "an empty line"
                raise DeploymentError(f"needs exactly one value in each column, got {found}", str(file), rows.line_num)
            yield rows.line_num, row
    except csv.Error as error:
        raise DeploymentError(f"needs a readable CSV file: {error}", str(file), rows.line_num) from None


def columns(file: Path, *wanted: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Some columns of a CSV file, with lines, row by row; the first column where a name is empty.

    Raises DeploymentError, OSError as for `table`, and where there is no such column.
    """
    rows = table(file)
    _, names = next(rows, (1, list[str]()))
    try:
        places = [names.index(chosen(names, column)) for column in wanted]
    except ValueError as error:
        raise DeploymentError(str(error), str(file), 1) from None
    for number, row in rows:
        yield number, tuple(row[place] for place in places)


def chosen(names: Sequence[str], column: str) -> str:
    """The column of this name, or the first one where it is empty. Raises ValueError where there is none."""
    if not names or (column and column not in names):
        raise ValueError(no_column(column or "of values", names))
    return column or names[0]


def no_column(wanted: str, names: Sequence[str]) -> str:
    """What is wrong with the columns of a file."""
    parted = "; commas part columns" if len(names) == 1 and set(names[0]) & set(";\t|") else or_rather(wanted, names)
    return f"needs a column {wanted!r}, got {shown(', '.join(names)) or 'none'}{parted}"


def decoded(file: Path) -> Iterator[str]:
    """Lines of text with their ends. Only a line feed ends one: `str.splitlines` knows ten other ends, which values may hold."""
    with opened(file) as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")  # spreadsheets write a byte order mark
            except UnicodeDecodeError:
                raise DeploymentError("needs text in UTF-8", str(file), number) from None
            if "\0" in text:
                raise DeploymentError("needs text, got a NUL character", str(file), number)
            yield text


_AHEAD = 16  # times as many rows of a table are decoded at once as are handed out
UNREADABLE = (OSError, ValueError, OverflowError, MemoryError)
"""What reading a file of another format raises: a date in the year 43915 is a ValueError."""


def table_rows(file: Path) -> list[dict[str, Any]]:
    """All rows, by the names of columns. Raises DeploymentError where polars is missing, or the file cannot be read."""
    return _read(file, lambda _, lazy: lazy.collect().to_dicts())  # type: ignore[no-any-return]


def table_column(file: Path, column: str) -> list[Any]:
    """The values of a column, the first one where none is named.

    Raises DeploymentError as for `table_rows`; and where a value is missing.
    """

    def read(_: Any, lazy: Any) -> Any:
        values = lazy.select(chosen(lazy.collect_schema().names(), column)).collect().to_series()
        _require_all(values.null_count())
        return values.to_list()

    return _read(file, read)  # type: ignore[no-any-return]


def table_counted(file: Path, column: str, users: str) -> tuple[list[Any], list[Any]]:
    """Values, and how many users hold each; nothing but the wanted columns is read.

    ``column``: of values, the first one where it is empty; ``users``: of numbers of users; if empty, a row is a user, and equal
    values are joined, in rising order. Raises DeploymentError as for `table_rows`; and where a value or number is missing.
    """

    def read(polars: Any, lazy: Any) -> Any:
        schema = lazy.collect_schema()
        names = [chosen(list(schema), each) for each in (column, users)[: 1 + bool(users)]]
        wanted = lazy.select(polars.col(name).alias(alias) for name, alias in zip(names, ("value", "users"), strict=False))
        if not users and schema[names[0]].is_nested():
            wanted = wanted.with_columns(polars.lit(1).alias("users"))
        elif not users:
            wanted = wanted.group_by("value").agg(polars.len().alias("users")).sort("value")
        table = wanted.collect()
        _require_all(sum(table[name].null_count() for name in ("value", "users")))
        return table["value"].to_list(), table["users"].to_list()

    return _read(file, read)  # type: ignore[no-any-return]


def frames(file: Path, column: str, optional: str, size: int) -> Iterator[tuple[int, Any, list[Any] | None]]:
    """The rows of a Parquet or Arrow file, this many at a time: the number of the first one, from 1, and the values of two columns.

    Of the first column a list, or an array where these are numbers, or lists of as many numbers each; None where there is no other.
    Raises DeploymentError as for `table_rows`, and where there is no first column.
    """
    def ahead(_: Any, lazy: Any) -> list[Any]:
        # Of a group of rows all must be decoded for a few.
        rows = lazy.select(wanted).slice(start, _AHEAD * size).collect()
        parts = (rows.slice(i, size) for i in range(0, len(rows), size))
        return [(_numbers(part[column]), part[optional].to_list() if optional in names else None) for part in parts]

    with copied_here(file) as copy:
        names = _read(copy, lambda _, lazy: lazy.collect_schema().names(), file)
        if column not in names:
            raise DeploymentError(no_column(column, names), str(file))
        wanted, start = [column] + [optional] * (optional in names), 0
        while parts := _read(copy, ahead, file):
            for values, others in parts:
                yield start + 1, values, others
                start += len(values)


def _numbers(column: Any) -> Sequence[Any] | NDArray[Any]:
    """A column of polars', as an array where it is one of numbers, or of lists of as many numbers each."""
    kind, size = type(column.dtype).__name__, len(column)
    flat = column.explode() if size and kind in ("List", "Array") else column
    if not size or not flat.dtype.is_numeric() or flat.null_count() or column.null_count():
        return column.to_list()  # type: ignore[no-any-return]
    if kind == "List" and column.list.len().n_unique() != 1:
        return column.to_list()  # type: ignore[no-any-return]
    return flat.to_numpy() if flat is column else flat.to_numpy().reshape(size, -1)  # type: ignore[no-any-return]


def _require_all(missing: int) -> None:
    if missing:
        raise ValueError(f"a value in every row, got {missing} without")


def _read(file: Path, read: Callable[[Any, Any], Any], named: Path | None = None) -> Any:
    """What is read of a file, by polars and its rows, which are read when asked for; an error names that file, or another."""
    kind = "Parquet" if ending(file) == PARQUET else "Arrow"
    try:
        import polars
    except ImportError:
        raise DeploymentError(f"{kind} files need polars: install ldpaudit[logs]", str(named or file)) from None
    try:
        with copied_here(file) as copy, _SILENT:
            return read(polars, polars.scan_parquet(copy) if kind == "Parquet" else polars.scan_ipc(copy))
    except BaseException as error:
        # A panic of polars' is no Exception, and has no name to import.
        of_polars = any(each.__name__ in ("PolarsError", "PanicException") for each in type(error).__mro__)
        if not (of_polars or isinstance(error, UNREADABLE)):
            raise
        raise DeploymentError(f"needs a readable {kind} file: {without_file(error)}", str(named or file)) from None


class _Silence:
    """Standard error to nowhere, below Python, while some thread is inside: a panic prints a page before it is raised."""

    def __init__(self) -> None:
        self._lock, self._inside, self._kept = threading.Lock(), 0, -1

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                with suppress(OSError):  # where there is none
                    self._kept = os.dup(2)
                    os.dup2(nowhere := os.open(os.devnull, os.O_WRONLY), 2)
                    os.close(nowhere)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._kept >= 0:
                os.dup2(self._kept, 2)
                os.close(self._kept)
                self._kept = -1


_SILENT = _Silence()
