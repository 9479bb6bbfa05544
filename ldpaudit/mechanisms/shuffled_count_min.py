r"""Shuffled count-min: users send the cells of their values and a blanket of random cells, and nobody sees whose is whose.

Ghazi, Golowich, Kumar, Pagh, Velingker 2019, "On the power of multiple anonymous messages", Algorithm 2.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Views
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS
from ldpaudit.mechanisms.shared.hashing import most_different
from ldpaudit.mechanisms.shared.independent_bits import MessageCounts, shifted_binomials
from ldpaudit.mechanisms.shared.linear_codes.gf2 import words
from ldpaudit.mechanisms.shared.parameters import ball, exact, integers, positive, probability
from ldpaudit.profile import Number

NOTHING = -1  # in a table of users' values: a place that holds none
WATCHED = 16  # cells up to which a view shows all, one by one; with more it shows those of two inputs
_INPUTS = 64  # sets of values that are listed as inputs

Held = int | tuple[int, ...]  # what a user holds: a value, or several
Shifts = tuple[tuple[int, int], ...]  # by how much counts differ, and how many do


class Apart(NamedTuple):
    """Two inputs whose cells differ most, among those searched, and whether none can differ more."""

    pair: tuple[Held, Held]
    certain: bool


@dataclass(frozen=True, slots=True)
class ShuffledCountMin(MessageCounts):
    r"""Every user sends the cell ``(t, h_t(x))`` of each of their values x in each row t, and every cell with probability gamma.

    The hash functions are public and come from the seed. The shuffler hides who sent what, so that all that is seen is
    how often each cell was sent. An input is what one user holds; what the others hold is known to the adversary, who
    takes their cells off, so that nothing depends on it: only their part of the blanket is noise. An absent user, the
    input None, sends no blanket either, and there are ``users - 1`` of them.

    A view is a row of counts: of every cell, where there are at most 16, else of the cells of the two inputs that
    `apart` names, and the total of all other cells. For these two inputs the counts of their cells are sufficient.

    Parameters
    ----------
    users : int
        Number n of users, at least 1.
    domain : int
        B, from 2 to 2**62; values are ``range(domain)``.
    rows : int
        Number tau of hash functions, from 1 to 4096.
    buckets : int
        Number s of cells of each, from 2 to 2**63.
    gamma : Fraction
        Probability of each cell in each user's blanket, in (0, 1).
    held : int
        Number k of values that a user may hold at most, from 1 to `domain`. An input is a value, or where k is above 1 a tuple
        of at most k different values.
    seed : int
        Seed of the public hash functions.

    Examples
    --------
    >>> m = ShuffledCountMin.as_printed(epsilon=1, delta=1e-6, users=10**7, domain=2**20)
    >>> m.rows, m.buckets, round(float(m.gamma), 6)
    (21, 20000000, 0.069669)
    >>> m = ShuffledCountMin(users=1000, domain=8, rows=4, buckets=2000, gamma=Fraction(1, 1000))
    >>> data = np.repeat([3, 5], [900, 100])
    >>> bool(np.all(np.abs(m.run(data, np.random.default_rng(0)) - m.truth(data)) <= 3))
    True
    """

    title = "shuffled count-min"
    unbiased = False

    users: int
    domain: int
    rows: int
    buckets: int
    gamma: Fraction
    held: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 62), domain=(2, 1 << 62), rows=(1, 1 << 12), buckets=(2, 1 << 63))
        integers(self, held=(1, self.domain), seed=0)
        probability(self, "gamma")

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, users: int, domain: int, held: int = 1, seed: int = 0) -> Self:
        r"""Theorem 4.7: :math:`\tau = \log_2 2B` and :math:`s = 2kn`, both rounded up, and gamma of Lemma 4.10.

        Raises ValueError where gamma would exceed 1/2: the number of users from which on it does not is named.
        """
        if users < 1 or domain < 2 or held < 1:
            needs = "users >= 1, domain >= 2 and held >= 1"
            raise ValueError(f"{cls.__name__}.as_printed needs {needs}, got {users}, {domain} and {held}")
        rows = (2 * domain - 1).bit_length()
        gamma = printed_gamma(epsilon, delta, users, rows, held)
        if gamma > Fraction(1, 2):
            least = math.ceil(2 * gamma * users)
            needs = f"gamma <= 1/2, which takes about {least} users or more"
            raise ValueError(f"{cls.__name__}.as_printed needs {needs}, got users={users}")
        return cls(users, domain, rows, 2 * held * users, gamma, held, seed)

    @property
    def inputs(self) -> Sequence[Held]:
        """All values, or where a user may hold several, all sets of them; of more than 64 sets the two of `apart`."""
        if self.held == 1:
            return range(self.domain)
        if self._sets() > _INPUTS:
            return self.apart.pair
        return [chosen for size in range(self.held + 1) for chosen in combinations(range(self.domain), size)]

    def _sets(self) -> int:
        """How many sets of values there are, as far as it matters."""
        if self.domain > _INPUTS:
            return self.domain
        return sum(math.comb(self.domain, size) for size in range(self.held + 1))

    def require_input(self, x: Held | None) -> None:
        """Check that `x` is a value, a tuple of at most `held` different ones, or None for an absent user."""
        values = () if x is None else (x,) if isinstance(x, int) else x
        proper = isinstance(values, tuple) and len(set(values)) == len(values) <= self.held
        if not (proper and all(isinstance(v, int) and 0 <= v < self.domain for v in values)):
            needs = f"at most {self.held} different values in range({self.domain})"
            raise ValueError(f"{type(self).__name__} needs {needs}, got {x!r}")

    def hashes(self, values: ArrayLike, row: int) -> NDArray[np.int64]:
        """The bucket of each value in a row, of the shape of `values`."""
        found = words(int(words(self.seed, row)), values) % np.uint64(self.buckets)
        return np.asarray(found.astype(np.int64))

    def cells(self, x: Held | None) -> Counter[tuple[int, int]]:
        """How often an input sends each cell ``(row, bucket)``, its blanket apart."""
        values = np.array(() if x is None else (x,) if isinstance(x, int) else x, dtype=np.int64)
        return Counter((t, bucket) for t in range(self.rows) for bucket in self.hashes(values, t).tolist())

    def shifts(self, first: Held | None, second: Held | None) -> Shifts:
        """By how much the first input raises counts above the second's, and how many counts; those that agree left out."""
        there, back = self.cells(first), self.cells(second)
        found = Counter(there[cell] - back[cell] for cell in there.keys() | back.keys())
        return tuple(sorted((shift, times) for shift, times in found.items() if shift))

    @property
    def apart(self) -> Apart:
        """Two inputs whose cells differ most: for several values a user, by the sum of squares of their `shifts`."""
        return _apart(self)

    @property
    def watched(self) -> list[tuple[int, int]]:
        """The cells that a view shows one by one."""
        if self.rows * self.buckets <= WATCHED:
            return list(product(range(self.rows), range(self.buckets)))
        first, second = self.apart.pair
        return sorted(self.cells(first).keys() | self.cells(second).keys())

    @property
    def others(self) -> int:
        """How many cells a view shows as a total only; where there are none, it shows no total."""
        return self.rows * self.buckets - len(self.watched)

    def columns(self, x: Held | None) -> list[tuple[int, int]]:
        """(coins, messages) of every count of a view: its blanket is Bin(coins, gamma), the messages are the input's."""
        present, own = self.users - (x is None), self.cells(x)
        shown = [(present, own.pop(cell, 0)) for cell in self.watched]
        return [*shown, (present * self.others, own.total())] if self.others else shown

    def law(self, x: Held | None) -> Law:
        """Law on rows of counts: products of shifted binomial probabilities."""
        self.require_input(x)
        columns, shown = self.columns(x), len(self.watched)
        most = [self.held if i < shown else self.rows * self.held for i in range(len(columns))]
        ranges = [range(coins + own + 1) for (coins, _), own in zip(self.columns(0), most, strict=True)]
        return shifted_binomials(columns, self.gamma, ranges)

    @property
    def expected_blanket(self) -> Fraction:
        """Mean of a cell's blanket, gamma n."""
        return self.gamma * self.users

    @property
    def bits_a_user(self) -> float:
        """Of all messages of a user, on average."""
        each = (self.rows - 1).bit_length() + (self.buckets - 1).bit_length()
        return float(self.rows * (self.held + self.gamma * self.buckets) * each)

    @property
    def expected_noise(self) -> Fraction:
        """What the last line of Algorithm 2 takes off."""
        return self.expected_blanket

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated counts of the values of the two inputs of `apart` among one user, from each view.

        Shape ``(size, values)``; biased, as a minimum is.
        """
        pair, place = self.apart.pair, {cell: i for i, cell in enumerate(self.watched)}
        values = [v for x in pair for v in ((x,) if isinstance(x, int) else x)]
        counts = np.asarray(views)
        least = [counts[:, [place[cell] for cell in self.cells(v)]].min(axis=1) for v in values]
        return np.stack(least, axis=1) - float(self.expected_noise)

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' values to the estimated count of every value, shape ``(domain,)``.

        ``data`` has shape ``(users,)`` or ``(users, held)``; in it -1 stands for no value. Raises Unsupported where the domain
        has more than 2**26 values: see `query`.
        """
        if self.domain > 1 << 26:
            raise Unsupported(self, f"the counts of all of {self.domain} values are too many: query some of them")
        return self.query(data, np.arange(self.domain), rng)

    def query(self, data: ArrayLike, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated counts of some values in a run: only the cells that they are hashed to are drawn.

        Every cell's blanket is drawn at once, Bin(users, gamma): that is its law, whoever sent it. ``data`` is as for `run`.
        """
        return self.from_counts(*self._counted(data), values, rng)

    def from_counts(
        self, sent: NDArray[np.int64], often: NDArray[np.int64], values: ArrayLike, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """What `query` returns, from the values that users hold, and how many users hold each."""
        asked = np.asarray(values, dtype=np.int64)
        least = np.full(asked.shape, np.iinfo(np.int64).max)
        for t in range(self.rows):
            cells, place = np.unique(self.hashes(asked, t), return_inverse=True)
            counts = rng.binomial(self.users, float(self.gamma), len(cells))
            bucket = self.hashes(sent, t)
            found = np.minimum(np.searchsorted(cells, bucket), len(cells) - 1)
            seen = cells[found] == bucket
            counts += np.bincount(found[seen], weights=often[seen], minlength=len(cells)).astype(np.int64)
            least = np.minimum(least, counts[place.reshape(asked.shape)])
        return least - float(self.expected_noise)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Count of the users who hold each value, shape ``(domain,)``."""
        sent, often = self._counted(data)
        return np.bincount(sent, weights=often, minlength=self.domain).astype(np.float64)

    def _counted(self, data: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The values that users hold, and how many hold each."""
        table = np.asarray(data, dtype=np.int64)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or len(table) != self.users or table.shape[1] > self.held:
            needs = f"{self.users} users with at most {self.held} values each"
            raise ValueError(f"{type(self).__name__} needs {needs}, got an array of shape {np.shape(data)}")
        if table.size and not NOTHING <= table.min() <= table.max() < self.domain:
            needs = f"values in range({self.domain}), or {NOTHING} for none"
            raise ValueError(f"{type(self).__name__} needs {needs}, got {table.min()} to {table.max()}")
        ordered = np.sort(table, axis=1)
        if np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING)):
            raise ValueError(f"{type(self).__name__} needs users who hold each value at most once")
        values, counts = np.unique(table, return_counts=True)
        real = values != NOTHING
        return values[real], counts[real]


@dataclass(frozen=True, slots=True)
class OneSidedShuffledCountMin(ShuffledCountMin):
    """Shuffled count-min without the last subtraction: an estimate is never below the count, and as private.

    Source: the remark after Lemma 4.8. Parameters as for `ShuffledCountMin`.

    Examples
    --------
    >>> OneSidedShuffledCountMin.as_printed(epsilon=1, delta=1e-6, users=10**7, domain=2**20).rows
    21
    >>> m = OneSidedShuffledCountMin(users=1000, domain=8, rows=4, buckets=2000, gamma=Fraction(1, 100))
    >>> data = np.arange(1000) % 8
    >>> bool(np.all(m.run(data, np.random.default_rng(0)) >= m.truth(data)))
    True
    """

    variant = "one-sided"
    title = "one-sided shuffled count-min"

    @property
    def expected_noise(self) -> Fraction:
        """Nothing is taken off."""
        return Fraction(0)


@lru_cache(maxsize=64)
def _apart(m: ShuffledCountMin) -> Apart:
    if m.held > 1 and m._sets() <= _INPUTS:
        one, other = max(combinations(m.inputs, 2), key=lambda pair: _squares(m.shifts(*pair)))
        # The one that is seen best against nobody stands first.
        heavier = _squares(m.shifts(one, None)) >= _squares(m.shifts(other, None))
        return Apart((one, other) if heavier else (other, one), True)
    if m.held > 1:
        first = tuple(range(m.held))
        return Apart((first, tuple(v + m.held for v in first)) if m.domain >= 2 * m.held else (first, ()), False)
    searched = min(m.domain, 1 << 10)  # values that are searched for two whose hashes differ in every row
    table = np.stack([m.hashes(np.arange(searched), t) for t in range(m.rows)], axis=1)
    differ, pair = most_different(table)
    return Apart(pair, differ == m.rows or searched == m.domain)


def _squares(shifts: Shifts) -> int:
    return sum(times * shift * shift for shift, times in shifts)


def printed_gamma(epsilon: Number, delta: Number, users: int, rows: int, held: int = 1) -> Fraction:
    r"""Lemma 4.10's :math:`\gamma = 90\, \tau^2 k^2 \ln(2 \tau k / \delta) / (n \varepsilon^2)`, rounded up.

    It may exceed 1/2, or 1: then the lemma says nothing.
    """
    small = exact(delta)
    if not 0 < small < 1:
        raise ValueError(f"a printed gamma needs 0 < delta < 1, got delta={delta}")
    with working_precision(2 * SIGNIFICANT_BITS):
        lines = ball(Fraction(2 * rows * held) / small).log()
        # A float at or above it, exactly.
        return Fraction(round_up(90 * (rows * held) ** 2 * lines / (users * ball(positive("epsilon", epsilon)) ** 2)))
