r"""Bitstogram: the values that many hold, spelled out symbol by symbol in the buckets of hash functions.

Bassily, Nissim, Stemmer, Thakurta 2017, of which Stemmer's talk says that it exists, and what it is built on: the one-bit
oracle, hashing into few cells, and the transform. The published system encodes a value by an error-correcting code, so that
part of its bits may be wrong; here every symbol of a good bucket is right, by the choice of the constants, which are a
construction of this project, as are the symbols of several bits and the last question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Self

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_down
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, independent, rank
from ldpaudit.mechanisms.shared.parameters import ball, exact, integer, integers, odds, probability
from ldpaudit.mechanisms.shared.public_questions.deviation import BETA, HALF, bernstein, largest_deviation
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, PartitionedSign, SplitSigns, divided
from ldpaudit.mechanisms.shared.public_questions.server_queries import Decoding, Question, Tables
from ldpaudit.profile import Number

_WIDEST = 24  # bits of a cell at most: a hash value and a symbol
_MOST_ROWS = 1 << 12


class _Spelled(Asked):
    """Question (r, l) asks for the r-th hash of the value together with its symbol l, of `width` bits.

    Parameters
    ----------
    rows : int
        Number of hash functions, from 1 to 4096.
    cells : int
        Buckets of each hash function, a power of two. A bucket and a symbol together have at most 24 bits, and enough fewer than
        a value that a hash function hardly ever reveals part of a symbol.
    width : int
        Bits of a symbol, at least 1.
    share : Fraction
        Probability that a user is asked for a cell, in (0, 1).
    """

    rows: int
    cells: int
    width: int
    beta: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        integers(self, rows=(1, _MOST_ROWS), width=(1, min(_WIDEST, self.bits)))
        integer(self, "cells", 1, 1 << (_WIDEST - self.width))
        probability(self, "beta")
        if self.cells & (self.cells - 1):
            raise ValueError(f"{type(self).__name__} needs a power of two cells, got cells={self.cells}")
        if self.redrawn > Fraction(1, 2):
            found = f"cells={self.cells} and width={self.width} with {self.bits} bits"
            raise ValueError(f"{type(self).__name__} needs hashes and symbols of fewer bits than a value, got {found}")

    @property
    def symbols(self) -> tuple[Question, ...]:
        """A value's bits, from the lowest on, `width` at a time; the last symbol may be shorter."""
        whole = self.whole
        return tuple(whole[start : start + self.width] for start in range(0, self.bits, self.width))

    @property
    def hashes(self) -> tuple[Question, ...]:
        """Rows of each hash function's matrix: of full rank, and so that no sum of them is part of a single symbol."""
        return _hashes(self._stream(3), self.rows, self.cells, self.bits, self.symbols)

    @property
    def questions(self) -> tuple[Question, ...]:
        """By hash functions, and by symbols; the lower bits of a cell are the symbol's."""
        return tuple((*symbol, *hashed) for hashed in self.hashes for symbol in self.symbols)

    @property
    def redrawn(self) -> Fraction:
        """At least the probability that a matrix of full rank is drawn again: that a sum of its rows is part of a symbol."""
        parts = sum((1 << len(symbol)) - 1 for symbol in self.symbols)
        return Fraction((self.cells - 1) * parts, (1 << self.bits) - 1)

    @property
    def collision(self) -> Fraction:
        """At least the probability that two different values share a bucket, over the matrices that are kept."""
        full = Fraction((1 << self.bits) // self.cells - 1, (1 << self.bits) - 1)
        return full / (1 - self.redrawn)

    def spelled_from(self, users: int) -> flint.arb:
        r"""The count from which on a value is spelled out right in a good bucket, at the working precision.

        .. math:: \alpha = \tfrac43 BE\Bigl(\frac{2 n c^2}{\rho}, \frac{2c}{\rho}, \ln(8 L 2^w)\Bigr)

        for L symbols, a question being put to a share rho of the users: two cells' counts differ by a sum of terms
        of twice the second moment, and of at most twice the size, of one count's.
        """
        asked = self.chances[0]
        decisions = 8 * len(self.symbols) << self.width
        return 4 * bernstein(2 * users * asked.held, 2 * asked.most, ball(Fraction(decisions)).log()) / 3

    def least_count(self, users: int) -> float:
        r"""The count from which on a value that was spelled out is named: the error of the last question's counts.

        Of at most n values that somebody holds, and of one for each bucket, with probability at least :math:`1 - \beta/2`.
        """
        return largest_deviation(self.chances[1], users, users + self.rows * self.cells, self.beta / 2)

    def decoding(self, users: int) -> Decoding:
        """Each bucket's value, of its symbols that are counted most; then the last question's counts."""
        each, spelled = len(self.symbols), []
        ends = np.cumsum([self.cells << len(symbol) for symbol in self.symbols])[:-1]
        for row, hashed in enumerate(self.hashes):
            tables = yield Tables(tuple(range(row * each, (row + 1) * each)))
            spelled.append(_spelled(hashed, np.split(tables, ends), self.cells))
        return (yield from self.counted(np.concatenate(spelled), self.least_count(users)))

    def _sized(self) -> Self:
        r"""With enough rows and cells that the values that `spelled_from` users hold are found.

        Rows: the least number with :math:`4^{-R} \le \frac{\beta}{2} \frac{\alpha}{n}`. Cells: the least number for which
        two values collide with probability at most :math:`\frac{\alpha}{32 n}`.
        """
        for rows in range(1, _MOST_ROWS):
            m = replace(self, rows=rows)  # type: ignore[type-var]
            with working_precision(128):
                share = Fraction(round_down(m.spelled_from(self.users))) / self.users
            if self.beta / 2 * share * 4**rows >= 1:
                break
        while m.collision > share / 32:
            m = replace(m, cells=2 * m.cells)  # type: ignore[type-var]
        return m


def _spelled(hashed: Question, tables: Sequence[NDArray[np.float64]], cells: int) -> NDArray[np.int64]:
    """The values of a hash function's buckets, of those that lie in their own bucket."""
    found, start = np.zeros(cells, dtype=np.int64), 0
    for each in tables:
        counts = each.reshape(cells, -1)
        found |= counts.argmax(axis=1) << start
        start += counts.shape[1].bit_length() - 1
    return np.asarray(found[images(hashed, found) == np.arange(cells)])


@lru_cache(maxsize=16)
def _hashes(seed: int, rows: int, cells: int, bits: int, symbols: tuple[Question, ...]) -> tuple[Question, ...]:
    """Each the first matrix whose rows are independent of every symbol's: whatever is asked, no user's column is 0."""
    size, found = cells.bit_length() - 1, []
    for row in range(rows):
        # So far apart that no search for independent vectors runs into the next one's.
        drawn = (tuple(independent(seed, (row << 20 | attempt) << 20, size, bits)) for attempt in count())
        found.append(next(m for m in drawn if all(rank((*m, *symbol)) == size + len(symbol) for symbol in symbols)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Bitstogram(PartitionedSign, _Spelled):
    r"""One sign per user: of a hash of their value with one of its symbols, or of all of it, told with probability `p`.

    With probability `share` a user is asked for the cell (r-th hash, l-th symbol) of their value, r and l public and uniform,
    else for the value itself. For every bucket of every hash function the server reads off the symbols that are counted
    most; of the values that these spell, it names those that the last question counts at `least_count` or above. Except
    with probability `beta`, a mechanism of `for_epsilon` names every value that `spelled_from` users, and twice
    `least_count`, hold, and none that nobody holds. A view is a row ``(i, y)``.

    Examples
    --------
    >>> m = Bitstogram.for_epsilon(1.0, users=10**6, domain=1 << 64)
    >>> m.rows, m.cells, round(float(m.spelled_from(10**6)))
    (5, 256, 162283)
    """

    title = "Bitstogram"

    users: int
    domain: int
    rows: int
    cells: int
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
        """The most accurate signs that are epsilon-LDP, rounded down; rows and cells as its guarantee needs for all users."""
        return cls(users, domain, 1, 1, width, odds(epsilon), exact(share), exact(beta), seed)._sized()


@dataclass(frozen=True, slots=True)
class SplitBitstogram(SplitSigns, _Spelled):
    """Two signs per user: of a hash of their value with one of its symbols with `p`, and of all of it with `q`.

    As `Bitstogram`, but everybody answers the last question too, and epsilon is divided. A view is a row ``(i, y, y')``.

    Examples
    --------
    >>> m = SplitBitstogram.for_epsilon(1.0, users=10**6, domain=1 << 64)
    >>> m.rows, m.cells, round(float(m.spelled_from(10**6)))
    (4, 256, 192997)
    """

    variant = "split"
    title = "Bitstogram, two signs a user"

    users: int
    domain: int
    rows: int
    cells: int
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
        """The most accurate signs that are epsilon-LDP together, the cell's at a share of epsilon; else as `Bitstogram`."""
        return cls(users, domain, 1, 1, width, *divided(epsilon, share), exact(beta), seed)._sized()
