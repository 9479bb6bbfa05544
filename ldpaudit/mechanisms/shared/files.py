"""A file that a parameter stands in: its name, and what it holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

LARGEST_FILE = 1 << 22
"""Bytes of a file of parameters: a matrix of 300 x 300 fractions has half as many. A certificate embeds the file."""


@dataclass(frozen=True, slots=True)
class File:
    """A file's name as it was given, whose ending says what kind of file it is, and what it holds, at most 4 MiB."""

    name: str
    content: bytes

    def __post_init__(self) -> None:
        if len(self.content) > LARGEST_FILE:
            raise ValueError(f"needs a file of at most {LARGEST_FILE} bytes, got more in {self.name!r:.200}")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The file of that path. Raises ValueError where it cannot be read, or is too large."""
        try:
            with Path(path).open("rb") as file:
                return cls(str(path), file.read(LARGEST_FILE + 1))
        except OSError as error:
            raise ValueError(f"needs a readable file, got {str(path)!r:.200}: {error.strerror}") from None

    @property
    def ending(self) -> str:
        """What follows the last dot of its name, in lower case."""
        return Path(self.name).suffix.lower()
