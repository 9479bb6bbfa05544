r"""Discrete Laplace noise on counts.

Ghosh, Roughgarden, Sundararajan 2009, who call it two-sided geometric.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.geometric import Geometric
from ldpaudit.mechanisms.polya_noise import PolyaNoise
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.shared.parameters import probability, spendable
from ldpaudit.profile import Number

_LARGEST = 1 << 53  # of 1/(1 - alpha): so a view fits 64 bits except with probability e**-500


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(CountNoise):
    """Counts plus noise that is z with probability ``(1-alpha)/(1+alpha) alpha**|z|``.

    Parameters
    ----------
    alpha : Fraction
        Ratio of the probabilities of z + 1 and of z >= 0, ``0 < alpha < 1 - 2**-53``.

    Examples
    --------
    >>> float(DiscreteLaplace.for_epsilon(1).alpha)
    0.36787944117144233
    >>> DiscreteLaplace(Fraction(1, 2), change=(1, -1)).inputs
    ((0, 0), (1, -1))
    """

    title = "discrete Laplace noise on counts"

    alpha: Fraction
    change: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        probability(self, "alpha", high=1 - Fraction(1, _LARGEST))
        CountNoise.__post_init__(self)

    @classmethod
    def for_epsilon(cls, epsilon: Number, change: tuple[int, ...] = (1,)) -> Self:
        """The most accurate one that is epsilon-DP for this change: ``alpha = e**(-epsilon / distance)``, rounded up."""
        distance = cls(Fraction(1, 2), change).distance
        return cls(Geometric.for_epsilon(spendable(epsilon), distance).alpha, change)

    @property
    def variance(self) -> Fraction:
        return 2 * self.alpha / (1 - self.alpha) ** 2

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Differences of two geometric numbers, exactly."""
        return Geometric(1, self.alpha).noised(0, size, rng)

    def of_shares(self, honest: int, designed: int) -> PolyaNoise:
        """Polya noise of the shape ``honest / designed``."""
        return PolyaNoise(self.alpha, Fraction(honest, designed), self.change)
