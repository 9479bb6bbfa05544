r"""TreeHist: the values that many hold, found prefix by prefix, because a prefix of a frequent value is frequent.

Bassily, Nissim, Stemmer, Thakurta 2017, of which Stemmer's talk says that it exists, and what it is built on: the one-bit
oracle and its transform. How users are divided, the threshold and the last question below are a construction of this
project, with constants that are proved; public implementations divide users in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms._deviation import largest_deviation
from ldpaudit.mechanisms._hadamard import parity, transform
from ldpaudit.mechanisms._parameters import exact, integer, odds, probability
from ldpaudit.mechanisms._questions import Answers, Asked, PartitionedSign, Question, SplitSigns, divided
from ldpaudit.profile import Number

_WIDEST = 24
"""Bits by which a prefix grows at most: the children of one prefix are counted in one table."""


class _Tree(Asked):
    """Question number l asks for the first l fragments of the value, of `width` bits each."""

    width: int
    beta: Fraction

    def _check(self) -> None:
        super()._check()
        integer(self, "width", 1, _WIDEST)
        probability(self, "beta")

    @property
    def levels(self) -> int:
        """Number of fragments; the last one may be shorter."""
        return -(-self.bits // self.width)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The leading bits of a value, by levels."""
        lengths = (min(level * self.width, self.bits) for level in range(1, self.levels + 1))
        return tuple(self.whole[self.bits - length :] for length in lengths)

    def children(self, users: int) -> int:
        r"""Most children of prefixes that somebody holds, :math:`2^w n G`: no others are counted where no count is far off."""
        return users * self.levels << self.width

    def threshold(self, users: int) -> float:
        r"""The count from which on a prefix is kept: one more than any of `children` is wrong by.

        With probability at least :math:`1 - \beta/2` none is wrong by more; then no prefix that nobody holds is kept, so that no
        others are counted, however the levels turn out.
        """
        return 1 + largest_deviation(self.chances[0], users, self.children(users), self.beta / 2)

    def least_count(self, users: int) -> float:
        r"""The count from which on a prefix that was kept is named: the error of the last question's counts.

        Of at most n values that somebody holds, with probability at least :math:`1 - \beta/2`.
        """
        return largest_deviation(self.chances[1], users, users, self.beta / 2)

    def decode(self, answers: Sequence[Answers], users: int) -> dict[int, float]:
        """Level by level the children of the prefixes that were kept; then the last question's counts."""
        *levels, whole = answers
        return self.counted(whole, self._kept(levels, self.threshold(users)), self.least_count(users))

    def _kept(self, levels: Sequence[Answers], least: float) -> NDArray[np.int64]:
        """The whole values that are kept."""
        kept, length = np.zeros(1, dtype=np.int64), 0
        for level in levels:
            step = level.rank - length
            found = [prefix << step | np.flatnonzero(_children(level, prefix, step) >= least) for prefix in kept]
            kept, length = np.concatenate([kept[:0], *found]), level.rank
        return kept


def _children(level: Answers, prefix: np.int64, step: int) -> NDArray[np.float64]:
    """Counts of the prefixes that are `step` bits longer, by those bits."""
    # A child's sign is the parent's, from the vector's upper bits, times that of the new bits.
    signs = np.where(parity(level.columns & (prefix << step)), -level.signs, level.signs)
    new = level.columns & ((1 << step) - 1)
    return level.unbiased(transform(np.bincount(new, weights=signs, minlength=1 << step)))


@dataclass(frozen=True, slots=True)
class TreeHistogram(PartitionedSign, _Tree):
    r"""One sign a user: of a public prefix of her value, or of the whole value, told with probability `p`, else its opposite.

    With probability `share` a user is asked for the first l fragments of her value, l public and uniform, else for all of
    it. The server keeps, level by level, the prefixes that are counted at the threshold or above among the children of
    those that it kept, and names what it kept last, with the last question's counts. Except with probability `beta`, every
    value that twice `threshold` and twice `least_count` users hold is named, and none that nobody holds. A view is a row
    ``(i, y)``.

    Parameters
    ----------
    users : int
        Number of users' indices, from 1 to 2**62.
    domain : int
        Number of values, from 2 to 2**64; inputs are ``range(domain)``.
    width : int
        Bits of a fragment, from 1 to 24.
    p : Fraction
        Probability of the true sign, ``1/2 < p < 1``.
    share : Fraction
        Probability that a user is asked for a prefix, in (0, 1).
    beta : Fraction
        Probability with which the server may fail, in (0, 1).
    seed : int
        Of levels and vectors.
    index : int
        The user whose report a view is; none is more exposed than another.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

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
    share: Fraction = Fraction(1, 2)
    beta: Fraction = Fraction(1, 20)
    seed: int = 0
    index: int = 0

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    def for_epsilon(
        cls,
        epsilon: Number,
        users: int,
        domain: int,
        width: int = 8,
        share: Number = Fraction(1, 2),
        beta: Number = Fraction(1, 20),
        seed: int = 0,
    ) -> Self:
        """The most accurate signs that are epsilon-LDP: ``p = e**epsilon / (e**epsilon + 1)``, rounded down."""
        return cls(users, domain, width, odds(epsilon), exact(share), exact(beta), seed)


@dataclass(frozen=True, slots=True)
class SplitTreeHistogram(SplitSigns, _Tree):
    """Two signs a user: of a public prefix of her value with `p`, and of the whole value with `q`, as for two oracles.

    As `TreeHistogram`, but everybody answers the last question too, and epsilon is divided. A view is a row ``(i, y, y')``.

    Parameters
    ----------
    users, domain, width, beta, seed, index
        As for `TreeHistogram`.
    p, q : Fraction
        Probability of the true sign of the prefix, and of the whole value; above 1/2, below 1.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

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
    beta: Fraction = Fraction(1, 20)
    seed: int = 0
    index: int = 0

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    def for_epsilon(
        cls,
        epsilon: Number,
        users: int,
        domain: int,
        width: int = 8,
        share: Number = Fraction(1, 2),
        beta: Number = Fraction(1, 20),
        seed: int = 0,
    ) -> Self:
        """The most accurate signs that are epsilon-LDP together, the prefix's at a share of epsilon, the other at the rest."""
        return cls(users, domain, width, *divided(epsilon, share), exact(beta), seed)
