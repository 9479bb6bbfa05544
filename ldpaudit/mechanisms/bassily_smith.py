r"""The basic randomizer of Bassily and Smith, on a vector and on a word that a public projection turns into one.

Bassily, Smith 2015, as Joseph, Roth, Ullman, Waggoner 2018, section 5.2 use it. A user holds :math:`x \in [-1/\sqrt w,
1/\sqrt w]^w`, draws a row j and a sign s, and publishes the pair; it stands for :math:`z = c \sqrt w\, s\, e_j`, with mean x. Here
a column is :math:`u = \sqrt w\, x`, so that its entries are at most 1 in size. For entries between -1 and 1, which 2015 does not
have, the sign is the only one of mean :math:`\theta u_j`.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Mechanism, Rows, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.linear_codes.gf2 import BITS
from ldpaudit.mechanisms.shared.parameters import exact, integer, integers, odds, probability
from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.mechanisms.shared.values import DomainValues
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.profile import Number

Column = Sequence[Fraction | int]  # a user's vector, times the root of its length
_CHUNK = 1 << 16  # reports whose signs of all words are looked up together
Patterns = Counter[tuple[Fraction, Fraction]]  # in how many rows two columns have each pair of entries


class RowSign(Mechanism):
    r"""A view is ``(j, s)``: j uniform among w rows, and s = 1 with probability :math:`(1 + u_j \theta)/2`, else -1.

    u is the input's column, with entries in [-1, 1], and :math:`\theta = 2p - 1`. The input None is the user who is
    absent, or has nothing left to spend: its column is 0, its sign a fair one.

    Parameters
    ----------
    p : Fraction
        Probability of the true sign of an entry of 1 or -1, ``1/2 < p < 1``.
    """

    relations = (REPLACE_ONE, ADD_REMOVE)

    rows: int
    p: Fraction

    @property
    def theta(self) -> Fraction:
        """Mean of the sign that is told of an entry of 1, ``2 p - 1``."""
        return 2 * self.p - 1

    @property
    def scale(self) -> Fraction:
        """c = 1/theta, which is ``(e**epsilon + 1)/(e**epsilon - 1)``."""
        return 1 / self.theta

    @property
    def variance(self) -> Fraction:
        r"""Of :math:`\langle \varphi_v, z \rangle`, where z is the report on the word v itself: ``c**2 - 1``."""
        return self.scale**2 - 1

    @abstractmethod
    def entries(self, x: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Entries of an input's column in some rows."""

    @abstractmethod
    def patterns(self, x: Any, y: Any) -> Patterns:
        """In how many rows the columns of two inputs have each pair of entries: all that tells them apart."""

    def sign_chance(self, entry: Number) -> Fraction:
        """Probability of +1 in a row with this entry."""
        return (1 + exact(entry) * self.theta) / 2

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        rows = rng.integers(0, self.rows, size)
        return np.stack([rows, self.told(self.entries(x, rows), rng)], axis=-1)

    def told(self, entries: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """A random sign for each entry; exact, a coin of its own probability for each value that an entry takes."""
        values, places = np.unique(entries, return_inverse=True)
        found = np.empty(len(entries), dtype=np.int64)
        for number, value in enumerate(values.tolist()):
            at = np.flatnonzero(places == number)
            found[at] = 2 * bernoulli(self.sign_chance(value), len(at), rng).astype(np.int64) - 1
        return found

    def law(self, x: Any) -> Law:
        """Law on ``2 w`` views; accountants merge rows by `patterns` in its place."""
        self.require_input(x)

        def probability(view: Any) -> Fraction:
            j, s = view
            plus = self.sign_chance(self.entries(x, np.array([j]))[0])
            return (plus if s > 0 else 1 - plus) / self.rows

        return Law(probability, lambda: Rows((range(self.rows), range(-1, 2, 2))), 2 * self.rows)


@dataclass(frozen=True, slots=True)
class BassilySmith(RowSign):
    """The basic randomizer of a vector of `rows` numbers in [-1, 1], which the client checks: the centre may be malicious.

    Parameters
    ----------
    rows : int
        w, the length of the vector, at least 1.

    Examples
    --------
    >>> m = BassilySmith(rows=2, p=Fraction(3, 4))
    >>> m.law((1, 0)).probability((0, 1)), m.law((1, 0)).probability((1, 1))
    (Fraction(3, 8), Fraction(1, 4))
    """

    title = "Bassily-Smith randomizer"

    rows: int
    p: Fraction

    def __post_init__(self) -> None:
        integer(self, "rows", 1, 1 << 24)
        probability(self, "p", low=Fraction(1, 2))

    @classmethod
    def for_epsilon(cls, epsilon: Number, rows: int) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**epsilon / (e**epsilon + 1)``, rounded down."""
        return cls(rows, odds(epsilon))

    @property
    def inputs(self) -> tuple[Column, ...]:
        """Of the vectors, those that are told apart best: only ones, and only minus ones."""
        return (1,) * self.rows, (-1,) * self.rows

    def require_input(self, x: Any) -> None:
        """Check that `x` is a vector of entries from -1 to 1, or None."""
        if x is None:
            return
        try:
            valid = len(x) == self.rows and all(-1 <= exact(each) <= 1 for each in x)
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise ValueError(f"BassilySmith needs {self.rows} numbers from -1 to 1, got {x!r:.80}")

    def entries(self, x: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
        column = [Fraction(0)] * self.rows if x is None else [exact(each) for each in x]
        return np.array([column[j] for j in rows.tolist()], dtype=object)

    def patterns(self, x: Any, y: Any) -> Patterns:
        every = np.arange(self.rows)
        return Patterns(zip(self.entries(x, every).tolist(), self.entries(y, every).tolist(), strict=True))

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased sum of the users' vectors, shape ``(rows,)``."""
        rows, signs = np.asarray(views).T
        sums = np.bincount(rows, weights=signs, minlength=self.rows)
        return np.asarray(sums * (self.rows * float(self.scale)), dtype=np.float64)

    run_on_counts = Mechanism.run_on_counts

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' vectors, shape ``(users, rows)``, to their estimated sum."""
        vectors = self._vectors(data)
        rows = rng.integers(0, self.rows, len(vectors))
        told = self.told(vectors[np.arange(len(vectors)), rows], rng)
        return self.estimate(np.stack([rows, told], axis=-1))

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(self._vectors(data).sum(axis=0), dtype=np.float64)

    def _vectors(self, data: ArrayLike) -> NDArray[np.float64]:
        vectors = np.asarray(data, dtype=np.float64)
        if vectors.ndim != 2 or vectors.shape[1] != self.rows or not np.all(np.abs(vectors) <= 1) or not len(vectors):
            raise ValueError(f"BassilySmith.run needs users' vectors of {self.rows} numbers from -1 to 1, got {vectors.shape}")
        return vectors


@dataclass(frozen=True, slots=True)
class ProjectedBassilySmith(DomainValues, RowSign):
    """The basic randomizer of a word's column in a public matrix of signs, and the frequency oracle that it makes.

    Parameters
    ----------
    rows : int
        w, the length of a column, at least 1.
    domain : int
        d, the number of words, at least 2; inputs are ``range(domain)``.
    seed : int
        Seed of the public matrix, no entry of which is stored. It must not depend on the data, or the estimates are
        wrong; privacy does not need that.

    Examples
    --------
    >>> float(ProjectedBassilySmith.for_epsilon(1, rows=64, domain=1000).p)
    0.7310585786300049
    """

    title = "Bassily-Smith oracle"
    variant = "projected"
    unbiased = False

    rows: int
    domain: int
    p: Fraction
    seed: int = 0

    def __post_init__(self) -> None:
        integer(self, "rows", 1, 1 << 31)
        integers(self, domain=(2, (1 << BITS) // self.rows), seed=0)
        probability(self, "p", low=Fraction(1, 2))

    @classmethod
    def for_epsilon(cls, epsilon: Number, rows: int, domain: int, seed: int = 0) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**epsilon / (e**epsilon + 1)``, rounded down."""
        return cls(rows, domain, odds(epsilon), seed)

    @property
    def public(self) -> Projection:
        """The public matrix."""
        return Projection(self.rows, self.domain, self.seed)

    def entries(self, x: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Signs of a word; 0 for None."""
        return np.zeros(len(rows), dtype=np.int8) if x is None else self.public.signs(rows, x)

    def patterns(self, x: Any, y: Any) -> Patterns:
        """Of two words, rows that agree and rows that differ: which of the signs is which word's tells nothing more."""
        if x is None or y is None:
            ends = tuple(Fraction(each is not None) for each in (x, y))
            return Patterns({(ends[0], ends[1]): self.rows})
        apart, one = self.public.differing(x, y), Fraction(1)
        return +Patterns({(one, -one): apart, (one, one): self.rows - apart})

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated count of each word; see `query`, which can be asked about a few."""
        return self.query(views, np.arange(self.domain))

    def query(self, views: Views, values: ArrayLike) -> NDArray[np.float64]:
        r"""Estimated counts of any words.

        .. math:: n \hat f(v) = c \sum_i s_i \operatorname{sign}(\Phi_{j_i, v})

        Unbiased over the public matrix. For a given one it is off by what the columns of other words have in common with
        that of v.
        """
        asked, sums = np.asarray(values, dtype=np.int64), np.zeros(np.size(values))
        reports = np.asarray(views, dtype=np.int64)
        for start in range(0, len(reports), _CHUNK):
            rows, signs = reports[start : start + _CHUNK].T
            sums += signs @ self.public.signs(rows[:, None], asked)
        return sums * float(self.scale)

    run_on_counts = Mechanism.run_on_counts

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' words to the estimated count of each word."""
        values = np.asarray(data, dtype=np.int64)
        if values.ndim != 1 or not len(values) or values.min() < 0 or values.max() >= self.domain:
            raise ValueError(f"ProjectedBassilySmith.run needs words in range({self.domain}), got {data!r:.80}")
        rows = rng.integers(0, self.rows, len(values))
        told = self.told(self.public.signs(rows, values), rng)
        return self.estimate(np.stack([rows, told], axis=-1))
