r"""Randomized response: tell the truth with probability p, else any other value.

Warner 1965 (k = 2); Kairouz, Oh, Viswanath 2014 (k-ary).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms._parameters import exact, integer, odds
from ldpaudit.mechanisms._sampling import bernoulli
from ldpaudit.number import brief
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class KaryRandomizedResponse(Mechanism):
    """The true value with probability `p`, and each of the ``k - 1`` others with probability ``(1 - p)/(k - 1)``.

    A view is an int in ``range(k)``.

    Parameters
    ----------
    k : int
        Number of values, at least 2; inputs are ``range(k)``.
    p : Fraction
        Probability of the truth, ``1/k <= p < 1``.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

    Examples
    --------
    >>> m = KaryRandomizedResponse(k=4, p=Fraction(1, 2))
    >>> m.law(0).probability(3)
    Fraction(1, 6)
    """

    title = "k-ary randomized response"

    k: int
    p: Fraction

    def __post_init__(self) -> None:
        k = integer(self, "k", 2)
        object.__setattr__(self, "p", exact(self.p))
        if not Fraction(1, k) <= self.p < 1:
            raise ValueError(f"KaryRandomizedResponse needs 1/k <= p < 1, got p={brief(self.p)} with k={k}")

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**epsilon / (e**epsilon + k - 1)``, rounded down."""
        return cls(k, odds(epsilon, k - 1))

    @classmethod
    def with_uniform_draw(cls, rho: Number, k: int) -> Self:
        """Replace the value, with probability `rho`, by a uniform draw from all `k`, itself included."""
        if k < 2:
            raise ValueError(f"KaryRandomizedResponse needs k >= 2, got k={k}")
        return cls(k, 1 - exact(rho) + exact(rho) / k)

    @property
    def inputs(self) -> range:
        """The values."""
        return range(self.k)

    @property
    def lie(self) -> Fraction:
        """Probability of each single other value."""
        return (1 - self.p) / (self.k - 1)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size,)``."""
        self.require_input(x)
        other = rng.integers(0, self.k - 1, size)
        other += other >= x
        return np.where(bernoulli(self.p, size, rng), x, other)

    def law(self, x: int) -> Law:
        """Law on ``range(k)``."""
        self.require_input(x)
        return Law(lambda y: self.p if y == x else self.lie, lambda: range(self.k), self.k)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each value, shape ``(k,)``."""
        counts: NDArray[np.float64] = np.bincount(views, minlength=self.k).astype(np.float64)
        return (counts - len(views) * float(self.lie)) / float(self.p - self.lie)
