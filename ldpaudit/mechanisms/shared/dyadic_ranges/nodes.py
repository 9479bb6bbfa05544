"""The dyadic nodes of a grid: which of them hold a value, and which add up to a box, without any matrix.

Values of a coordinate are 1 to B here. Node i holds the values above ``i - low(i)`` up to i, where ``low(i) = i & -i`` is
the largest power of two that divides i. For a power of two these are the root and all left children of the binary tree
over the values; for any other B they are as many nodes as values, too, so that nothing has to be padded. In several
dimensions a node is a product of nodes, one for each coordinate. Ghazi, Golowich, Kumar, Pagh, Velingker 2019, section 5.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanisms.shared.parameters import integer

Box: TypeAlias = Sequence[tuple[int, int]]  # first and last value of each coordinate, counted from 0
Level: TypeAlias = tuple[int, ...]  # binary logarithm of the width of a node, for each coordinate


def column(value: int, side: int) -> tuple[int, ...]:
    """The nodes that hold a value: the value's own, then each time the next one that is at least twice as wide.

    Examples
    --------
    >>> column(321, 1000)
    (321, 322, 324, 328, 336, 352, 384, 512)
    """
    found, node = [], value
    while node <= side:
        found.append(node)
        node += node & -node
    return tuple(found)


def prefix(last: int) -> tuple[int, ...]:
    """The nodes that together hold the values 1 to `last`, each once."""
    found = []
    while last > 0:
        found.append(last)
        last &= last - 1
    return tuple(found)


def row(first: int, last: int) -> dict[int, int]:
    """Coefficients of the nodes that add up to the values `first` to `last`: those of two prefixes, common ones cancelled.

    Examples
    --------
    >>> row(3, 6)
    {6: 1, 4: 1, 2: -1}
    """
    upper, lower = prefix(last), prefix(first - 1)
    return {i: 1 for i in upper if i not in lower} | {i: -1 for i in lower if i not in upper}


@dataclass(frozen=True, slots=True)
class Grid:
    """Values are numbered from 0, row by row, and so are nodes: node ``i - 1`` in the notation of one coordinate.

    Each of d coordinates, `dimensions`, has B values, `side`.
    """

    side: int
    dimensions: int = 1

    def __post_init__(self) -> None:
        integer(self, "dimensions", 1, 16)

    @property
    def cells(self) -> int:
        """Number of values, and of nodes."""
        return int(self.side**self.dimensions)

    @property
    def has_root(self) -> bool:
        """Whether one node holds all values, so that its count is the number of users."""
        return not self.side & (self.side - 1)

    @property
    def most_nodes(self) -> int:
        """The sensitivity: most nodes that hold one value, as many as there are widths."""
        return int(self.side.bit_length() ** self.dimensions)

    @property
    def most_replaced(self) -> int:
        """Most nodes of a value that do not hold another: all, but for the root."""
        return self.most_nodes - self.has_root

    @property
    def most_terms(self) -> int:
        """Most nodes that add up to a box."""
        height = self.side.bit_length() - 1
        half = 3 << (height - 1)
        return int((2 * height - 1 + (self.side >= half - 1) + (self.side >= 2 * (1 << height) - 1)) ** self.dimensions)

    @property
    def most_prefix_terms(self) -> int:
        """Most nodes that add up to a box that begins at the first value of each coordinate."""
        return int(((self.side + 1).bit_length() - 1) ** self.dimensions)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Every combination of widths but the root's: a value lies in at most one node of each."""
        heights = range(self.side.bit_length())
        root = (self.side.bit_length() - 1,) * self.dimensions if self.has_root else None
        return tuple(level for level in product(heights, repeat=self.dimensions) if level != root)

    def number(self, coordinates: Sequence[int]) -> int:
        """Of a value or node, from its coordinates."""
        found = 0
        for each in coordinates:
            found = found * self.side + each
        return found

    def coordinates(self, number: int) -> tuple[int, ...]:
        """Of a value or node."""
        return tuple(number // self.side**t % self.side for t in reversed(range(self.dimensions)))

    def column(self, value: int) -> tuple[int, ...]:
        """The nodes that hold a value: products of those of its coordinates."""
        parts = (column(each + 1, self.side) for each in self.coordinates(value))
        return tuple(self.number([i - 1 for i in nodes]) for nodes in product(*parts))

    def row(self, box: Box) -> dict[int, int]:
        """Coefficients of the nodes that add up to a box: products of those of its coordinates' ranges."""
        parts = (row(first + 1, last + 1).items() for first, last in box)
        return {self.number([i - 1 for i, _ in chosen]): math.prod(sign for _, sign in chosen) for chosen in product(*parts)}

    def nodes_of(self, level: Level) -> tuple[slice, ...]:
        """Where the nodes of a level stand in a table of all nodes, one axis for each coordinate."""
        return tuple(slice((1 << each) - 1, None, 2 << each) for each in level)

    def size_of(self, level: Level) -> int:
        """How many nodes a level has."""
        return math.prod(((self.side >> each) + 1) >> 1 for each in level)

    def places(self, values: NDArray[np.int64], level: Level) -> NDArray[np.int64]:
        """Number, within its level, of the level's node that holds each value; -1 where none does."""
        found, real = np.zeros_like(values), np.ones(values.shape, dtype=np.bool_)
        for t, width in enumerate(level):
            # A value counted from 0 lies in the block of this number; every other block is a node, if it is a whole one.
            block = values // self.side ** (self.dimensions - 1 - t) % self.side >> width
            real &= (block % 2 == 0) & ((block + 1) << width <= self.side)
            found = found * (((self.side >> width) + 1) >> 1) + block // 2
        return np.where(real, found, -1)

    def nodes_at(self, values: NDArray[np.int64], level: Level) -> NDArray[np.int64]:
        """The level's node that holds each value, by number; -1 where none does."""
        found, real = np.zeros_like(values), self.places(values, level) >= 0
        for t, width in enumerate(level):
            each = values // self.side ** (self.dimensions - 1 - t) % self.side
            found = found * self.side + (((each >> width) + 1) << width) - 1
        return np.where(real, found, -1)

    def sizes(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many nodes hold each value."""
        line = np.zeros(self.side + 1, dtype=np.int64)
        for height in reversed(range(self.side.bit_length())):
            width = 1 << height
            nodes = np.arange(width, self.side + 1, 2 * width)
            after = nodes + width
            line[nodes] = 1 + np.where(after <= self.side, line[np.minimum(after, self.side)], 0)
        parts = (values // self.side**t % self.side for t in range(self.dimensions))
        return np.asarray(math.prod(line[each + 1] for each in parts))

    def level_of(self, node: int) -> Level:
        """Widths of a node."""
        return tuple((each + 1 & -(each + 1)).bit_length() - 1 for each in self.coordinates(node))

    def held(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of users whose value each node holds, shape ``(cells,)``, from their values."""
        table = np.bincount(values, minlength=self.cells).astype(np.int64).reshape((self.side,) * self.dimensions)
        for axis in range(self.dimensions):
            lines = np.moveaxis(table, axis, 0)  # a view: what is added here is added to the table
            for height in range(self.side.bit_length()):
                width = 1 << height
                parents = lines[2 * width - 1 :: 2 * width]
                parents += lines[width - 1 :: 2 * width][: len(parents)]
        return table.reshape(-1)

    def totals(self, nodes: NDArray[np.float64], boxes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sums over boxes, shape ``(number,)``, from the nodes' counts; `boxes` has shape ``(number, dimensions, 2)``."""
        table, found = nodes.reshape((self.side,) * self.dimensions), np.zeros(len(boxes))
        for ends in product((0, 1), repeat=self.dimensions):
            corner = np.stack([boxes[:, t, end] + end for t, end in enumerate(ends)], axis=1)
            sign = (-1) ** (self.dimensions - sum(ends))
            found += sign * self._prefixes(table, corner)
        return found

    def _prefixes(self, table: NDArray[np.float64], corner: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sums over the boxes of all values below a corner."""
        found = np.zeros(len(corner))
        steps = [list(_steps(corner[:, t])) for t in range(self.dimensions)]
        for nodes in product(*steps):
            real = np.logical_and.reduce([each > 0 for each in nodes])
            found[real] += table[tuple(each[real] - 1 for each in nodes)]
        return found

    def boxes(self, ranges: ArrayLike) -> NDArray[np.int64]:
        """Boxes in an array of shape ``(number, dimensions, 2)``, checked; in one dimension of shape ``(number, 2)`` as well.

        Raises ValueError where an end is no value, or the last value stands before the first.
        """
        table = np.asarray(ranges)
        table = table[:, None, :] if table.ndim == 2 and self.dimensions == 1 else table
        if table.dtype.kind not in "iu" or table.ndim != 3 or table.shape[1:] != (self.dimensions, 2):
            needs = f"integers of shape (number, {self.dimensions}, 2), the first and last values of each range"
            raise ValueError(f"a query needs {needs}, got shape {table.shape}")
        if table.size and not (table.min() >= 0 and table.max() < self.side and np.all(table[..., 0] <= table[..., 1])):
            raise ValueError(f"a query needs ranges with 0 <= first <= last < {self.side}")
        return table.astype(np.int64)

    def values(self, data: ArrayLike) -> NDArray[np.int64]:
        """Users' values by number, from their numbers, or from rows of coordinates.

        Raises ValueError where one is no value, or there is no user.
        """
        table = np.asarray(data)
        if not len(table):
            raise ValueError("a run needs at least one user, got none")
        rows = table.ndim == 2 and table.shape[1] == self.dimensions
        if table.dtype.kind not in "iu" or not (table.ndim == 1 or rows):
            raise ValueError(f"a run needs a value, or {self.dimensions} coordinates, of each user, got shape {table.shape}")
        most = self.side if rows else self.cells
        if not 0 <= table.min() <= table.max() < most:
            raise ValueError(f"a run needs values in range({most}), got {table.min()} to {table.max()}")
        numbers = table.astype(np.int64)
        return numbers @ self.side ** np.arange(self.dimensions - 1, -1, -1, dtype=np.int64) if rows else numbers


def _steps(last: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The prefixes' nodes, one for each that has another; 0 where it has no more."""
    left = last.copy()
    while np.any(left > 0):
        yield left.copy()
        left &= np.maximum(left - 1, 0)

