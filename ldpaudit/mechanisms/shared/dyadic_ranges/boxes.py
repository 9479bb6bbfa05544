"""What all layouts of range queries share: a grid, answers to boxes, and views that count kinds of messages."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import HadamardViews
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.mechanisms.shared.independent_bits import shifted_binomials
from ldpaudit.mechanisms.shared.linear_codes.gf2 import reduced
from ldpaudit.mechanisms.shared.linear_codes.kernels import coordinates, vectors_listed
from ldpaudit.mechanisms.shared.parameters import integers
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import LARGEST_DOMAIN, ShuffledHadamard

LARGEST_SIDE = 1 << 32
_COUNTED = 1 << 26  # grids of up to this number of nodes are estimated as a whole; of larger ones boxes are asked for
_HASHED = 1 << 16  # of up to this number of values the cells of all are compared
_WORK = 1 << 22
"""Elements that are looked at, over all tries: about a second. Users in eight dimensions hold hundreds of thousands each."""


class Boxes(Mechanism):
    """What all layouts share: the grid, and answers from the nodes' counts.

    An input is a value's number, and the inputs that are listed are the two values whose nodes differ most; `run` takes all.

    Parameters
    ----------
    users : int
        Number n of users, from 1 to 2**50.
    side : int
        B0, values of a coordinate, from 2 to 2**32; any number.
    dimensions : int
        d, with ``side**dimensions <= 2**40``.
    """

    users: int
    side: int
    dimensions: int

    def _require_grid(self) -> None:
        integers(self, users=(1, 1 << 50), side=(2, LARGEST_SIDE), dimensions=(1, 16))
        if self.grid.cells > LARGEST_DOMAIN:
            found = f"side={self.side}, dimensions={self.dimensions}"
            raise ValueError(f"{type(self).__name__} needs side**dimensions <= 2**40, got {found}")

    @property
    def grid(self) -> Grid:
        """The values and their nodes."""
        return Grid(self.side, self.dimensions)

    @property
    def inputs(self) -> tuple[int, int]:
        """The first value, all of whose nodes but the root the second one lacks, and the last value."""
        return 0, self.grid.cells - 1

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Number of users whose value each node holds, shape ``(side**dimensions,)``."""
        return self._held(data)[0].astype(np.float64)

    def _held(self, data: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many users each node holds, and the users' values."""
        if self.grid.cells > _COUNTED:
            raise Unsupported(self, f"the counts of all of {self.grid.cells} nodes are too many: ask for some boxes")
        values = self.grid.values(data)
        return self.grid.held(values), values

    def query(self, nodes: NDArray[np.float64], ranges: ArrayLike) -> NDArray[np.float64]:
        """Estimated numbers of users in boxes, in time of the logarithm of the side for each, from the nodes that `run` returned.

        ``ranges``: first and last value of each coordinate, both of them in the box; in one dimension ``(number, 2)`` will do.
        """
        return self.grid.totals(nodes, self.grid.boxes(ranges))

    def _with_root(self, found: NDArray[np.float64], asked: NDArray[np.int64], users: int) -> NDArray[np.float64]:
        """The estimates, where the node of all values, if there is one, has the number of users."""
        return np.where((asked == self.grid.cells - 1) & self.grid.has_root, users, found)

    @abstractmethod
    def nodes(self, data: ArrayLike, asked: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated counts of the asked nodes, with the joint law that they have in `run`."""

    def ask(self, data: ArrayLike, ranges: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """What `query` answers to these ranges after a `run`, with the same joint law: only their nodes are drawn."""
        rows = [self.grid.row(box) for box in self.grid.boxes(ranges).tolist()]
        asked = sorted(set().union(*rows))
        found = dict(zip(asked, self.nodes(data, np.array(asked, dtype=np.int64), rng).tolist(), strict=True))
        return np.array([sum(sign * found[node] for node, sign in row.items()) for row in rows])


@dataclass(frozen=True, slots=True)
class HadamardBoxes(HadamardViews, Boxes):
    """Layouts over Hadamard response: a view tells the nodes of the first and the last value apart."""

    users: int
    side: int
    tau: int
    rho: int
    dimensions: int = 1

    def __post_init__(self) -> None:
        self._require_grid()
        integers(self, tau=(1, 512), rho=(1, 1 << 40))

    def _require_listable(self, number: int, bits: int) -> None:
        listed = vectors_listed(number, self.tau, bits)
        if listed > 1 << 31:  # more would take many minutes
            raise Unsupported(self, f"{listed:.2g} vectors of {number} messages' kernels are too many: ask for few boxes")


class CountMinBoxes(Boxes):
    """The layout over count-min: a view is a row of the counts of all cells that either of the two inputs sends."""

    model = "shuffled"
    unbiased = False

    gamma: Fraction

    @property
    @abstractmethod
    def sketch(self) -> ShuffledCountMin:
        """Algorithm 2."""

    @property
    def inputs(self) -> tuple[int, int]:
        """Of a few values the two whose cells differ most; of many the first and the one past the middle, or the last."""
        return _farthest(self)

    def shifts(self, first: int, second: int) -> tuple[tuple[int, int], ...]:
        """By how much the first value raises counts above the second's, and how many counts."""
        return self.sketch.shifts(self.grid.column(first), self.grid.column(second))

    @property
    def colliding_rows(self) -> int | None:
        """In how many rows two nodes that hold one value share a cell, the node of all values apart; None for large grids."""
        return _colliding(self) if self.grid.cells <= _HASHED else None

    def columns(self, x: int) -> list[int]:
        """Messages of a value in each count of a view."""
        own = self.sketch.cells(self.grid.column(x))
        watched = set().union(*(self.sketch.cells(self.grid.column(each)) for each in self.inputs))
        return [own[cell] for cell in sorted(watched)]

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        own = np.array(self.columns(x))
        return np.asarray(rng.binomial(self.users, float(self.gamma), (size, len(own))) + own, dtype=np.int64)

    def law(self, x: int) -> Law:
        """Products of shifted binomial probabilities."""
        self.require_input(x)
        own, most = self.columns(x), [max(both) for both in zip(*map(self.columns, self.inputs), strict=True)]
        return shifted_binomials([(self.users, sent) for sent in own], self.gamma, [range(self.users + n + 1) for n in most])

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated messages of user 1 in each count of a view."""
        return np.asarray(views) - float(self.gamma * self.users)


@lru_cache(maxsize=64)
def _farthest(m: CountMinBoxes) -> tuple[int, int]:
    grid = m.grid
    middle = grid.number([grid.side // 2] * grid.dimensions)
    searched: Iterable[tuple[int, int]] = ((0, middle), (0, grid.cells - 1))
    if grid.cells <= 64:  # all pairs are compared
        searched = combinations(range(grid.cells), 2)
    return max(searched, key=lambda pair: sum(t * s * s for s, t in m.shifts(*pair)))


@lru_cache(maxsize=64)
def _colliding(m: CountMinBoxes) -> int:
    grid, values = m.grid, np.arange(m.grid.cells)
    nodes = np.stack([grid.nodes_at(values, level) for level in grid.levels], axis=1)
    absent = -1 - np.arange(nodes.shape[1])  # places without a node differ from each other and from every cell

    def collides(row: int) -> bool:
        cells = np.sort(np.where(nodes < 0, absent, m.sketch.hashes(nodes, row)), axis=1)
        return bool(np.any(cells[:, 1:] == cells[:, :-1]))

    return sum(collides(row) for row in range(m.sketch.rows))


class Told(NamedTuple):
    """What tells two values apart: elements of either, all independent, and the value that all other users hold.

    No other element of the two values is a sum of these, and none of the others' value, unless that is the second value:
    then only one element of each is looked at, and the others hold the second of them.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    others: int


@lru_cache(maxsize=256)
def told(grid: Grid, oracle: ShuffledHadamard) -> Told | None:
    """As many elements of the first and the last value as a greedy search finds; None where it finds none."""
    last = grid.cells - 1
    one, other = (set(oracle.elements(grid.column(value))) for value in (0, last))
    values = max(1, min(16, last - 1, _WORK // len(one | other)))  # values that are tried for the others
    widest = max(1, min(12, isqrt(_WORK // (len(one | other) * values))))  # elements of either value that are tried
    pairs = list(product(sorted(one - other, reverse=True)[:widest], sorted(other - one, reverse=True)[:widest]))
    best: Told | None = None
    for value in range(1, min(last, values + 1)):
        held = set(oracle.elements(grid.column(value)))
        found = _grown([pair for pair in pairs if not held & set(pair)], one | other | held)
        if found and (best is None or len(found) > len(best.first)):
            best = Told(tuple(u for u, _ in found), tuple(v for _, v in found), value)
    if best is None and (single := next((pair for pair in pairs if _is_free(pair, one | other)), None)):
        best = Told((single[0],), (single[1],), last)
    return best


Pair = tuple[int, int]


def _grown(pairs: list[Pair], held: set[int]) -> list[Pair]:
    """Pairs, as long as one more leaves all independent, and no other element that is held a sum of theirs."""
    found: list[Pair] = []
    for pair in pairs:
        used = {each for before in found for each in before}
        if not used & set(pair) and _is_free((*used, *pair), held):
            found.append(pair)
    return found


def _is_free(chosen: tuple[int, ...], held: set[int]) -> bool:
    basis: list[int] = []
    for vector in chosen:
        if not (rest := reduced(vector, basis)):
            return False
        basis.append(rest)
    others: NDArray[np.int64] = np.array(sorted(held - set(chosen)), dtype=np.int64)
    return not coordinates(others, basis)[1].any()
