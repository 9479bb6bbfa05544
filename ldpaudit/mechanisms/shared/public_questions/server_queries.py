"""What a server wants to know of the answers to public questions: counts, which are sums over those who answered."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanisms.shared.linear_codes.gf2 import vectors
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform

Question: TypeAlias = tuple[int, ...]
"""Rows of a matrix over GF(2), linearly independent: bit t of a value's cell is its product with row t."""

_BLOCK = 1 << 22  # signs that are computed at a time


class Counted(ABC):
    """What the users of one question told, to whatever oracle: unbiased counts, among all users, of the question's cells.

    Sums over those who answered: what two groups of them told adds up.
    """

    __slots__ = ()

    share: Fraction

    @property
    @abstractmethod
    def rank(self) -> int:
        """Bits of a cell."""

    @abstractmethod
    def counts_of(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Of some cells."""

    def counts(self) -> NDArray[np.float64]:
        """Of every cell, shape ``(2**rank,)``."""
        return self.counts_of(np.arange(1 << self.rank))

    def children(self, prefix: np.int64, step: int) -> NDArray[np.float64]:
        """Of the cells whose upper bits are the prefix, by the `step` others."""
        return self.counts_of(prefix << step | np.arange(1 << step))

    @abstractmethod
    def added(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each answer adds to the sum of all cells' counts, so weighted."""

    @abstractmethod
    def most(self, weights: NDArray[np.float64]) -> float:
        """The largest size of what any answer may add."""

    def moments(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Second, third and fourth moment of what an answer adds, by its user's cell; None where their law is too large."""
        return None


@dataclass(frozen=True, slots=True)
class Answers(Counted):
    """What the users of one question told by signs, each by the public vector r, `columns`.

    `p` is the probability of the true sign, `share` that with which a user is asked this.
    """

    question: Question
    columns: NDArray[np.int64]
    signs: NDArray[np.int64]
    p: Fraction
    share: Fraction

    @property
    def rank(self) -> int:
        return len(self.question)

    def counts(self) -> NDArray[np.float64]:
        """Unbiased counts, among all users, of every cell, shape ``(2**rank,)``: one fast Walsh-Hadamard transform."""
        return self.counts_from(self.sums())

    def sums(self) -> NDArray[np.float64]:
        """The sums of signs by vectors, and last the number of users: these add up, and are counts after one transform."""
        return np.append(np.bincount(self.columns, weights=self.signs, minlength=1 << self.rank), len(self.signs))

    def counts_from(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Counts of every cell from anybody's `sums`."""
        return self.unbiased(transform(sums[:-1]), sums[-1])

    def counts_of(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Unbiased counts of some cells, in time proportional to cells times users."""
        asked = vectors(cells).ravel()
        sums = np.zeros(asked.size)
        block = max(1, _BLOCK // max(1, len(self.columns)))
        for start in range(0, asked.size, block):
            part = slice(start, start + block)
            negative = parity(asked[part, None] & self.columns)
            sums[part] = self.signs.sum() - 2 * (negative @ self.signs.astype(np.float64))
        return self.unbiased(sums, len(self.signs))

    def children(self, prefix: np.int64, step: int) -> NDArray[np.float64]:
        """As of any oracle; in time proportional to users, by a transform of the vectors' lower bits."""
        # A child's sign is the parent's, from the vector's upper bits, times that of the others.
        signs = np.where(parity(self.columns & (prefix << step)), -self.signs, self.signs)
        lower = self.columns & ((1 << step) - 1)
        return self.unbiased(transform(np.bincount(lower, weights=signs, minlength=1 << step)), len(self.signs))

    def added(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """By a transform of the weights."""
        return self.unbiased(self.signs * transform(weights)[self.columns], weights.sum())

    def most(self, weights: NDArray[np.float64]) -> float:
        """Of all vectors and signs."""
        sums = transform(weights)[1:]
        return float(np.abs(self.unbiased(np.stack([sums, -sums]), weights.sum())).max())

    def moments(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Over all vectors, by transforms of what the two signs make of each."""
        sums = transform(weights)
        ends = self.unbiased(np.stack([sums, -sums]), weights.sum())
        ends[:, 0], found = 0, []  # no vector is 0
        for power in (2, 3, 4):
            plus, minus = ends**power
            mean = ((plus + minus).sum() + float(2 * self.p - 1) * transform(plus - minus)) / 2
            found.append(mean / ((1 << self.rank) - 1))
        return np.stack(found)

    def unbiased(self, sums: NDArray[np.float64], users: float) -> NDArray[np.float64]:
        r"""From :math:`S = \sum_i y_i (-1)^{\langle r_i, cell \rangle}` to counts.

        .. math:: \hat f = \frac{1}{\rho (1+\mu)} \Bigl( \frac{S}{2p-1} + \mu\, m \Bigr), \qquad \mu = \frac{1}{2^{rank} - 1}

        of the m users who answered, a share :math:`\rho` of all: over the vectors that are not 0 the signs of two cells agree on
        average :math:`-\mu`.
        """
        mu = 1 / ((1 << self.rank) - 1)
        return np.asarray((sums / float(2 * self.p - 1) + mu * users) / (float(self.share) * (1 + mu)))


class Ask(ABC):
    """Counts that a server wants of some questions, given by number. In a run no question's counts are wanted twice."""

    __slots__ = ()

    @property
    @abstractmethod
    def questions(self) -> tuple[int, ...]:
        """Whose answers are needed."""

    @abstractmethod
    def of(self, answers: Sequence[Any]) -> NDArray[np.float64]:
        """The counts, of what was told question by question."""

    def sums(self, answers: Sequence[Any]) -> NDArray[np.float64]:
        """What adds up over groups of users, of what one of them told."""
        return self.of(answers)

    def counts_from(self, sums: NDArray[np.float64], nobody: Sequence[Any]) -> NDArray[np.float64]:
        """The counts, of the groups' sums; and of what nobody told, which says how questions are put."""
        return sums


@dataclass(frozen=True, slots=True)
class Tables(Ask):
    """Every cell of some questions, a table after the other."""

    questions: tuple[int, ...]

    def of(self, answers: Sequence[Answers]) -> NDArray[np.float64]:
        """The tables in one row."""
        return self.counts_from(self.sums(answers), answers)

    def sums(self, answers: Sequence[Answers]) -> NDArray[np.float64]:
        """Of each question before the transform, which is for whoever has all sums."""
        return np.concatenate([answers[question].sums() for question in self.questions])

    def counts_from(self, sums: NDArray[np.float64], nobody: Sequence[Answers]) -> NDArray[np.float64]:
        """A transform of each question's sums."""
        asked = [nobody[question] for question in self.questions]
        each = np.split(sums, np.cumsum([(1 << one.rank) + 1 for one in asked])[:-1])
        return np.concatenate([one.counts_from(part) for one, part in zip(asked, each, strict=True)])


class _OneQuestion(Ask):
    """Counts of one question's cells."""

    __slots__ = ()

    question: int

    @property
    def questions(self) -> tuple[int]:
        """The one."""
        return (self.question,)


@dataclass(frozen=True, slots=True)
class Cells(_OneQuestion):
    """Some cells of a question."""

    question: int
    cells: NDArray[np.int64]

    def of(self, answers: Sequence[Counted]) -> NDArray[np.float64]:
        """In their order."""
        return answers[self.question].counts_of(self.cells)


@dataclass(frozen=True, slots=True)
class Children(_OneQuestion):
    """The cells of a question whose upper bits are one of some prefixes, by the `step` others."""

    question: int
    prefixes: NDArray[np.int64]
    step: int

    def of(self, answers: Sequence[Counted]) -> NDArray[np.float64]:
        """Shape ``(prefixes, 2**step)``."""
        found = [answers[self.question].children(prefix, self.step) for prefix in self.prefixes]
        return np.stack(found) if found else np.zeros((0, 1 << self.step))


Decoding: TypeAlias = Generator[Ask, NDArray[np.float64], dict[int, float]]
"""A server: it asks for counts, is sent them, and returns the values that it names with their counts, by falling count."""
