"""What the Laplace systems share: a value's column of a public matrix, plus Laplace noise on each of its numbers."""

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.enclosure import round_up
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.shared.coins import chunks, laplace_sums
from ldpaudit.mechanisms.shared.values import BinaryValues
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours

_CHUNK = 1 << 22  # noises that `run` draws at a time


class NoisyColumn(Mechanism):
    """A view is a row of floats, column x plus noise. An absent user, the input None, sends noise alone."""

    core = "laplace"
    relations = (REPLACE_ONE, ADD_REMOVE)

    scale: Fraction

    @abstractmethod
    def column(self, x: int | None) -> NDArray[np.float64]:
        """What a user's view is noise on, shape ``(coordinates,)``; zeros for an absent user."""

    @abstractmethod
    def pairs(self, neighbours: Neighbours) -> tuple[tuple[int, int | None], ...]:
        """Neighbours whose columns are far apart, those at the largest squared distance first."""

    @property
    @abstractmethod
    def coordinates(self) -> int:
        """Numbers in a view."""

    @property
    def view_length(self) -> int:
        return self.coordinates

    def sample(self, x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        self.require_input(x)
        return rng.laplace(0.0, round_up(self.scale), (size, self.coordinates)) + self.column(x)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased estimate of the sum of the users' columns, shape ``(coordinates,)``."""
        return np.asarray(np.sum(views, axis=0), dtype=np.float64)


class HashedColumn(BinaryValues, NoisyColumn):
    """Columns are computed from the bits of a value."""

    def _noise(self, users: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The sum of all users' noises, by its law: Laplace noises sum to a difference of two Gammas."""
        return laplace_sums(users, self.coordinates, round_up(self.scale), rng)

    def _noised(self, total: NDArray[np.float64], users: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """A sum with every user's noise drawn and added, a few million floats at a time."""
        for part in chunks(users, _CHUNK // self.coordinates):
            total += rng.laplace(0.0, round_up(self.scale), (part.stop - part.start, self.coordinates)).sum(axis=0)
        return total
