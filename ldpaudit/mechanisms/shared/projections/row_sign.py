"""What the two Bassily-Smith randomizers share: a uniform row of a column of numbers in [-1, 1], told as a random sign."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Mechanism, Rows
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.parameters import exact
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.profile import Number

Patterns = Counter[tuple[Fraction, Fraction]]
"""In how many rows two columns have each pair of entries."""


class RowSign(Mechanism):
    r"""A view is ``(j, s)``: j uniform among w rows, and s = 1 with probability :math:`(1 + u_j \theta)/2`, else -1.

    u is the input's column, with entries in [-1, 1], and :math:`\theta = 2p - 1`. The input None is the user who is
    absent, or has nothing left to spend: its column is 0, its sign a fair one.
    """

    relations = (REPLACE_ONE, ADD_REMOVE)

    rows: int
    p: Fraction

    @property
    def theta(self) -> Fraction:
        """Mean of the sign that is told of an entry of 1, ``2 p - 1``."""
        return 2 * self.p - 1

    @property
    def scale(self) -> Fraction:
        """c = 1/theta, which is ``(e**epsilon + 1)/(e**epsilon - 1)``."""
        return 1 / self.theta

    @property
    def variance(self) -> Fraction:
        r"""Of :math:`\langle \varphi_v, z \rangle`, where z is the report on the word v itself: ``c**2 - 1``."""
        return self.scale**2 - 1

    @abstractmethod
    def entries(self, x: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Entries of an input's column in some rows."""

    @abstractmethod
    def patterns(self, x: Any, y: Any) -> Patterns:
        """In how many rows the columns of two inputs have each pair of entries: all that tells them apart."""

    def sign_chance(self, entry: Number) -> Fraction:
        """Probability of +1 in a row with this entry."""
        return (1 + exact(entry) * self.theta) / 2

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size, 2)``."""
        self.require_input(x)
        rows = rng.integers(0, self.rows, size)
        return np.stack([rows, self.told(self.entries(x, rows), rng)], axis=-1)

    def told(self, entries: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """A random sign for each entry; exact, a coin of its own probability for each value that an entry takes."""
        values, places = np.unique(entries, return_inverse=True)
        found = np.empty(len(entries), dtype=np.int64)
        for number, value in enumerate(values.tolist()):
            at = np.flatnonzero(places == number)
            found[at] = 2 * bernoulli(self.sign_chance(value), len(at), rng).astype(np.int64) - 1
        return found

    def law(self, x: Any) -> Law:
        """Law on ``2 w`` views; accountants merge rows by `patterns` in its place."""
        self.require_input(x)

        def probability(view: Any) -> Fraction:
            j, s = view
            plus = self.sign_chance(self.entries(x, np.array([j]))[0])
            return (plus if s > 0 else 1 - plus) / self.rows

        return Law(probability, lambda: Rows((range(self.rows), range(-1, 2, 2))), 2 * self.rows)
