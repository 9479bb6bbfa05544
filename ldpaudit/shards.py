"""Files of users' values as the parts of data: each is read when it is asked, by whoever answers for it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.adapters import parquet
from ldpaudit.errors import DeploymentError, in_a_line
from ldpaudit.held import chosen, csv_rows, of_bytes
from ldpaudit.partitions import Counts, Part, Partition, listed

SUFFIXES = (".csv", ".parquet", ".txt")
"""Of the files of a folder that are its parts."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of users' values. Workers on other machines find it at the same path.

    Parameters
    ----------
    path : Path
        Ending in ``.csv`` or ``.parquet``, or else text with a value a line.
    column : str
        Of the values; by default the first one. In a Parquet file a value may be a list of words.
    users : str
        The column that says how many users hold a value; by default a row is a user.
    end : str
        What words are given at their end, so that a word differs from the beginning of a longer one.
    """

    path: Path
    column: str = ""
    users: str = ""
    end: str = ""

    def counts(self) -> Counts:
        """What the file says.

        Raises
        ------
        DeploymentError
            Where it cannot be read, or has no such columns, or no users.
        """
        try:
            values, users = self._read()
            return Counts(listed(map(self._ended, values)), np.array([*map(_whole, users)], dtype=np.int64))
        except (OSError, ValueError, TypeError, OverflowError, MemoryError, csv.Error) as error:
            raise DeploymentError(f"needs a readable file of users' values: {in_a_line(error)}", str(self.path)) from None

    def _read(self) -> tuple[Iterable[Any], Iterable[Any]]:
        if self.path.suffix == ".parquet":
            return parquet.counted(self.path, chosen, self.column, self.users)
        if self.path.suffix == ".csv" and self.users:
            rows = csv_rows(self.path, self.column, self.users)
            return [value for value, _ in rows], [number for _, number in rows]
        if self.users:
            raise ValueError(f"a column {self.users!r} is in CSV and Parquet files only")
        found = Counter(self._values())
        return found.keys(), found.values()

    def _values(self) -> Iterable[str]:
        if self.path.suffix == ".csv":
            return (value for (value,) in csv_rows(self.path, self.column))
        return self.path.read_text(encoding="utf-8-sig").splitlines()

    def _ended(self, value: Any) -> Any:
        match value:
            case str():
                return value + self.end
            case list():
                return tuple(f"{word}{self.end}" for word in value)
        return value


def _whole(number: Any) -> int:
    if not isinstance(number, int | str):
        raise ValueError(f"whole numbers of users, got {number!r:.20}")
    return int(number)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A part of words, of which each is held as the number of its first seven bytes: for systems on 2**56 values or more.

    Parameters
    ----------
    part : Part
        Of words.
    """

    part: Part

    def counts(self) -> Counts:
        """Numbers, and how many users hold a word that begins so.

        Raises
        ------
        ValueError
            Where a value is no text.
        """
        held = self.part.counts()
        if (wrong := next((x for x in held.values.tolist() if not isinstance(x, str)), None)) is not None:
            raise ValueError(f"numbers of words need words, got {wrong!r:.40}")
        return Counts(np.fromiter(map(of_bytes, held.values.tolist()), np.int64, len(held.values)), held.holders)


def shards(paths: Iterable[str | Path], column: str = "", users: str = "", end: str = "") -> Partition:
    """Files as parts, numbered in the order given; those of a folder in the order of their names.

    Parameters
    ----------
    paths : iterable of path
        Files and folders.
    column, users, end : str
        As for `Shard`.

    Raises
    ------
    DeploymentError
        Where a path is neither a file nor a folder, or a folder has no such files.
    """
    return Partition(tuple(Shard(file, column, users, end) for path in paths for file in _files(Path(path))))


def _files(path: Path) -> Iterator[Path]:
    found = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES) if path.is_dir() else [path]
    if not found or not all(file.is_file() for file in found):
        raise DeploymentError(f"needs files, or a folder of files that end in {', '.join(SUFFIXES)}", str(path))
    yield from found
