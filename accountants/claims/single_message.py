"""What the claims about single-message protocols share: a promise, for users and a domain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.claims.accuracy import Accuracy
from ldpaudit.accountants.shuffling.frequencies import Frequencies
from ldpaudit.mechanism import Mechanism

ALIKE = "all hold one value"
"""The data on which errors are simulated. No data have a larger variance, as on + off <= 1 for both protocols."""
_COUNTED = 1 << 20
"""Domains up to this size are simulated."""


@dataclass(frozen=True)
class Promise(ABC):
    """A promise, and the users and values for which it is made."""

    epsilon: Fraction  # epsilon in nats, in (0, 1]; delta in (0, 1)
    delta: Fraction
    users: int  # n and B, at least 2
    values: int
    beta: Fraction = Fraction(1, 20)  # probability with which an error may be exceeded, in (0, 1)

    def __post_init__(self) -> None:
        if not 0 < self.beta < 1:
            raise ValueError(f"{type(self).__name__} needs 0 < beta < 1, got beta={self.beta}")
        _ = self.mechanism  # refuses the rest

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """With the theorem's noise for this promise."""


def simulated_error(s: Promise, errors: Frequencies, where: str) -> tuple[Accuracy, ...]:
    """The largest error on data that are all alike, which Bernstein's inequality bounds at beta."""
    if s.values > _COUNTED:
        return ()

    def data(_: np.random.Generator) -> NDArray[np.int64]:
        return np.zeros(s.users, dtype=np.int64)

    def off(held: NDArray[np.int64], found: NDArray[np.float64]) -> float:
        return float(np.abs(found - np.bincount(held, minlength=s.values)).max())

    sentence = f"all {s.values} estimates, n = {s.users}, {ALIKE}; in users"
    return (Accuracy(where, sentence, errors.error(s.beta).high, float(s.beta), data, off),)
