"""Differences of two negative binomial numbers: what shares of two-sided geometric noise add up to, and many such noises do."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ldpaudit.attacks.attack import Floats, require_listed, spread
from ldpaudit.mechanisms.polya_noise import differences

_TABLE = 1 << 16  # most steps of the recurrence for a shape of at most 1
_SEEN = 1e-13  # of the largest probability: what is smaller is lost in the rounding of a Fourier transform


@lru_cache(maxsize=8)
def log_odds(alpha: Fraction, shape: Fraction) -> Floats:
    """Logarithms of the probability of 0 over those from 0 up, until a step is nearly ``log(1/alpha)`` or the rest is 1e-13.

    Raises Unsupported where these are millions.
    """
    at, stop = float(alpha), float(1 - alpha)
    if shape <= 1:
        ratio, found = at, []
        for k in range(min(_TABLE, 64 + int(40 / -math.log1p(-stop))), 0, -1):
            ratio = at * (k - 1 + float(shape)) / (k * (1 + at**2) - at * (k + 1 - float(shape)) * ratio)
            found.append(-math.log(ratio))
        return np.concatenate([[0.0], np.cumsum(found[::-1])])
    reach = 64 + 12 * math.sqrt(2 * float(shape) * at) / stop + 40 / stop
    require_listed(2 * reach)
    size = fft.next_fast_len(2 * int(reach), real=True)
    turns = np.sin(np.pi * np.arange(size // 2 + 1) / size)
    law = fft.irfft(np.exp(-float(shape) * np.log1p(at * (2 * turns / stop) ** 2)), size)[: int(reach)]
    return np.asarray(math.log(law[0]) - np.log(law[: int(np.argmax(law < _SEEN * law[0]))]))


@dataclass(frozen=True, slots=True)
class GeometricNoises:
    """The sum of as many two-sided geometric noises as there are users."""

    users: int
    alpha: Fraction

    @property
    def variance(self) -> Fraction:
        """Of the sum."""
        return self.users * 2 * self.alpha / (1 - self.alpha) ** 2

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent sums."""
        return differences(self.alpha, self.users, size, rng)

    def masses(self, parts: float) -> tuple[int, Floats]:
        """See `stems.listed`."""
        half = np.exp(-log_odds(self.alpha, Fraction(self.users)))
        both = np.concatenate([half[:0:-1], half])
        return (1 - len(half)) * int(parts), spread(both / both.sum(), parts)
