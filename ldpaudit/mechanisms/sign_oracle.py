r"""The sign oracle: each user reports one randomized sign, of their value in their own column of a public matrix.

Stemmer's talk on Bassily, Nissim, Stemmer, Thakurta 2017 and Bun, Nelson, Stemmer 2018; Bassily, Smith 2015.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.partitions import Counts
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, starts
from ldpaudit.mechanisms.shared.linear_codes.gf2 import BITS, nonzero
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform
from ldpaudit.mechanisms.shared.parameters import exact, integer, integers, odds, probability
from ldpaudit.mechanisms.shared.public_questions.public_sign import PublicSign
from ldpaudit.profile import Number

_BLOCK = 1 << 20  # signs that `query` computes at a time
_LISTED = 1 << 24  # most values of which `estimate` lists all counts


@dataclass(frozen=True, slots=True)
class SignOracle(InParts, PublicSign):
    r"""The sign ``Z[x, i]`` of user i's value x, told with probability `p`, else the opposite one.

    ``Z[x, i] = (-1)**<r_i, x>``, where the public vector r_i is not 0, has as many bits as a value needs, and comes
    from the seed and i when it is asked for: no row of Z is ever stored. Over a uniform r_i, two values' signs agree on
    average :math:`-\mu`, ``mu = 1/(2**bits - 1)``. A view is a row ``(i, y)``; whose, is public too, so that no shuffler hides it:
    where one is to help, users draw the row themselves, as those of `ProjectedBassilySmith` do.

    Parameters
    ----------
    domain : int
        Number of values, from 2 to 2**62; inputs are ``range(domain)``. With 2 this is the talk's warm-up.
    seed : int
        Seed of the public matrix.
    eta : Number
        Probability of the true sign minus 1/2, ``0 < eta < 1/2``.

    Examples
    --------
    >>> m = SignOracle(users=5, domain=2, p=Fraction(3, 4))
    >>> m.law(0).probability((0, 1)), m.law(1).probability((0, 1))
    (Fraction(3, 4), Fraction(1, 4))
    """

    title = "sign oracle"
    sign = "Z[x, i]"

    users: int
    domain: int
    p: Fraction
    seed: int = 0
    index: int = 0

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << BITS), domain=(2, 1 << BITS), seed=0)
        integer(self, "index", 0, self.users - 1)
        probability(self, "p", low=Fraction(1, 2))

    @classmethod
    def for_epsilon(cls, epsilon: Number, users: int, domain: int, seed: int = 0) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**epsilon / (e**epsilon + 1)``, rounded down."""
        return cls(users, domain, odds(epsilon), seed)

    @classmethod
    def with_bias(cls, eta: Number, users: int, domain: int, seed: int = 0) -> Self:
        """The true sign with probability ``1/2 + eta``, as the talk has it."""
        return cls(users, domain, Fraction(1, 2) + exact(eta), seed)

    @classmethod
    def warm_up(cls, eta: Number, users: int) -> Self:
        """The talk's warm-up: one bit, told with probability ``1/2 + eta``."""
        return cls.with_bias(eta, users, 2)

    @property
    def agreement(self) -> Fraction:
        """Average product of two different values' signs, over the vectors that are not 0: ``-mu``."""
        return Fraction(-1, (1 << self.bits) - 1)

    def columns(self, index: ArrayLike) -> NDArray[np.int64]:
        """Users' vectors r_i: the sign of a value is the entry Z[x, i]."""
        return nonzero(self.seed, index, self.bits)

    def query(self, views: Views, values: ArrayLike) -> NDArray[np.float64]:
        r"""Estimated counts of any values, in time ``len(views)`` each.

        .. math:: \hat f(x) = \frac{1}{1+\mu} \Bigl( \mu n + \frac{1}{2p-1} \sum_i y_i Z[x, i] \Bigr)

        Unbiased over the public matrix: of the n users, those with x contribute 1 each, the others on average -mu. For
        ``domain = 2`` it is the warm-up's ``(2 eta n + sum y_i) / (4 eta)``; for a large one mu is nothing.
        """
        index, y = np.asarray(views).T
        asked = np.asarray(values, dtype=np.int64)
        sums = np.zeros(asked.size)
        block = max(1, _BLOCK // max(1, len(y)))
        for start in range(0, asked.size, block):
            part = slice(start, start + block)
            sums[part] = self.signs(asked.ravel()[part, None], index) @ y
        return self._unbiased(sums, len(y)).reshape(asked.shape)

    def _unbiased(self, sums: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        mu = -float(self.agreement)
        return np.asarray((sums / float(2 * self.p - 1) + mu * users) / (1 + mu), dtype=np.float64)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated count of each value, shape ``(domain,)``, by one transform; see `query`, which can be asked about a few."""
        self._require_listed()
        index, y = np.asarray(views).T
        sums = np.bincount(self.columns(index), weights=y, minlength=1 << self.bits)
        return self._unbiased(transform(sums)[: self.domain], len(y))

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' inputs to estimates. Where in the matrix the users stand is drawn first."""
        return self.estimate(self.collect(data, rng))

    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """As `run`, over parts: each adds its users' signs by their columns, which one transform turns into counts.

        Raises Unsupported where there are more than 2**24 values.
        """
        self._require_users(sum(users))
        self._require_listed()
        first = int(rng.integers(self.users))
        sums = yield [(first + before) % self.users for before in starts(users)]
        return self._unbiased(transform(sums.astype(np.float64))[: self.domain], sum(users))

    def answer(self, question: int, part: Counts, rng: np.random.Generator) -> NDArray[np.int64]:
        """The sums of a part's signs, by columns; its first user has this index."""
        numbered = part.numbered()
        self._known(numbered.values)
        sums = np.zeros(1 << self.bits)
        for before, values in numbered.chunks(_BLOCK):
            index = (question + before + np.arange(len(values))) % self.users
            told = self.reports(values.astype(np.int64), index, rng)[:, 1]
            sums += np.bincount(self.columns(index), weights=told, minlength=1 << self.bits)
        return sums.astype(np.int64)

    def _require_listed(self) -> None:
        if self.domain > _LISTED:
            raise Unsupported(self, f"estimates of more than {_LISTED} values are not listed; query some")

    def run_with_random_columns(self, counts: Mapping[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`, for vectors that are uniform, in place of the seed's: from how many users hold each value.

        How many holders have each vector is drawn, then how many of these tell the truth; one transform asks for all values.
        So a hundred million users take no longer than a thousand.

        Raises ValueError for what is no value, and for more than `users` users; Unsupported where there are more than 2**24
        values.
        """
        self._require_listed()
        if not 1 <= (users := sum(counts.values())) <= self.users:
            raise ValueError(f"SignOracle needs 1 to users={self.users} users, got {users}")
        vectors = np.arange(1, 1 << self.bits)
        sums = np.zeros(1 << self.bits)
        for x, holders in counts.items():
            self.require_input(x)
            often = rng.multinomial(holders, np.full(len(vectors), 1 / len(vectors)))
            sums[1:] += (1 - 2 * parity(vectors & x)) * (2 * rng.binomial(often, float(self.p)) - often)
        return self._unbiased(transform(sums)[: self.domain], users)

    def collect(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """One view of each user, shape ``(len(data), 2)``: what `query` asks."""
        values = self._values(data).astype(np.int64)
        index = (int(rng.integers(self.users)) + np.arange(len(values))) % self.users
        return self.reports(values, index, rng)
