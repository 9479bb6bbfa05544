r"""Sparse statistical queries in the shuffled model: users send the numbers of the queries that are true of them.

Ghazi, Golowich, Kumar, Pagh, Velingker 2019, "On the power of multiple anonymous messages", Appendix B: a frequency oracle
whose values are the queries. What a replaced user changes is not k elements but D, the most queries by which two values
differ, with the elements that fill up; so families whose sets overlap are cheaper.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import Group, HadamardViews
from ldpaudit.mechanisms.shared.linear_codes.kernels import random_members_of_few
from ldpaudit.mechanisms.shared.parameters import integer, integers
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard, printed_rho
from ldpaudit.profile import Number

_MOST_COMPARED = 2_000  # different sets of queries of which all pairs are compared: a second

QuerySet: TypeAlias = tuple[int, ...]  # numbers of the queries that are true of a value


@dataclass(frozen=True, slots=True)
class SparseStatisticalQueries(HadamardViews):
    """A Hadamard oracle for query numbers: a user sends those of the at most k queries that are true of the own value.

    Who sends fewer than k fills up with elements that stand for no query. An input is a tuple of query numbers; the two that
    are listed are as far apart as can be told by independent elements, and `run` takes all. In a view all other users send
    what fills up; it counts messages in the kernels of the first input's elements, of the second's, of both, of none.

    Parameters
    ----------
    queries : int
        Number of queries, from 2 to 2**24.
    k : int
        Maximum number of queries that are true for one value, from 1 to `queries`.
    changed : int
        D, most elements of a value that another one lacks, from 1 to k: ``max(|S|, |S'|) - |S & S'|`` for their sets.

    Examples
    --------
    >>> m = SparseStatisticalQueries(users=2**12, queries=20, k=3, changed=2, tau=12, rho=200)
    >>> digits = [(x, 10 + x, 19) for x in range(9)]  # each query's number, of values 0 to 8
    >>> answers = m.answer(digits, [4] * 3000 + [7] * 1096, np.random.default_rng(0))
    >>> bool(np.abs(answers[[4, 14, 7, 19, 3]] - np.array([3000, 3000, 1096, 4096, 0]) / 4096).max() < 0.02)
    True
    """

    core = "range_queries"
    title = "sparse statistical queries, shuffled, one Hadamard oracle"

    users: int
    queries: int
    k: int
    changed: int
    tau: int
    rho: int

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 50), queries=(2, 1 << 24))
        integer(self, "k", 1, self.queries)
        integers(self, changed=(1, self.k), tau=(1, 512), rho=(1, 1 << 40))

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, users: int, queries: int, k: int) -> Self:
        """Corollary B.1: tau and rho of Theorem 4.3 for k elements, rounded up; whatever the queries have in common."""
        return cls(users, queries, k, k, max(1, (users - 1).bit_length()), printed_rho(epsilon, delta, k))

    @property
    def oracle(self) -> ShuffledHadamard:
        """Algorithm 1."""
        domain = 1 << (max(self.queries, self.k + 1) - 1).bit_length()
        return ShuffledHadamard(self.users, domain, self.tau, self.rho, self.k)

    @property
    def inputs(self) -> tuple[QuerySet, QuerySet]:
        """Two disjoint sets of as many queries, whose elements, the powers of two, are independent."""
        first, second = ([(1 << i) - 1 for i in range(start, 2 * self.compared, 2)] for start in (0, 1))
        return tuple(first), tuple(second)

    @property
    def compared(self) -> int:
        """Number of elements of either input that a view looks at."""
        return min(self.changed, self.queries.bit_length() // 2)

    def groups(self, x: QuerySet) -> tuple[Group, ...]:
        """Messages of elements that fill up are like the blanket's."""
        blanket, first, second = self.shares
        like = self.users * (self.rho + self.k) - self.compared
        return (like, blanket), (self.compared, first if x == self.inputs[0] else second)

    def run(self, data: Iterable[Sequence[int]], rng: np.random.Generator) -> NDArray[np.float64]:  # type: ignore[override]
        """Users' sets of queries to the estimated number of users of whom each query is true, shape ``(queries,)``.

        Without bias, with exactly the joint law of the oracle's estimates on all users' messages.
        """
        return self._counted(*self._sets(data), rng)

    def truth(self, data: Iterable[Sequence[int]]) -> NDArray[np.float64]:  # type: ignore[override]
        """Number of users of whom each query is true."""
        sets, numbers = self._sets(data)
        held = np.concatenate([np.array(each, dtype=np.int64) for each in sets])
        weights = np.repeat(numbers, [len(each) for each in sets]).astype(np.float64)
        return np.bincount(held, weights, minlength=self.queries).astype(np.float64)

    def answer(self, queries: Sequence[Collection[int]], data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated share of the users of whom each query is true, in [0, 1].

        ``queries``: for each value of the universe ``range(len(queries))`` the numbers of the queries that are true of it;
        ``data``: each user's value. Raises ValueError where more than k queries are true of a value, two values differ by more
        than `changed` elements, or a user has no value of the universe; Unsupported where ``changed < k``, and there are too
        many different sets to compare.
        """
        universe = [tuple(sorted(each)) for each in queries]
        self._require_sets(universe)
        # No two of the sets differ by more than `changed` elements; where that is k, none can.
        different = list(map(frozenset, dict.fromkeys(universe)))
        if self.changed < self.k and len(different) > _MOST_COMPARED:
            raise Unsupported(self, f"{len(different)} sets are too many to compare: take changed = k = {self.k}")
        if self.changed < self.k and (most := max((apart(a, b) for a, b in combinations(different, 2)), default=0)) > self.changed:
            raise ValueError(f"{type(self).__name__} needs sets that differ by at most {self.changed} elements, got {most}")
        values = np.asarray(data)
        inside = values.ndim == 1 and values.dtype.kind in "iu" and np.all((values >= 0) & (values < len(universe)))
        if not inside or len(values) != self.users:
            raise ValueError(f"{type(self).__name__}.answer needs a value in range({len(universe)}) of each of {self.users} users")
        numbers = np.bincount(values, minlength=len(universe))
        return np.clip(self._counted(universe, numbers, rng) / self.users, 0.0, 1.0)

    def _counted(self, sets: Sequence[QuerySet], numbers: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimates, where this many users send each of these sets."""
        oracle, users = self.oracle, int(numbers.sum())
        held = np.concatenate([np.array(oracle.elements(each), dtype=np.int64) for each in sets])
        elements, place = np.unique(held, return_inverse=True)
        sent = np.bincount(place, np.repeat(numbers, self.k), minlength=len(elements)).astype(np.int64)
        asked = np.arange(1, self.queries + 1)
        return oracle.debias(random_members_of_few(asked, elements, sent, users * self.rho, self.tau, rng), users)

    def _sets(self, data: Iterable[Sequence[int]]) -> tuple[list[QuerySet], NDArray[np.int64]]:
        """The different sets, and how many users send each."""
        counts = Counter(tuple(sorted(each)) for each in data)
        if not counts:
            raise ValueError(f"{type(self).__name__}.run needs at least one user, got none")
        self._require_sets(counts)
        return list(counts), np.array(list(counts.values()), dtype=np.int64)

    def _require_sets(self, sets: Iterable[QuerySet]) -> None:
        for each in sets:
            different = len(set(each)) == len(each) <= self.k
            if not (different and all(0 <= q < self.queries for q in each)):
                needs = f"at most {self.k} different queries below {self.queries} of each value"
                raise ValueError(f"{type(self).__name__} needs {needs}, got {each}")

    def error_of_answers(self, beta: Fraction) -> float:
        """The error that no query's estimated number of users exceeds, except with probability `beta`, rounded up; in users."""
        return self.error(self.rho + self.k, self.queries, beta)


def apart(first: Collection[int], second: Collection[int]) -> int:
    """Elements that are replaced where a user of one set becomes one of the other: the larger set's, but for common ones."""
    return max(len(first), len(second)) - len(set(first) & set(second))
