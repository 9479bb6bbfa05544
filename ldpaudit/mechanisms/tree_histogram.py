r"""TreeHist: the values that many hold, found prefix by prefix, because a prefix of a frequent value is frequent.

Bassily, Nissim, Stemmer, Thakurta 2017, of which Stemmer's talk says that it exists, and what it is built on: the one-bit
oracle and its transform. How users are divided, the threshold and the last question below are a construction of this
project, with constants that are proved; public implementations divide users in the same way.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Views
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.shared.linear_codes.gf2 import vectors
from ldpaudit.mechanisms.shared.parameters import exact, integer, integers, odds, probability
from ldpaudit.mechanisms.shared.public_questions.deviation import BETA, HALF, Support, largest_deviation
from ldpaudit.mechanisms.shared.public_questions.public_sign import views_of
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, Partitioned, PartitionedSign, SplitSigns, divided
from ldpaudit.mechanisms.shared.public_questions.server_queries import Children, Counted, Decoding, Question
from ldpaudit.profile import Number

WIDEST = 24  # bits by which a prefix grows at most: the children of one prefix are counted in one table


class _Tree(Asked):
    """Question number l asks for the first l fragments of the value, of `width` bits each.

    Parameters
    ----------
    width : int
        Bits of a fragment, from 1 to 24.
    share : Fraction
        Probability that a user is asked for a prefix, in (0, 1).
    """

    width: int
    beta: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        integer(self, "width", 1, WIDEST)
        probability(self, "beta")

    @property
    def levels(self) -> int:
        """Number of fragments; the last one may be shorter."""
        return -(-self.bits // self.width)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The leading bits of a value, by levels."""
        lengths = (min(level * self.width, self.bits) for level in range(1, self.levels + 1))
        whole = self.whole
        return tuple(whole[self.bits - length :] for length in lengths)

    def children(self, users: int) -> int:
        r"""Most children of prefixes that somebody holds, :math:`2^w n G`: no others are counted where no count is far off."""
        return users * self.levels << self.width

    def threshold(self, users: int) -> float:
        r"""The count from which on a prefix is kept: one more than any of `children` that nobody holds is counted.

        With probability at least :math:`1 - \beta/2` none is counted more; then no prefix that nobody holds is kept, so that
        no others are counted, however the levels turn out.
        """
        return 1 + largest_deviation(self.chances[0], users, self.children(users), self.beta / 2)

    def least_count(self, users: int) -> float:
        r"""The count from which on a value that was kept is named: what the last question counts a value that hardly anyone holds.

        Of at most n values, with probability at least :math:`1 - \beta/2`; of signs, the error of every value's count.
        """
        return largest_deviation(self.chances[1], users, users, self.beta / 2)

    def decoding(self, users: int) -> Decoding:
        """Level by level the children of the prefixes that were kept; then the last question's counts."""
        kept, length, least = np.zeros(1, dtype=np.int64), 0, self.threshold(users)
        for number, question in enumerate(self.questions):
            step = len(question) - length
            parent, child = np.nonzero((yield Children(number, kept, step)) >= least)
            kept, length = kept[parent] << step | child, len(question)
        return (yield from self.counted(kept, self.least_count(users)))


@dataclass(frozen=True, slots=True)
class TreeHistogram(PartitionedSign, _Tree):
    r"""One sign per user: of a public prefix of their value, or of the whole value, told with probability `p`, else its opposite.

    With probability `share` a user is asked for the first l fragments of their value, l public and uniform, else for all of
    it. The server keeps, level by level, the prefixes that are counted at the threshold or above among the children of
    those that it kept, and names what it kept last, with the last question's counts. Except with probability `beta`, every
    value that twice `threshold` and twice `least_count` users hold is named, and none that nobody holds. A view is a row
    ``(i, y)``.

    Examples
    --------
    >>> m = TreeHistogram.for_epsilon(1.0, users=10**6, domain=1 << 64)
    >>> m.levels, round(m.threshold(10**6))
    (8, 62512)
    """

    title = "TreeHist"

    users: int
    domain: int
    width: int
    p: Fraction
    share: Fraction = HALF
    beta: Fraction = BETA
    seed: int = 0
    index: int = 0

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, users: int, domain: int, width: int = 8, share: Number = HALF, beta: Number = BETA, seed: int = 0
    ) -> Self:
        """The most accurate signs that are epsilon-LDP: ``p = e**epsilon / (e**epsilon + 1)``, rounded down."""
        return cls(users, domain, width, odds(epsilon), exact(share), exact(beta), seed)


@dataclass(frozen=True, slots=True)
class SplitTreeHistogram(SplitSigns, _Tree):
    """Two signs per user: of a public prefix of their value with `p`, and of the whole value with `q`, as for two oracles.

    As `TreeHistogram`, but everybody answers the last question too, and epsilon is divided. A view is a row ``(i, y, y')``.

    Examples
    --------
    >>> m = SplitTreeHistogram(users=9, domain=4, width=1, p=Fraction(3, 4), q=Fraction(2, 3))
    >>> first, second = m.apart
    >>> [str(max(p for _, p in m.law(x).items())) for x in (first, second)]
    ['1/2', '1/2']
    """

    variant = "split"
    title = "TreeHist, two signs a user"

    users: int
    domain: int
    width: int
    p: Fraction
    q: Fraction
    beta: Fraction = BETA
    seed: int = 0
    index: int = 0

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, users: int, domain: int, width: int = 8, share: Number = HALF, beta: Number = BETA, seed: int = 0
    ) -> Self:
        """The most accurate signs that are epsilon-LDP together, the prefix's at a share of epsilon, the other at the rest."""
        return cls(users, domain, width, *divided(epsilon, share), exact(beta), seed)


@dataclass(frozen=True, slots=True)
class _Hashed(Counted):
    """What the users of one question told by hashes, each with a function of the user's own."""

    oracle: LocalHashing
    views: NDArray[np.int64]
    share: Fraction
    bits: int

    @property
    def rank(self) -> int:
        return self.bits

    def counts_of(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Unbiased counts of some cells, in time proportional to cells times users."""
        asked = vectors(cells).ravel().tolist()
        support = np.array([np.count_nonzero(self.oracle.supports(self.views, cell)) for cell in asked], dtype=np.float64)
        return self._unbiased(support, len(self.views))

    def added(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """In time proportional to cells times users."""
        support = np.zeros(len(self.views))
        for cell in np.flatnonzero(weights).tolist():
            support += weights[cell] * self.oracle.supports(self.views, cell)
        return self._unbiased(support, weights.sum())

    def most(self, weights: NDArray[np.float64]) -> float:
        """Of answers that name all cells of one sign, and no others."""
        ends = np.array([np.maximum(weights, 0).sum(), np.minimum(weights, 0).sum()])
        return float(np.abs(self._unbiased(ends, weights.sum())).max())

    def _unbiased(self, support: NDArray[np.float64], answers: float) -> NDArray[np.float64]:
        p, other = float(self.oracle.p), float(self.oracle.other)
        return np.asarray((support - answers * other) / ((p - other) * float(self.share)))


class HashedAnswers(Partitioned):
    """A user answers one question by local hashing. A view is ``(i, a, b, y)``.

    Parameters
    ----------
    domain : int
        Number of values, from 2 to 2**30, which the hash functions' prime exceeds.
    g : int
        Number of hash values, at least 2.
    p : Fraction
        Probability of the true hash value, ``1/g < p < 1``.
    """

    g: int
    p: Fraction

    def __post_init__(self) -> None:
        integers(self, domain=(2, 1 << 30), g=(2, 1 << 30))
        probability(self, "p", low=Fraction(1, self.g))
        super().__post_init__()

    @property
    def oracle(self) -> LocalHashing:
        """What is told of a cell: of all of them, since prefixes are numbers below the number of values, too."""
        return LocalHashing(self.g, self.p, 1 << self.bits)

    @property
    def chances(self) -> tuple[Support, Support]:
        """Of each level, and of the last question."""
        p, other = self.p, self.oracle.other
        return Support(p, other, self.share / len(self.questions)), Support(p, other, 1 - self.share)

    @property
    def apart(self) -> tuple[int, int]:
        """Two values of which every prefix differs."""
        return 0, self.domain - 1

    def cells(self, x: ArrayLike, index: ArrayLike) -> NDArray[np.int64]:
        """What users with these values and indices are asked for."""
        lengths = np.array([len(question) for question in (*self.questions, self.whole)])
        return np.asarray(vectors(x) >> (self.bits - lengths)[self.groups(index)])

    def reports(self, x: ArrayLike, index: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        told = self.oracle.reports(self.cells(x, index), rng)
        return np.concatenate([np.asarray(index, dtype=np.int64)[:, None], told], axis=-1)

    def supports(self, views: Views, x: int) -> NDArray[np.bool_]:
        """Whether each view names the hash of what its user would be asked for, were its user's value x."""
        index, *told = np.asarray(views).T
        a, b, y = told
        return np.asarray(self.oracle.hash(a, b, self.cells([x], index)) == y)

    def law(self, x: int) -> Law:
        """Local hashing's law of the cell that the user `index` is asked for."""
        self.require_input(x)
        told = self.oracle.law(int(self.cells([x], np.array([self.index]))[0]))
        views = views_of(self, told.views, *self.oracle.columns)
        return Law(lambda view: told.probability(tuple(view)[1:]), lambda: views, told.size)

    def answers(self, views: Views) -> tuple[Counted, ...]:
        rows = np.asarray(views)
        parts = self._answered(rows[:, 0])
        return tuple(_Hashed(self.oracle, rows[who, 1:], share, len(question)) for question, share, who in parts)


@dataclass(frozen=True, slots=True)
class HashedTreeHistogram(HashedAnswers, _Tree):
    """One answer of local hashing per user: of a public prefix of their value, or of the whole value.

    As `TreeHistogram`, but over another frequency oracle, `LocalHashing`, which is more accurate where epsilon is large, and
    whose server needs time proportional to users for every cell that it counts. A view is a row ``(i, a, b, y)``: the user,
    their own function of local hashing, and what it makes of the prefix, randomized.

    Examples
    --------
    >>> m = HashedTreeHistogram.for_epsilon(4.0, users=10**6, domain=1 << 24)
    >>> m.g, round(m.threshold(10**6)), round(TreeHistogram.for_epsilon(4.0, 10**6, 1 << 24).threshold(10**6))
    (56, 4873, 17971)
    """

    variant = "hashed"
    title = "TreeHist over local hashing"

    users: int
    domain: int
    width: int
    g: int
    p: Fraction
    share: Fraction = HALF
    beta: Fraction = BETA
    seed: int = 0
    index: int = 0

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, users: int, domain: int, width: int = 8, share: Number = HALF, beta: Number = BETA, seed: int = 0
    ) -> Self:
        """Optimal local hashing that is epsilon-LDP: ``g = round(e**epsilon) + 1``, and p rounded down."""
        oracle = LocalHashing.optimal(epsilon, 2)
        return cls(users, domain, width, oracle.g, oracle.p, exact(share), exact(beta), seed)
