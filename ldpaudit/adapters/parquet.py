"""Parquet files, read by polars (extra 'logs')."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ldpaudit.errors import DeploymentError, in_a_line

UNREADABLE = (OSError, ValueError, OverflowError, MemoryError)
"""What reading a file of another format raises: a date in the year 43915 is a ValueError."""


def rows(file: Path) -> list[dict[str, Any]]:
    """All rows, by the names of columns. Raises DeploymentError where polars is missing, or the file cannot be read."""
    return _read(file, lambda polars: polars.read_parquet(file).to_dicts())  # type: ignore[no-any-return]


def column(file: Path, choose: Callable[[list[str]], str]) -> list[Any]:
    """The values of the column that is chosen by the names of all.

    Raises DeploymentError as for `rows`; and where a value is missing.
    """

    def read(polars: Any) -> Any:
        name = choose(list(polars.read_parquet_schema(file)))
        values = polars.read_parquet(file, columns=[name])[name]
        _require_all(values.null_count())
        return values.to_list()

    return _read(file, read)  # type: ignore[no-any-return]


def counted(file: Path, choose: Callable[[list[str], str], str], column: str, users: str) -> tuple[list[Any], list[Any]]:
    """Values, and how many users hold each; nothing but the wanted columns is read.

    ``file``: read lazily; ``choose``: the name of a column, of the names of all and the wanted one, where `column` may
    be empty; ``column``: of values; ``users``: of numbers of users; if empty, a row is a user, and equal values are
    joined, in rising order. Raises DeploymentError as for `rows`; and where a value or number is missing.
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

    return _read(file, read)  # type: ignore[no-any-return]


def _require_all(missing: int) -> None:
    if missing:
        raise ValueError(f"a value in every row, got {missing} without")


def _read(file: Path, read: Callable[[Any], Any]) -> Any:
    try:
        import polars
    except ImportError:
        raise DeploymentError("a Parquet file needs polars: install ldpaudit[logs]", str(file)) from None
    try:
        with _silent():
            return read(polars)
    except BaseException as error:
        if not (isinstance(error, UNREADABLE) or _is_polars(error)):
            raise
        raise DeploymentError(f"needs a readable Parquet file: {in_a_line(error)}", str(file)) from None


def _is_polars(error: BaseException) -> bool:
    """Whether it is an error of polars', or a panic, which is no Exception and has no name to import."""
    return any(kind.__name__ in ("PolarsError", "PanicException") for kind in type(error).__mro__)


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
