"""Files of users' values and of reports: what a record is in each format, for all that reads them.

Text: a line, up to a line feed, or a carriage return and a line feed, and nothing else that anybody counts as the end of a line.
CSV: a row after the header, as RFC 4180 has it, with a value for each column, of which ``""`` is one. Parquet: a row, no null.
Nothing is dropped, and nothing is guessed: an empty line, a row that is short or long, any other ending is an error.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, repeat
from pathlib import Path
from typing import Any

from ldpaudit.core.nearest import or_rather
from ldpaudit.core.strict_json import shown
from ldpaudit.errors import DeploymentError, without_file

CSV, PARQUET, TEXT = ".csv", ".parquet", ".txt"
FORMS = (CSV, PARQUET, TEXT)  # what files end in, small or large; a name without an ending is that of text


def form(file: Path, known: Sequence[str] = FORMS) -> str:
    """The format of a file, by the end of its name. Raises DeploymentError where it is none of the known ones, or a folder."""
    if file.is_dir():
        raise DeploymentError("needs a file, got a folder", str(file))
    found = file.suffix.lower() or TEXT
    if found not in known:
        raise DeploymentError(f"needs a file that ends in {' or '.join(known)}, got {file.suffix or 'no ending'}", str(file))
    return found


def values(file: Path, column: str = "") -> Iterable[Any]:
    """One value for each record of a file, whatever its format; that of the first column where no other is named.

    Raises DeploymentError, OSError as for `lines`, `columns` and `parquet_column`, and where a column of text is named.
    """
    match form(file):
        case ".csv":
            return (value for _, (value,) in columns(file, column))
        case ".parquet":
            return parquet_column(file, lambda names: chosen(names, column))
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
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")  # spreadsheets write a byte order mark
            except UnicodeDecodeError:
                raise DeploymentError("needs text in UTF-8", str(file), number) from None
            if "\0" in text:
                raise DeploymentError("needs text, got a NUL character", str(file), number)
            yield text


UNREADABLE = (OSError, ValueError, OverflowError, MemoryError)
"""What reading a file of another format raises: a date in the year 43915 is a ValueError."""


def parquet_rows(file: Path) -> list[dict[str, Any]]:
    """All rows, by the names of columns. Raises DeploymentError where polars is missing, or the file cannot be read."""
    return _read_parquet(file, lambda polars: polars.read_parquet(file).to_dicts())  # type: ignore[no-any-return]


def parquet_column(file: Path, choose: Callable[[list[str]], str]) -> list[Any]:
    """The values of the column that is chosen by the names of all.

    Raises DeploymentError as for `parquet_rows`; and where a value is missing.
    """

    def read(polars: Any) -> Any:
        name = choose(list(polars.read_parquet_schema(file)))
        values = polars.read_parquet(file, columns=[name])[name]
        _require_all(values.null_count())
        return values.to_list()

    return _read_parquet(file, read)  # type: ignore[no-any-return]


def parquet_counted(file: Path, choose: Callable[[list[str], str], str], column: str, users: str) -> tuple[list[Any], list[Any]]:
    """Values, and how many users hold each; nothing but the wanted columns is read.

    ``file``: read lazily; ``choose``: the name of a column, of the names of all and the wanted one, where `column` may
    be empty; ``column``: of values; ``users``: of numbers of users; if empty, a row is a user, and equal values are
    joined, in rising order. Raises DeploymentError as for `parquet_rows`; and where a value or number is missing.
    """

    def read(polars: Any) -> Any:
        lazy = polars.scan_parquet(file)
        schema = lazy.collect_schema()
        names = [choose(list(schema), each) for each in (column, users)[: 1 + bool(users)]]
        chosen = lazy.select(polars.col(name).alias(alias) for name, alias in zip(names, ("value", "users"), strict=False))
        if not users and schema[names[0]].is_nested():
            chosen = chosen.with_columns(polars.lit(1).alias("users"))
        elif not users:
            chosen = chosen.group_by("value").agg(polars.len().alias("users")).sort("value")
        table = chosen.collect()
        _require_all(sum(table[name].null_count() for name in ("value", "users")))
        return table["value"].to_list(), table["users"].to_list()

    return _read_parquet(file, read)  # type: ignore[no-any-return]


def frames(file: Path, column: str, optional: str, size: int) -> Iterator[tuple[int, Any, Any]]:
    """The rows of a Parquet or Arrow file, counted from 1: the values of a column, and of another one, None where there is none.

    ``size``: rows that are held at a time. Raises DeploymentError as for `parquet_rows`, and where there is no such column.
    """

    def scan(polars: Any) -> Any:
        return polars.scan_parquet(file) if file.suffix.lower() == PARQUET else polars.scan_ipc(file)

    def part(polars: Any) -> Any:
        return scan(polars).select(wanted).slice(start, size).collect().to_dict(as_series=False)

    names = _read_parquet(file, lambda polars: scan(polars).collect_schema().names())
    if column not in names:
        raise DeploymentError(no_column(column, names), str(file))
    wanted, start = [column] + [optional] * (optional in names), 0
    while rows := (table := _read_parquet(file, part))[column]:
        yield from zip(count(start + 1), rows, table.get(optional, repeat(None)), strict=False)
        start += len(rows)


def _require_all(missing: int) -> None:
    if missing:
        raise ValueError(f"a value in every row, got {missing} without")


def _read_parquet(file: Path, read: Callable[[Any], Any]) -> Any:
    try:
        import polars
    except ImportError:
        raise DeploymentError(f"{_kind(file)} files need polars: install ldpaudit[logs]", str(file)) from None
    try:
        with _silent():
            return read(polars)
    except BaseException as error:
        # A panic of polars' is no Exception, and has no name to import.
        of_polars = any(kind.__name__ in ("PolarsError", "PanicException") for kind in type(error).__mro__)
        if not (of_polars or isinstance(error, UNREADABLE)):
            raise
        raise DeploymentError(f"needs a readable {_kind(file)} file: {without_file(error)}", str(file)) from None


def _kind(file: Path) -> str:
    return "Parquet" if file.suffix.lower() == PARQUET else "Arrow"


@contextmanager
def _silent() -> Iterator[None]:
    """Standard error to nowhere, below Python: a panic prints a page before it is raised."""
    try:
        kept = os.dup(2)
    except OSError:  # where there is none
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)
