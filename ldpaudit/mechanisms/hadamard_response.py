r"""Hadamard response: a uniform column of the Hadamard matrix, more often one where the value's own row is +1.

Acharya, Sun, Zhang 2019.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform
from ldpaudit.mechanisms.shared.parameters import half_open, integer, odds
from ldpaudit.mechanisms.shared.values import KValues
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class HadamardResponse(KValues):
    """A column of the K x K Hadamard matrix: where row ``x + 1`` is +1 with probability `p`, else where it is -1.

    K is the smallest power of two above `k`, because row 0 is constant and serves nobody. Within its half of the
    columns, y is uniform. A view is an int in ``range(K)``.

    Parameters
    ----------
    p : Fraction
        Probability of the half where the row is +1, ``1/2 <= p < 1``.

    Examples
    --------
    >>> m = HadamardResponse(k=2, p=Fraction(3, 4))
    >>> [str(m.law(0).probability(y)) for y in range(m.columns)]
    ['3/8', '1/8', '3/8', '1/8']
    """

    title = "Hadamard response"

    k: int
    p: Fraction

    def __post_init__(self) -> None:
        integer(self, "k", 2, (1 << 62) - 1)  # columns are 64-bit integers
        half_open(self, "p", Fraction(1, 2), "1/2 <= p < 1")

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**epsilon / (e**epsilon + 1)``, rounded down."""
        return cls(k, odds(epsilon))

    @property
    def columns(self) -> int:
        """K, the smallest power of two above `k`."""
        return 1 << self.k.bit_length()

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        row = x + 1
        y = rng.integers(0, self.columns, size)
        wanted = bernoulli(self.p, size, rng)
        # Flipping a bit that the row has maps one half of the columns onto the other, one to one.
        return np.where(self.supports(y, x) == wanted, y, y ^ (row & -row))

    def supports(self, views: Views, x: int) -> NDArray[np.bool_]:
        """Whether row ``x + 1`` is +1 in each view's column."""
        return ~parity(np.asarray(views) & (x + 1))

    def law(self, x: int) -> Law:
        """Law on ``range(K)``: two values."""
        self.require_input(x)
        truth, lie = self.p * 2 / self.columns, (1 - self.p) * 2 / self.columns
        return Law(lambda y: lie if (y & (x + 1)).bit_count() % 2 else truth, lambda: range(self.columns), self.columns)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each value, shape ``(k,)``; in time K log K and memory K.

        Row ``x + 1`` is on average ``2p - 1`` over the views of x, and 0 over those of another value, whose row is
        orthogonal to it.
        """
        rows = transform(np.bincount(views, minlength=self.columns))
        return rows[1 : self.k + 1] / float(2 * self.p - 1)
