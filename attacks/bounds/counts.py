"""What every test sees, right and wrong guesses, and what every test is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Counts:
    """Right and wrong guesses among so many views."""

    right: int = 0
    wrong: int = 0
    trials: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.right + other.right, self.wrong + other.wrong, self.trials + other.trials)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.right - other.right, self.wrong - other.wrong, self.trials - other.trials)


class LevelTest(Protocol):
    """A test of (epsilon, delta)-privacy that grows laxer with epsilon, so that it inverts to a bound."""

    def epsilon_lower(self, counts: Counts) -> float:
        """Lower confidence bound on epsilon, in nats; 0 where the guesses are no better than chance."""

    def p_value(self, counts: Counts, epsilon: float) -> float:
        """Probability, at most, of counts like these where epsilon is so large; at most 1."""

    def refutes(self, counts: Counts, epsilon: float) -> bool:
        """Whether the bound exceeds epsilon."""


def logit_share(epsilon: ArrayLike, inputs: int) -> NDArray[np.float64]:
    """Log-odds of the largest probability of a right guess: ``epsilon - log(k - 1)``."""
    return np.asarray(epsilon, dtype=np.float64) - math.log(inputs - 1)
