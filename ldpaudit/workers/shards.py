"""Files of users' values as the parts of data: each is read when it is asked, by whoever answers for it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.adapters import rows
from ldpaudit.adapters.places import ending, is_here, place, reached
from ldpaudit.core.partitions import Counts, Part, Partition, listed
from ldpaudit.errors import DeploymentError, without_file
from ldpaudit.files.user_data import of_bytes

SUFFIXES = rows.FORMS  # of the files of a folder that are its parts, in small or large letters

_DIGITS = re.compile(r"\s*-?[0-9]{1,30}\s*")


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of users' values. Workers on other machines find it at the same path."""

    path: Path  # what a record is, adapters/rows.py says
    column: str = ""  # of the values; by default the first one. In a Parquet or Arrow file a value may be a list of words
    users: str = ""  # the column that says how many users hold a value; by default a row is a user
    end: str = ""  # what words are given at their end, so that a word differs from the beginning of a longer one

    def counts(self) -> Counts:
        """What the file says. Raises DeploymentError where it cannot be read, or has no such columns, or no users."""
        try:
            values, users = self._read()
            return Counts(listed(map(self._ended, values)), np.array(users, dtype=np.int64))
        except (OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
            raise DeploymentError(f"needs a readable file of users' values: {without_file(error)}", str(self.path)) from None

    def __str__(self) -> str:
        return str(self.path)

    def _read(self) -> tuple[Iterable[Any], list[int]]:
        kind = rows.form(self.path)
        if kind in rows.TABLES:
            values, users = rows.table_counted(self.path, self.column, self.users)
            return values, [*map(_whole, users)]
        if not self.users:
            found = Counter(rows.values(self.path, self.column))
            return found.keys(), [*found.values()]
        if kind == rows.TEXT:
            raise ValueError(f"a column {self.users!r} is in CSV and Parquet files only")
        pairs = [(value, self._number(line, users)) for line, (value, users) in rows.columns(self.path, self.column, self.users)]
        return [value for value, _ in pairs], [number for _, number in pairs]

    def _number(self, line: int, users: str) -> int:
        try:
            return _whole(int(users) if _DIGITS.fullmatch(users) else users)
        except ValueError as error:
            raise DeploymentError(f"needs {error}", str(self.path), line) from None

    def _ended(self, value: Any) -> Any:
        match value:
            case str():
                return value + self.end
            case list():
                return tuple(f"{word}{self.end}" for word in value)
        return value


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(f"integers >= 0 for numbers of users, got {number!s:.20}")
    return number


@dataclass(frozen=True, slots=True)
class Numbered:
    """A part of words, of which each is held as the number of its first seven bytes: for systems on 2**56 values or more.
    """

    part: Part  # of words

    def __str__(self) -> str:
        return str(self.part)

    def counts(self) -> Counts:
        """Numbers, and how many users hold a word that begins so. Raises ValueError where a value is no text."""
        held = self.part.counts()
        if (wrong := next((x for x in held.values.tolist() if not isinstance(x, str)), None)) is not None:
            raise ValueError(f"numbers of words need words, got {wrong!r:.40}")
        return Counts(np.fromiter(map(of_bytes, held.values.tolist()), np.int64, len(held.values)), held.holders)


def shards(paths: Iterable[str | Path], column: str = "", users: str = "", end: str = "") -> Partition:
    """Files as parts, numbered in the order given; those of a folder in the order of their names.

    Of a folder everything is a part, but hidden files and marks of other programs, such as ``_SUCCESS``: names that begin with
    ``.`` or ``_`` and end as no data do. Folders within it are read only where they are partitions, such as ``day=1``.

    ``paths``: files and folders, also with schemes that fsspec knows; ``column``, ``users``, ``end``: as for `Shard`.
    Raises DeploymentError where a path is neither a file nor a folder, a folder has no such files, or something else, such as a
    folder, beside them, or a file is there twice.
    """
    seen: dict[Any, Path] = {}
    for file in (file for path in paths for file in _files(place(path))):
        status = file.stat()
        same = (status.st_dev, status.st_ino) if is_here(file) else str(file)
        if (first := seen.setdefault(same, file)) is not file:
            raise DeploymentError(f"needs each file once, got the same file as {first}", str(file))
    return Partition(tuple(Shard(file, column, users, end) for file in seen.values()))


def _files(path: Path) -> Iterator[Path]:
    needs = f"a folder of files that end in {', '.join(SUFFIXES)}"
    with reached(path):
        if not path.is_dir():
            if not path.is_file():
                raise DeploymentError(f"needs files, or {needs}", str(path))
            rows.form(path)
            yield path
            return
        found = sorted(each for each in path.iterdir() if ending(each) in SUFFIXES or not each.name.startswith((".", "_")))
    if not found:
        raise DeploymentError(f"needs files, or {needs}", str(path))
    for each in found:
        if each.is_dir() and "=" in each.name and not ending(each):  # a partition, as Hive and Spark name them
            yield from _files(each)
        elif each.is_dir() or ending(each) not in SUFFIXES:
            raise DeploymentError(f"needs {needs}, got {'a folder within it' if each.is_dir() else 'what is none'}", str(each))
        else:
            yield each
