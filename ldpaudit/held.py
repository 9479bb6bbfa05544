"""What users hold: their values as text, and as numbers for systems that know no dictionary."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters import parquet
from ldpaudit.errors import DeploymentError, LdpauditError, in_a_line

_WORDS = 300_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz'-. "
"""Values of these alone are numbered by their first 12 characters, five bits each, others by their first 7 bytes."""
_KNOWN = frozenset(_LETTERS)
BITS = 60
"""Of the numbers."""


@dataclass(frozen=True, slots=True)
class Held:
    """Everybody's value.

    Parameters
    ----------
    values : tuple of str
        Different ones, those that most users hold first.
    places : ndarray of int64, shape (users,)
        Each user's value, by its place among them.
    """

    values: tuple[str, ...]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, values: Iterable[str]) -> Held:
        """One value a user.

        Raises
        ------
        ValueError
            Where fewer than two values are held.
        """
        each = list(values)
        counted = Counter(each)
        found = sorted(counted, key=lambda value: (-counted[value], value))
        if len(found) < 2:
            raise ValueError(f"a comparison needs users who hold at least two different values, got {len(found)}")
        place = {value: i for i, value in enumerate(found)}
        return cls(tuple(found), np.array([place[value] for value in each], dtype=np.int64))

    @property
    def users(self) -> int:
        """How many there are."""
        return len(self.places)

    def frequent(self, most: int) -> NDArray[np.int64]:
        """Users' values among the `most` that most users hold; `most` stands for any other value."""
        return np.minimum(self.places, most)

    def numbered(self) -> NDArray[np.int64]:
        """Users' values as numbers below 2**60; values with one beginning share theirs."""
        numbers = np.array(list(map(numbering(self.values), self.values)), dtype=np.int64)
        found: NDArray[np.int64] = numbers[self.places]
        return found


def numbering(values: Sequence[str]) -> Callable[[str], int]:
    """How values become numbers, so that those with a common beginning have common leading bits."""
    return _of_letters if all(set(value) <= _KNOWN for value in values) else of_bytes


def _of_letters(value: str) -> int:
    found = 0
    for letter in value[: BITS // 5].ljust(BITS // 5):
        found = found << 5 | _LETTERS.find(letter) + 1
    return found


def of_bytes(value: str) -> int:
    """The number, below 2**56, of a text's first seven bytes."""
    return int.from_bytes(value.encode("utf-8", "surrogatepass")[:7].ljust(7, b"\0"), "big")


def text_of(number: int) -> str:
    """The text of so many bytes that has this number; what is no text shows its bytes."""
    return number.to_bytes(8, "big")[1:].rstrip(b"\0").decode("utf-8", "backslashreplace")


def read(path: str | Path, column: str = "") -> Held:
    """The users' values of a text file with a value a line, or of a column of a CSV or Parquet file.

    Parameters
    ----------
    path : str or Path
        Ending in ``.csv`` or ``.parquet``, or else text.
    column : str
        By default the first one.

    Raises
    ------
    DeploymentError
        Where the file cannot be read, or has no such column, or fewer than two different values.
    """
    file = Path(path)
    try:
        match file.suffix:
            case ".csv":
                values = [value for (value,) in csv_rows(file, column)]
            case ".parquet":
                values = _parquet(file, column)
            case _:
                values = file.read_text(encoding="utf-8-sig").splitlines()
        return Held.of(values)
    except (OSError, ValueError, MemoryError, csv.Error) as error:
        raise DeploymentError(f"needs a readable file of users' values: {in_a_line(error)}", str(file)) from None


def csv_rows(file: Path, *columns: str) -> list[tuple[str, ...]]:
    """Some columns of a CSV file, of the rows that have them; the first column where a name is empty."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream)
        names = [name.strip() for name in next(rows, [])]
        places = [names.index(chosen(names, column)) for column in columns]
        return [tuple(row[place] for place in places) for row in rows if len(row) > max(places)]


def _parquet(file: Path, column: str) -> list[str]:
    return list(map(str, parquet.column(file, lambda names: chosen(names, column))))


def chosen(names: Sequence[str], column: str) -> str:
    """The column of this name, or the first one where it is empty.

    Raises
    ------
    ValueError
        Where there is none.
    """
    if not names or (column and column not in names):
        raise ValueError(f"needs a column {column or 'of values'!r}, got {', '.join(names) or 'none'}")
    return column or names[0]


def english(users: int, rng: np.random.Generator) -> Held:
    """A word for each user, drawn by the frequencies of the 300,000 most frequent English words.

    Raises
    ------
    LdpauditError
        Where the package wordfreq is missing.
    """
    try:
        import wordfreq
    except ImportError:
        raise LdpauditError("the words need the package wordfreq: install ldpaudit[examples], or give --data FILE") from None
    frequencies: dict[str, float] = wordfreq.get_frequency_dict("en")
    words = sorted(frequencies, key=lambda word: (-frequencies[word], word))[:_WORDS]
    shares = np.array([frequencies[word] for word in words])
    return Held.of([words[i] for i in rng.choice(len(words), users, p=shares / shares.sum()).tolist()])
