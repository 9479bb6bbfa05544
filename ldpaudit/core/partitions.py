"""Users' data in parts: what each part holds, and where it is read only when somebody asks the part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST = 1 << 62  # users of a part, so that numbers of them add up in 64 bits
_BLOCK = 1 << 16  # values that are written out at a time


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Values, and how many users hold each; the users stand in the values' order. It is a part of data, too.

    Raises ValueError where the two do not go together, or nobody holds anything.
    """

    # one-dimensional: words, numbers, or a tuple of words for each kind of user. A value may stand in it more than once
    values: NDArray[Any]
    holders: NDArray[np.int64]  # of the same length, none below 0

    def __post_init__(self) -> None:
        if not self.values.shape == self.holders.shape == (len(self.values),):
            raise ValueError(f"a part needs a number of users for each value, got {self.holders.shape} for {self.values.shape}")
        if not len(self.holders) or self.holders.dtype.kind not in "iu" or self.holders.min() < 0:
            raise ValueError(f"a part needs integers >= 0 for numbers of users, got {self.holders.min(initial=0)}")
        if not 1 <= (users := float(self.holders.sum(dtype=np.float64))) < _MOST:
            raise ValueError(f"a part needs 1 to {_MOST} users, got {users:g}")

    @classmethod
    def of(cls, counts: Mapping[Any, int]) -> Counts:
        """How many users hold each value, in the mapping's order."""
        return cls(listed(counts), np.fromiter(counts.values(), np.int64, len(counts)))

    @property
    def users(self) -> int:
        """How many there are."""
        return int(self.holders.sum())

    def counts(self) -> Counts:
        """Itself: it need not be read."""
        return self

    def at(self, places: ArrayLike) -> list[Any]:
        """The values of the users at these places, from 0 on."""
        chosen = np.searchsorted(np.cumsum(self.holders), np.asarray(places), side="right")
        found: list[Any] = self.values[chosen].tolist()
        return found

    def chunks(self, size: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Everybody's values, this many users at a time, each time with the place of the first of them."""
        ends = np.cumsum(self.holders)
        for start in range(0, self.users, size):
            places = np.arange(start, min(start + size, self.users))
            yield start, self.values[np.searchsorted(ends, places, side="right")]

    def numbered(self) -> Counts:
        """The same with values as integers, of which text may be the digits; of 64 bits, without a sign where they need all.

        Raises ValueError where a value is no such integer.
        """
        if self.values.dtype.kind in "iu":
            return self
        values = self.values.tolist()
        if (wrong := next((x for x in values if not isinstance(x, int | str)), None)) is not None:
            raise ValueError(f"a system for numbers needs integers, got {wrong!r:.40}")
        try:
            found = [*map(int, values)]
            return Counts(np.array(found, dtype=np.uint64 if max(found) >= _MOST else np.int64), self.holders)
        except (ValueError, OverflowError) as error:
            words = [x for x in values if isinstance(x, str) and not x.strip().lstrip("+-").isdecimal()]
            why = f", got {words[0]!r:.40}; --numbered encodes words as numbers" if words else f": {error}"
            raise ValueError(f"a system for numbers needs integers of 64 bits{why}") from None

    @property
    def digest(self) -> str:
        """SHA-256 of values and numbers, in their order."""
        found = hashlib.sha256(f"{self.values.dtype} {len(self.values)} ".encode())
        if self.values.dtype.kind == "O":
            for start in range(0, len(self.values), _BLOCK):
                found.update(repr(self.values[start : start + _BLOCK].tolist()).encode("utf-8", "surrogatepass"))
        else:
            found.update(self.values.tobytes())
        found.update(self.holders.tobytes())
        return found.hexdigest()


class Part(Protocol):
    """Some users' data, of which only a description need be in memory."""

    def counts(self) -> Counts:
        """What these users hold: the same whenever and wherever it is asked."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Users' data in numbered parts. What a run finds depends on the parts and their numbers, not on who reads them.

    Examples
    --------
    >>> partition = Partition.of_counts([{"sun": 3, "moon": 1}, {"sun": 2}])
    >>> [part.counts().users for part in partition.parts]
    [4, 2]
    >>> partition.parts[0].counts().at([2, 3])
    ['sun', 'moon']
    """

    parts: tuple[Part, ...]  # at least one

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("data in parts need at least one part, got none")

    @classmethod
    def of_counts(cls, parts: Iterable[Mapping[Any, int]]) -> Partition:
        """In memory: for each part, how many users hold each value."""
        return cls(tuple(map(Counts.of, parts)))

    @classmethod
    def of_users(cls, data: Sequence[Any] | NDArray[Any], parts: int) -> Partition:
        """In memory: everybody's value, in this many parts of about the same size, in the users' order."""
        if not 1 <= parts <= len(data):
            raise ValueError(f"{len(data)} users need 1 to {len(data)} parts, got {parts}")
        values = data if isinstance(data, np.ndarray) else listed(data)
        return cls(tuple(Counts(each, np.ones(len(each), dtype=np.int64)) for each in np.array_split(values, parts)))


def listed(values: Iterable[Any]) -> NDArray[Any]:
    """Numbers as an array of integers; anything else as an array of objects, tuples unbroken."""
    found = list(values)
    kind = np.int64 if all(isinstance(each, int | np.integer) and -_MOST < each < _MOST for each in found) else object
    return np.fromiter(found, kind, len(found))
