"""Files of users' values and of reports: what a record is in each format, for all that reads them.

Text: a line, up to a line feed, or a carriage return and a line feed, and nothing else that anybody counts as the end of a line.
CSV: a row after the header, as RFC 4180 has it, with a value for each column, of which ``""`` is one. Parquet: a row, no null.
Nothing is dropped, and nothing is guessed: an empty line, a row that is short or long, any other ending is an error.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ldpaudit.adapters import parquet
from ldpaudit.core.strict_json import shown
from ldpaudit.errors import DeploymentError

CSV, PARQUET, TEXT = ".csv", ".parquet", ".txt"
FORMS = (CSV, PARQUET, TEXT)  # what files end in, small or large; a name without an ending is that of text


def form(file: Path, known: Sequence[str] = FORMS) -> str:
    """The format of a file, by the end of its name. Raises DeploymentError where it is none of the known ones."""
    found = file.suffix.lower() or TEXT
    if found not in known:
        raise DeploymentError(f"needs a file that ends in {' or '.join(known)}, got {file.suffix or 'no ending'}", str(file))
    return found


def values(file: Path, column: str = "") -> Iterable[Any]:
    """One value for each record of a file, whatever its format; that of the first column where no other is named.

    Raises DeploymentError, OSError as for `lines`, `columns` and `parquet.column`, and where a column of text is named.
    """
    match form(file):
        case ".csv":
            return (value for _, (value,) in columns(file, column))
        case ".parquet":
            return parquet.column(file, lambda names: chosen(names, column))
    if column:
        raise DeploymentError(f"needs a file with columns, CSV or Parquet, for {column!r}", str(file))
    return lines(file)


def lines(file: Path) -> Iterator[str]:
    """The values of a text file, one a line.

    Raises DeploymentError where a line has none, or is no text; with its number; OSError where the file cannot be read.
    """
    for number, line in enumerate(_decoded(file), 1):
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
    rows = csv.reader(_decoded(file), strict=True)
    names: list[str] | None = None
    try:
        for row in rows:
            if names is None:
                names = row = [name.strip() for name in row]  # people write blanks after commas
                if twice := {name for name in names if names.count(name) > 1}:
                    raise DeploymentError(f"needs each column once, got {min(twice)!r:.60} twice", str(file), rows.line_num)
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
        raise ValueError(f"needs a column {column or 'of values'!r}, got {shown(', '.join(names)) or 'none'}")
    return column or names[0]


def _decoded(file: Path) -> Iterator[str]:
    """Lines with their ends. Only a line feed ends one: `str.splitlines` knows ten other ends, which values may hold."""
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")  # spreadsheets write a byte order mark
            except UnicodeDecodeError:
                raise DeploymentError("needs text in UTF-8", str(file), number) from None
            if "\0" in text:
                raise DeploymentError("needs text, got a NUL character", str(file), number)
            yield text
