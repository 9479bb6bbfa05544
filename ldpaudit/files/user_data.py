"""What users hold: their values as text, and as numbers for systems that know no dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters import rows
from ldpaudit.adapters.places import place
from ldpaudit.errors import DeploymentError, LdpauditError, without_file

_WORDS = 300_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz'-. "
"""Values of these alone are numbered by their first 12 characters, five bits each, others by their first 7 bytes."""
_KNOWN = frozenset(_LETTERS)
BITS = 60  # of the numbers


@dataclass(frozen=True, slots=True)
class Held:
    """Everybody's value."""

    values: tuple[str, ...]  # different ones, those that most users hold first
    places: NDArray[np.int64]  # each user's value, by its place among them

    @classmethod
    def of(cls, values: Iterable[str]) -> Held:
        """One value a user. Raises ValueError where fewer than two values are held."""
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
    """The text of this many bytes that has this number; what is no text shows its bytes."""
    return number.to_bytes(8, "big")[1:].rstrip(b"\0").decode("utf-8", "backslashreplace")


def read(path: str | Path, column: str = "") -> Held:
    """The users' values of a text file, or of a column of a CSV or Parquet file; adapters/rows.py says what a record is.

    ``path``: ending in ``.csv`` or ``.parquet``; in ``.txt`` or without an ending it is text; ``column``: by default
    the first one; not of text. Raises DeploymentError where the file cannot be read, or has no such column, or a
    record without a value, or fewer than two different values.
    """
    file = place(path)
    try:
        values = [*rows.values(file, column)]
        if (nested := next((x for x in values if isinstance(x, list | dict)), None)) is not None:
            raise ValueError(f"one value per user, got {nested!r:.40}")
        return Held.of(map(str, values))
    except (OSError, ValueError, MemoryError) as error:
        raise DeploymentError(f"needs a readable file of users' values: {without_file(error)}", str(file)) from None


def english(users: int, rng: np.random.Generator) -> Held:
    """A word for each user, drawn by the frequencies of the 300,000 most frequent English words.

    Raises LdpauditError where the package wordfreq is missing.
    """
    try:
        import wordfreq
    except ImportError:
        raise LdpauditError("the words need the package wordfreq: install ldpaudit[examples], or give --data FILE") from None
    frequencies: dict[str, float] = wordfreq.get_frequency_dict("en")
    words = sorted(frequencies, key=lambda word: (-frequencies[word], word))[:_WORDS]
    shares = np.array([frequencies[word] for word in words])
    return Held.of([words[i] for i in rng.choice(len(words), users, p=shares / shares.sum()).tolist()])
