"""What the sign oracle and the hashtogram share: one sign of a public column, told with probability p, else its opposite."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Rows
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.linear_codes.gf2 import WIDE, vectors
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity
from ldpaudit.mechanisms.shared.values import BinaryValues


class PublicSign(BinaryValues):
    """User i has a public vector of bits that is not 0; the sign of a value x is ``(-1)**<vector, x>``. A view is ``(i, y)``.

    Parameters
    ----------
    users : int
        Number of users' indices, from 1 to 2**62.
    p : Fraction
        Probability of the true sign, ``1/2 < p < 1``.
    index : int
        The user whose report is viewed; all users have the same privacy.
    """

    core = "sign_oracle"
    names_user = True
    sign: ClassVar[str] = "the sign of x"
    """How formulas write it."""

    users: int
    domain: int
    p: Fraction
    seed: int
    index: int

    @property
    def coins(self) -> tuple[Fraction, ...]:
        """Probability of the true sign."""
        return (self.p,)

    @abstractmethod
    def columns(self, index: ArrayLike) -> NDArray[np.int64]:
        """The public vectors of users, as numbers above 0."""

    @property
    def apart(self) -> tuple[int, int]:
        """Two values with opposite signs in the viewed user's column: 0, and a power of two; every column has such."""
        column = int(self.columns(np.array([self.index]))[0])
        return 0, (column & -column) % (1 << WIDE)

    def signs(self, x: ArrayLike, index: ArrayLike) -> NDArray[np.int64]:
        """Signs, +1 or -1, of values in users' columns, for values and indices that broadcast."""
        negative = parity(self.columns(index) & vectors(x))
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
        self.require_input(x)
        truth = (self.index, int(self.signs(x, np.array([self.index]))[0]))
        views = views_of(self, lambda: ((1,), (-1,)), range(-1, 2, 2))
        return Law(lambda view: self.p if tuple(view) == truth else 1 - self.p, lambda: views, 2)

    def _values(self, data: ArrayLike) -> NDArray[np.int64]:
        """Users' values, checked."""
        self._require_users(len(np.asarray(data)))
        return self._known(np.asarray(data))

    def _require_users(self, users: int) -> None:
        if not 1 <= users <= self.users:
            raise ValueError(f"{type(self).__name__} needs 1 to users={self.users} users, got {users}")

    def _known(self, values: NDArray[Any]) -> NDArray[np.int64]:
        name = type(self).__name__
        if values.min() < 0 or values.max() >= self.domain:
            raise ValueError(f"{name} needs inputs in range({self.domain}), got {values.min()} to {values.max()}")
        return values


def views_of(m: Any, told: Callable[[], Iterable[tuple[int, ...]]], *columns: range) -> Rows:
    """Rows of the viewed user's index and what is told, in these ranges."""
    views = (range(m.users), *columns)
    return Rows(views, lambda rows: rows[:, 0] == m.index, lambda: ((m.index, *each) for each in told()))
