r"""Unary encoding: a one-hot vector of k bits, each reported by a coin of its own.

Erlingsson, Pihur, Korolova 2014 (one-time basic RAPPOR); Wang, Blocki, Li, Jha 2017 (symmetric and optimized).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms._bits import product_law
from ldpaudit.mechanisms._parameters import exact, integer, odds, probability
from ldpaudit.mechanisms._sampling import bernoulli
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class UnaryEncoding(Mechanism):
    """Bit x is reported as 1 with probability `p`, each of the ``k - 1`` others with probability `q`.

    A view is a row of `k` bits. An absent user, the input None, is the all-zero vector: one bit differs from a value's
    vector, where two values' vectors differ in two.

    Parameters
    ----------
    k : int
        Number of values, at least 2; inputs are ``range(k)``.
    p : Fraction
        P[report 1 | bit 1].
    q : Fraction
        P[report 1 | bit 0], ``0 < q < p < 1``.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

    Examples
    --------
    >>> m = UnaryEncoding(k=3, p=Fraction(1, 2), q=Fraction(1, 4))
    >>> m.law(0).probability((1, 0, 1)), m.law(None).probability((1, 0, 1))
    (Fraction(3, 32), Fraction(3, 64))
    """

    title = "unary encoding"
    relations = (REPLACE_ONE, ADD_REMOVE)

    k: int
    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        integer(self, "k", 2)
        probability(self, "q", high=probability(self, "p"))

    @classmethod
    def symmetric(cls, epsilon: Number, k: int) -> Self:
        """SUE: bits 0 and 1 equally noisy, ``p = 1 - q = e**(epsilon/2) / (1 + e**(epsilon/2))``, rounded down."""
        p = odds(epsilon, scale=Fraction(1, 2))
        return cls(k, p, 1 - p)

    @classmethod
    def optimized(cls, epsilon: Number, k: int) -> Self:
        """OUE: the zeros as quiet as epsilon allows, ``p = 1/2`` and ``q = 1 / (1 + e**epsilon)``, rounded up."""
        return cls(k, Fraction(1, 2), 1 - odds(epsilon))

    @classmethod
    def flips(cls, rho: Number, k: int) -> Self:
        """Every bit is flipped with probability `rho`, below 1/2."""
        return cls(k, 1 - exact(rho), exact(rho))

    @property
    def inputs(self) -> range:
        """The values."""
        return range(self.k)

    def sample(self, x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Views, shape ``(size, k)``."""
        self.require_input(x)
        bits = bernoulli(self.q, (size, self.k), rng).view(np.int8)
        if x is not None:
            bits[:, x] = bernoulli(self.p, size, rng)
        return bits

    def law(self, x: int | None) -> Law:
        """Law on rows of `k` bits."""
        self.require_input(x)
        one, zero = (1 - self.p, self.p), (1 - self.q, self.q)
        return product_law([one if bit == x else zero for bit in range(self.k)])

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each value, shape ``(k,)``."""
        ones: NDArray[np.float64] = np.asarray(views).sum(axis=0, dtype=np.float64)
        return (ones - len(views) * float(self.q)) / float(self.p - self.q)
