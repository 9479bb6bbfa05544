r"""Hashtogram: the sign oracle with columns so few that all answers cost about n: hash, group, transform.

Bassily, Nissim, Stemmer, Thakurta 2017, and the optimizations of Stemmer's talk.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.partitions import Counts
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shared.coins import chunks
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, driven, starts
from ldpaudit.mechanisms.shared.linear_codes.gf2 import BITS, images, independent, span, words
from ldpaudit.mechanisms.shared.linear_codes.hadamard import transform
from ldpaudit.mechanisms.shared.parameters import integer, integers, odds, positive, probability
from ldpaudit.mechanisms.shared.public_questions.public_sign import PublicSign
from ldpaudit.mechanisms.shared.values import CountedEstimate
from ldpaudit.profile import Number

_CHUNK = 1 << 18  # users whose reports `run` holds at a time


@dataclass(frozen=True, slots=True)
class Hashtogram(InParts, CountedEstimate, PublicSign):
    r"""One Hadamard coefficient of the cell that a value is hashed to, told with probability `p`, else its opposite.

    User i belongs to a public group j and to a public column r in ``1..cells-1``, both from the seed and i. Her group
    hashes x to the cell ``h_j(x) = A_j x`` over GF(2), where the public matrix A_j has full rank, and they report the
    sign ``H[h_j(x), r]`` of the Hadamard matrix, randomized. As ``H[A x, r] = (-1)**<A^T r, x>``, that is the sign
    oracle with at most ``cells - 1`` columns a group: so few that their sums fit in a table, whose fast Walsh-Hadamard
    transform answers all queries at once. A view is a row ``(i, y)``.

    Parameters
    ----------
    domain : int
        Number of values, from 2 to 2**62; inputs are ``range(domain)``.
    cells : int
        A power of two, at least 2, and at most that of the values' bits, with which nothing is hashed.
    groups : int
        Number of public groups; the median of their answers is the answer.
    seed : int
        Seed of groups, columns and hash functions.

    Examples
    --------
    >>> m = Hashtogram.for_epsilon(1.0, users=10**6, domain=2**40)
    >>> m.cells, m.groups
    (1024, 25)
    """

    title = "hashtogram"
    sign = "H[h(x), r]"

    users: int
    domain: int
    cells: int
    groups: int
    p: Fraction
    seed: int = 0
    index: int = 0

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << BITS), domain=(2, 1 << BITS))
        integer(self, "cells", 2, 1 << min(self.bits, 31))
        if self.cells & (self.cells - 1):
            raise ValueError(f"Hashtogram needs a power of two cells, got cells={self.cells}")
        integers(self, groups=(1, 1 << 31), seed=0, index=(0, self.users - 1))
        probability(self, "p", low=Fraction(1, 2))

    @classmethod
    def for_epsilon(cls, epsilon: Number, users: int, domain: int, beta: Number = Fraction(1, 20), seed: int = 0) -> Self:
        """About sqrt(users) cells and ``8 ln(1/beta)`` groups, an odd number; the most accurate signs, rounded down.

        Where each group fails a query with probability 1/4, half of these groups do with probability at most `beta`.
        """
        bits = min((max(users, 4) - 1).bit_length() // 2, (domain - 1).bit_length())
        if (chance := positive("beta", beta)) >= 1:
            raise ValueError(f"Hashtogram.for_epsilon needs 0 < beta < 1, got beta={brief(beta)}")
        groups = math.ceil(8 * (math.log(chance.denominator) - math.log(chance.numerator)))
        return cls(users, domain, 1 << bits, max(groups, 1) | 1, odds(epsilon), seed)

    @property
    def collision(self) -> Fraction:
        """Probability, over the matrices of full rank, that two different values share a cell; at most 1/cells."""
        return Fraction((1 << self.bits) // self.cells - 1, (1 << self.bits) - 1)

    def places(self, index: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Users' groups, and their columns in ``1..cells-1``."""
        drawn = words(self.seed, index)
        group = ((drawn >> np.uint64(33)) * np.uint64(self.groups)) >> np.uint64(31)
        column = 1 + (drawn & np.uint64((1 << 33) - 1)) % np.uint64(self.cells - 1)
        return group.astype(np.int64), column.astype(np.int64)

    def columns(self, index: ArrayLike) -> NDArray[np.int64]:
        """Users' vectors ``A_j^T r``: the sign of a value is ``H[h_j(x), r]``."""
        group, column = self.places(index)
        return _spans(self.seed, self.groups, self.cells, self.bits)[group, column]

    def hash(self, group: int, values: ArrayLike) -> NDArray[np.int64]:
        """Cells of values in a group."""
        return images(_matrices(self.seed, self.groups, self.cells, self.bits)[group], values)

    def tally(self, views: Views) -> NDArray[np.int64]:
        """How many reports are of each group, column and sign."""
        index, sign = np.asarray(views).T
        group, column = self.places(index)
        return np.bincount((group * self.cells + column) * 2 + (sign > 0), minlength=2 * self.groups * self.cells)

    def estimate_from_tally(self, tally: NDArray[np.int64]) -> NDArray[np.float64]:
        r"""The table that `query` asks: unbiased counts of each group's users in each cell, ``(groups, cells)``.

        With :math:`\mu = 1/(T-1)`, the T cells' signs agree on average -mu over the columns that are not 0.
        """
        lies, truths = np.moveaxis(tally.reshape(self.groups, self.cells, 2), -1, 0)
        sums = np.stack([transform(row) for row in truths - lies]) / float(2 * self.p - 1)
        mu = 1 / (self.cells - 1)
        users = (truths + lies).sum(axis=1, keepdims=True)
        return np.asarray((sums + mu * users) / (1 + mu))

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' inputs to the table; beyond the data it holds two tables and a chunk of reports.

        Where among the indices the users stand is drawn first.
        """
        values = self._values(data)
        centre = self.centre([len(values)], rng)
        parts = ((part.start, values[part]) for part in chunks(len(values), _CHUNK))
        return np.asarray(driven(centre, lambda asked: self._told(asked[0], parts, rng)))

    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """As `run`, over parts: each counts its users' reports by group, column and sign."""
        self._require_users(sum(users))
        first = int(rng.integers(self.users))
        return self.estimate_from_tally((yield [(first + before) % self.users for before in starts(users)]))

    def answer(self, question: int, part: Counts, rng: np.random.Generator) -> NDArray[np.int64]:
        """The counts of a part's reports, whose first user has this index."""
        numbered = part.numbered()
        self._known(numbered.values)
        return self._told(question, numbered.chunks(_CHUNK), rng)

    def _told(self, first: int, chunks: Iterable[tuple[int, NDArray[Any]]], rng: np.random.Generator) -> NDArray[np.int64]:
        tally = np.zeros(2 * self.groups * self.cells, dtype=np.int64)
        for before, values in chunks:
            index = (first + before + np.arange(len(values))) % self.users
            tally += self.tally(self.reports(values.astype(np.int64), index, rng))
        return tally

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Expected counts of each group's users in each cell, shape ``(groups, cells)``."""
        cells = [np.bincount(self.hash(j, data), minlength=self.cells) for j in range(self.groups)]
        return np.stack(cells) / self.groups

    def query(self, table: NDArray[np.float64], values: ArrayLike) -> NDArray[np.float64]:
        """Estimated counts of any values: the median of the groups' answers, each of which is unbiased.

        ``table`` is what `run` or `estimate` returned.
        """
        asked = np.asarray(values, dtype=np.int64)
        chance = float(self.collision)
        answers = np.empty((self.groups, *asked.shape))
        for j in range(self.groups):
            users = table[j].sum()  # what the others put into a cell by chance is taken off
            answers[j] = self.groups * (table[j][self.hash(j, asked)] - chance * users) / (1 - chance)
        return np.asarray(np.median(answers, axis=0), dtype=np.float64)


@lru_cache(maxsize=16)
def _matrices(seed: int, groups: int, cells: int, bits: int) -> tuple[tuple[int, ...], ...]:
    """Rows of each group's hash matrix. Words of another seed than the users' places."""
    rank = cells.bit_length() - 1
    # So far apart that no group's search for independent vectors runs into the next one's.
    return tuple(tuple(independent(~seed, j << 20, rank, bits)) for j in range(groups))


@lru_cache(maxsize=16)
def _spans(seed: int, groups: int, cells: int, bits: int) -> NDArray[np.int64]:
    """Each group's columns ``A^T r``, shape ``(groups, cells)``."""
    table = np.stack([span(rows) for rows in _matrices(seed, groups, cells, bits)])
    table.flags.writeable = False
    return table
