"""Says a bit, its opposite or nothing: what it does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpaudit.mechanism import Law, Mechanism, Views


@dataclass(frozen=True)
class HesitantAnswer(Mechanism):
    """Silent with probability 1/2; else the bit with probability p, and its opposite otherwise.

    Parameters
    ----------
    p : Fraction
        ``1/2 <= p < 1``.

    Examples
    --------
    >>> HesitantAnswer(p=Fraction(3, 4)).law(1).probability(2)
    Fraction(1, 2)
    """

    title = "an answer, or silence"
    inputs = range(2)

    p: Fraction

    def __post_init__(self) -> None:
        if not Fraction(1, 2) <= self.p < 1:
            raise ValueError(f"HesitantAnswer needs 1/2 <= p < 1, got p={self.p}")

    def sample(self, x: int, size: int, rng: np.random.Generator) -> Views:
        """Views: 0, 1, or 2 for silence."""
        said = np.where(rng.random(size) < float(self.p), x, 1 - x)
        return np.where(rng.random(size) < 0.5, 2, said)

    def law(self, x: int) -> Law:
        """Law on the three views."""
        table = {x: self.p / 2, 1 - x: (1 - self.p) / 2, 2: Fraction(1, 2)}
        return Law(table.__getitem__, lambda: range(3), 3)

    def estimate(self, views: Views) -> np.ndarray:
        """Unbiased count of each bit."""
        zeros, ones = np.bincount(views, minlength=3)[:2]
        apart = (ones - zeros) / float(self.p - Fraction(1, 2))
        return np.array([len(views) - apart, len(views) + apart]) / 2
