r"""The sign oracle: each user reports one randomized sign, of her value in her own column of a public matrix.

Stemmer's talk on Bassily, Nissim, Stemmer, Thakurta 2017 and Bun, Nelson, Stemmer 2018; Bassily, Smith 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms._gf2 import BITS, nonzero
from ldpaudit.mechanisms._hadamard import parity
from ldpaudit.mechanisms._parameters import Number, exact, integer, odds, probability
from ldpaudit.mechanisms._sampling import bernoulli

_BLOCK = 1 << 20
"""Signs that `query` computes at a time."""
_LISTED = 1 << 24
"""Most values of which `estimate` lists all counts."""


@dataclass(frozen=True, slots=True)
class SignOracle(Mechanism):
    r"""The sign ``Z[x, i]`` of user i's value x, told with probability `p`, else the opposite one.

    ``Z[x, i] = (-1)**<r_i, x>``, where the public vector r_i is not 0, has as many bits as a value needs, and comes
    from the seed and i when it is asked for: no row of Z is ever stored. Over a uniform r_i, two values' signs agree on
    average :math:`-\mu`, ``mu = 1/(2**bits - 1)``. A view is a row ``(i, y)``; whose, is public too.

    Parameters
    ----------
    users : int
        Number of users' indices, at least 1.
    domain : int
        Number of values, from 2 to 2**62; inputs are ``range(domain)``. With 2 this is the talk's warm-up.
    p : Fraction
        Probability of the true sign, ``1/2 < p < 1``.
    seed : int
        Of the public matrix.
    index : int
        The user whose report a view is. Each user's column takes both signs, so none is more exposed than another.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

    Examples
    --------
    >>> m = SignOracle(users=5, domain=2, p=Fraction(3, 4))
    >>> m.law(0).probability((0, 1)), m.law(1).probability((0, 1))
    (Fraction(3, 4), Fraction(1, 4))
    """

    title = "sign oracle"

    users: int
    domain: int
    p: Fraction
    seed: int = 0
    index: int = 0

    def __post_init__(self) -> None:
        users = integer(self, "users", 1, 1 << BITS)
        integer(self, "domain", 2, 1 << BITS)
        integer(self, "seed", 0)
        integer(self, "index", 0, users - 1)
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
    def inputs(self) -> range:
        """The values."""
        return range(self.domain)

    @property
    def bits(self) -> int:
        """Length of the vectors r_i."""
        return (self.domain - 1).bit_length()

    @property
    def agreement(self) -> Fraction:
        """Average product of two different values' signs, over the vectors that are not 0: ``-mu``."""
        return Fraction(-1, (1 << self.bits) - 1)

    @property
    def apart(self) -> tuple[int, int]:
        """Two values with opposite signs in the viewed user's column: 0, and a power of two; every column has such."""
        column = int(nonzero(self.seed, self.index, self.bits))
        return 0, column & -column

    def signs(self, x: ArrayLike, index: ArrayLike) -> NDArray[np.int64]:
        """Entries of Z, +1 or -1, for values and users' indices that broadcast."""
        negative = parity(nonzero(self.seed, index, self.bits) & np.asarray(x, dtype=np.int64))
        return 1 - 2 * negative.astype(np.int64)

    def reports(self, x: ArrayLike, index: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size, 2)``, one of each user given by value and index."""
        truth = self.signs(x, index)
        told = 2 * bernoulli(self.p, truth.shape, rng).astype(np.int64) - 1
        return np.stack(np.broadcast_arrays(np.asarray(index, dtype=np.int64), truth * told), axis=-1)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size, 2)``, of the user `index`."""
        self.require_input(x)
        return self.reports(x, np.full(size, self.index), rng)

    def law(self, x: int) -> Law:
        """Law on the two signs of the user `index`."""
        self.require_input(x)
        truth = (self.index, int(self.signs(x, self.index)))
        views = [(self.index, 1), (self.index, -1)]
        return Law(lambda view: self.p if tuple(view) == truth else 1 - self.p, lambda: views, 2)

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
        mu = -float(self.agreement)
        estimates: NDArray[np.float64] = (sums / float(2 * self.p - 1) + mu * len(y)) / (1 + mu)
        return estimates.reshape(asked.shape)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated count of each value, shape ``(domain,)``; see `query`, which can be asked about a few."""
        if self.domain > _LISTED:
            raise Unsupported(self, f"estimates of more than {_LISTED} values are not listed; query some")
        return self.query(views, np.arange(self.domain))

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' inputs to estimates. Where in the matrix the users stand is drawn first."""
        return self.estimate(self.collect(data, rng))

    def collect(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """One view of each user, shape ``(len(data), 2)``: what `query` asks."""
        values = np.asarray(data, dtype=np.int64)
        if not 1 <= len(values) <= self.users:
            raise ValueError(f"SignOracle needs 1 to users={self.users} users, got {len(values)}")
        if values.min() < 0 or values.max() >= self.domain:
            raise ValueError(f"SignOracle needs inputs in range({self.domain}), got {values.min()} to {values.max()}")
        index = (int(rng.integers(self.users)) + np.arange(len(values))) % self.users
        return self.reports(values, index, rng)
