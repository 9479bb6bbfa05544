"""What every test sees, right and wrong guesses, and what every test is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Counts:
    """Right and wrong guesses, and the number of views, abstentions included."""

    right: int = 0
    wrong: int = 0
    trials: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.right + other.right, self.wrong + other.wrong, self.trials + other.trials)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.right - other.right, self.wrong - other.wrong, self.trials - other.trials)


class LevelTest(ABC):
    """A test of (epsilon, delta)-privacy. What refutes an epsilon refutes every smaller one, so the test inverts to a bound."""

    __slots__ = ()

    @abstractmethod
    def epsilon_lower(self, counts: Counts) -> float:
        """Lower confidence bound on epsilon, in nats; 0 where the guesses are no better than chance."""

    @abstractmethod
    def p_value(self, counts: Counts, epsilon: float) -> float:
        """Upper bound on the probability of counts like these, or better ones, under (epsilon, delta)-privacy."""

    def refutes(self, counts: Counts, epsilon: float) -> bool:
        """Whether the bound exceeds epsilon."""
        return self.epsilon_lower(counts) > epsilon


def logit_share(epsilon: ArrayLike, inputs: int) -> NDArray[np.float64]:
    """Log-odds of the largest probability of a right guess: ``epsilon - log(k - 1)``."""
    return np.asarray(epsilon, dtype=np.float64) - math.log(inputs - 1)
