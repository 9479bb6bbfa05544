r"""Range queries in the shuffled model: users send the dyadic nodes that hold their value, and boxes are sums of nodes.

Ghazi, Golowich, Kumar, Pagh, Velingker 2019, "On the power of multiple anonymous messages", Algorithms 3 and 4. Theirs is one
frequency oracle for all nodes, Hadamard response or count-min. A value lies in at most one node of each width, so that
there may as well be an oracle for each width, to which everybody sends one element: it costs far less.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.shared.dyadic_ranges.boxes import CountMinBoxes, HadamardBoxes, Told, told
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import Group, OneElement
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid, Level
from ldpaudit.mechanisms.shared.linear_codes.kernels import random_members_among
from ldpaudit.mechanisms.shared.parameters import integers, probability
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin, printed_gamma
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard, printed_rho
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class RangeQueries(OneElement, HadamardBoxes):
    """A Hadamard oracle for each combination of widths: a user sends each the one node that holds the value, or the dummy.

    Every oracle is an instance of Algorithm 1 with one element and `rho` blanket messages per user, shuffled by itself. The
    node that holds all values, where there is one, is not sent: its count is the number of users.

    A view counts messages in every oracle: in the kernels of the node of value 0 and of the dummy, which is what the last
    value sends. All other users hold the last value.

    Examples
    --------
    >>> m = RangeQueries(users=2**12, side=100, tau=12, rho=300)
    >>> rng = np.random.default_rng(0)
    >>> nodes = m.run([30] * 3000 + [70] * 1096, rng)
    >>> bool(np.abs(m.query(nodes, [(0, 49), (50, 99), (31, 69)]) - [3000, 1096, 0]).max() < 200)
    True
    """

    title = "range queries, shuffled, one Hadamard oracle per width"

    @property
    def oracles(self) -> int:
        """One for each combination of widths."""
        return self.grid.most_replaced

    def oracle(self, level: Level) -> ShuffledHadamard:
        """The oracle for nodes of these widths."""
        return ShuffledHadamard(self.users, _power_of_two(max(2, self.grid.size_of(level))), self.tau, self.rho)

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated count of every node, shape ``(side**dimensions,)``, with exactly the joint law of all users' messages.

        ``data``: each user's value by number, row by row, or by its coordinates. `query` reads what is returned. Raises
        Unsupported where there are more than 2**26 nodes, or the kernels of the messages hold too many vectors: see `ask`.
        """
        held, values = self._held(data)
        users, found = len(values), np.full(len(held), float(len(values)))
        shape = (self.side,) * self.dimensions
        counts, estimates = held.reshape(shape), found.reshape(shape)
        for level in self.grid.levels:
            oracle, own = self.oracle(level), counts[self.grid.nodes_of(level)]
            self._require_listable(users * (self.rho + 1), oracle.bits)
            elements = np.zeros(2 * oracle.domain, dtype=np.int64)
            elements[1 : own.size + 1] = own.ravel()
            elements[oracle.domain + 1] = users - own.sum()
            answers = oracle.from_counts(elements, users, rng)[: own.size]
            estimates[self.grid.nodes_of(level)] = answers.reshape(own.shape)
        return found

    def nodes(self, data: ArrayLike, asked: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated counts of the asked nodes; an oracle none of whose nodes is asked for is not drawn."""
        values, found = self.grid.values(data), np.zeros(len(asked))
        by_level: dict[Level, list[int]] = {}
        for i, node in enumerate(asked.tolist()):
            by_level.setdefault(self.grid.level_of(node), []).append(i)
        for level in self.grid.levels:
            if chosen := by_level.pop(level, None):
                found[chosen] = self._asked(values, asked[chosen], level, rng)
        for root in by_level.values():
            found[root] = len(values)
        return found

    def _asked(
        self, values: NDArray[np.int64], asked: NDArray[np.int64], level: Level, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Estimates of nodes of one level. A node is asked for by its last value, which it holds."""
        oracle = self.oracle(level)
        self._require_listable(len(values) * (self.rho + 1), min(len(asked), oracle.bits))
        places = self.grid.places(values, level)
        elements, numbers = np.unique(np.where(places < 0, oracle.domain, places) + 1, return_counts=True)
        rows = self.grid.places(asked, level) + 1
        counts = random_members_among(rows, elements, numbers, len(values) * self.rho, self.tau, rng)
        return oracle.debias(counts, len(values))

    def randomize(self, x: int, level: Level, rng: np.random.Generator) -> NDArray[np.int64]:
        """One user's messages to the oracle of a level, as Algorithm 1 prints them."""
        place = int(self.grid.places(np.array([x]), level)[0])
        return self.oracle(level).randomize(() if place < 0 else (place,), rng)


@dataclass(frozen=True, slots=True)
class HadamardRangeQueries(HadamardBoxes):
    """Algorithms 3 and 4 over Algorithm 1: one Hadamard oracle for all nodes, to which a user sends all that hold the value.

    Who sends fewer than k fills up with elements that stand for no node. A view looks at elements of value 0 that the last
    value lacks and at as many that only the last value has, all independent (`told`).

    Examples
    --------
    >>> m = HadamardRangeQueries.as_printed(epsilon=1, delta=1e-6, users=10**6, side=1024)
    >>> m.k, m.tau, m.rho
    (11, 20, 74982)
    """

    variant = "hadamard"
    title = "range queries, shuffled, one Hadamard oracle"

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, users: int, side: int, dimensions: int = 1) -> Self:
        """Theorem 5.9: ``k = (log2(2 B0))**d``, and tau and rho of Theorem 4.3; rounded up."""
        if users < 1 or side < 2 or dimensions < 1:
            needs = "users >= 1, side >= 2 and dimensions >= 1"
            raise ValueError(f"{cls.__name__}.as_printed needs {needs}, got {users}, {side}, {dimensions}")
        k = Grid(side, dimensions).most_nodes
        return cls(users, side, max(1, (users - 1).bit_length()), printed_rho(epsilon, delta, k), dimensions)

    @property
    def k(self) -> int:
        """Elements of a user."""
        return self.grid.most_nodes

    @property
    def oracle(self) -> ShuffledHadamard:
        """Algorithm 1."""
        return ShuffledHadamard(self.users, _power_of_two(max(self.grid.cells, self.k + 1)), self.tau, self.rho, self.k)

    @property
    def told(self) -> Told:
        """Elements by which the two inputs are told apart, and what the others hold."""
        if (found := told(self.grid, self.oracle)) is None:
            raise Unsupported(self, "no two elements of the first and the last value are free of all others")
        return found

    @property
    def compared(self) -> int:
        """Number of elements of either input that a view looks at."""
        return len(self.told.first)

    def groups(self, x: int) -> tuple[Group, ...]:
        """Messages of elements that are not looked at are among the blanket's."""
        blanket, first, second = self.shares
        seen = self.compared * (self.users if self.others_are_seen else 1)
        like = self.users * (self.rho + self.k) - seen
        known = ((self.users - 1) * self.compared, second)
        return (like, blanket), (self.compared, second if x else first), *((known,) if self.others_are_seen else ())

    @property
    def others_are_seen(self) -> bool:
        """Whether the others hold the second input, elements of which are looked at."""
        return self.told.others == self.inputs[1]

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """As `RangeQueries.run`."""
        held, values = self._held(data)
        oracle, users = self.oracle, len(values)
        self._require_listable(users * (self.rho + self.k), oracle.bits)
        elements = np.zeros(2 * oracle.domain, dtype=np.int64)
        elements[1 : len(held) + 1] = held
        sizes = np.bincount(self.grid.sizes(values), minlength=self.k + 1)
        # Users of fewer than k nodes fill up with the first of the k - 1 elements that stand for no node.
        elements[oracle.domain + 1 : oracle.domain + self.k] = np.cumsum(sizes)[self.k - 1 : 0 : -1]
        found = oracle.from_counts(elements, users, rng)[: len(held)]
        if self.grid.has_root:
            found[-1] = users
        return found

    def nodes(self, data: ArrayLike, asked: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated counts of the asked nodes."""
        values, oracle = self.grid.values(data), self.oracle
        self._require_listable(len(values) * (self.rho + self.k), min(len(asked), oracle.bits))
        each, often = np.unique(values, return_counts=True)
        held = np.concatenate([oracle.elements(self.grid.column(value)) for value in each.tolist()])
        elements, place = np.unique(held, return_inverse=True)
        numbers = np.bincount(place, weights=np.repeat(often, self.k)).astype(np.int64)
        counts = random_members_among(asked + 1, elements, numbers, len(values) * self.rho, self.tau, rng)
        return self._with_root(oracle.debias(counts, len(values)), asked, len(values))

    def randomize(self, x: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """One user's messages, as Algorithm 3 over Algorithm 1 prints them."""
        return self.oracle.randomize(self.grid.column(x), rng)


@dataclass(frozen=True, slots=True)
class CountMinRangeQueries(CountMinBoxes):
    """Algorithms 3 and 4 over Algorithm 2: one count-min sketch for all nodes, to which a user sends all that hold the value.

    A view is a row of the counts of all cells that either of the two inputs sends; the others' part is taken off.

    Parameters
    ----------
    rows, buckets, gamma, seed
        As for `ShuffledCountMin`.

    Examples
    --------
    >>> CountMinRangeQueries(users=2**12, side=16, rows=4, buckets=2**15, gamma=Fraction(1, 50)).sketch.held
    5
    """

    variant = "count-min"
    title = "range queries, shuffled, one count-min sketch"

    users: int
    side: int
    rows: int
    buckets: int
    gamma: Fraction
    dimensions: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        self._require_grid()
        probability(self, "gamma")
        integers(self, rows=(1, 1 << 12), buckets=(2, 1 << 63), seed=0)

    @classmethod
    def as_printed(
        cls, epsilon: Number, delta: Number, users: int, side: int, beta: Number, dimensions: int = 1, seed: int = 0
    ) -> Self:
        """Theorem 5.10: ``k = (log2(2 B0))**d``, ``tau = log2(2 B/beta)``, ``s = 2 k n``, gamma of Lemma 4.10; rounded up."""
        if users < 1 or side < 2 or dimensions < 1 or not 0 < beta < 1:
            needs = "users, dimensions >= 1, side >= 2 and 0 < beta < 1"
            raise ValueError(f"{cls.__name__}.as_printed needs {needs}, got {users}, {dimensions}, {side} and {beta}")
        grid = Grid(side, dimensions)
        rows = (math.ceil(2 * grid.cells / Fraction(beta)) - 1).bit_length()
        gamma = printed_gamma(epsilon, delta, users, rows, grid.most_nodes)
        return cls(users, side, rows, 2 * grid.most_nodes * users, gamma, dimensions, seed)

    @property
    def sketch(self) -> ShuffledCountMin:
        return ShuffledCountMin(self.users, self.grid.cells, self.rows, self.buckets, self.gamma, self.grid.most_nodes, self.seed)

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated count of every node, shape ``(side**dimensions,)``; collisions only add. Unsupported as `RangeQueries.run`."""
        held, values = self._held(data)
        self._require_users(values)
        sent = np.flatnonzero(held)
        every = np.arange(len(held))
        return self._with_root(self.sketch.from_counts(sent, held[sent], every, rng), every, self.users)

    def nodes(self, data: ArrayLike, asked: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated counts of the asked nodes: only their cells are drawn."""
        values = self.grid.values(data)
        self._require_users(values)
        each, often = np.unique(values, return_counts=True)
        columns = [self.grid.column(value) for value in each.tolist()]
        sent, place = np.unique(np.concatenate(columns), return_inverse=True)
        weights = np.repeat(often, [len(column) for column in columns])
        counts = np.bincount(place, weights=weights).astype(np.int64)
        return self._with_root(self.sketch.from_counts(sent, counts, asked, rng), asked, self.users)

    def _require_users(self, values: NDArray[np.int64]) -> None:
        if len(values) != self.users:
            raise ValueError(f"{type(self).__name__} needs {self.users} users, got {len(values)}")


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
