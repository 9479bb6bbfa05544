r"""Two-sided geometric noise on an integer, as it is and truncated to the range of the inputs.

Ghosh, Roughgarden, Sundararajan 2009.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic
from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS, bernoulli
from ldpaudit.mechanisms.shared.parameters import ball, integer, positive, probability, spendable
from ldpaudit.mechanisms.shared.values import LinearEstimate
from ldpaudit.profile import Number

_POWER_BITS = 256  # significant bits of the powers of alpha in the sampler; `_geometric` says what their rounding costs
_LARGEST = 1 << 53
"""Of the bound and of 1/(1 - alpha): so a view fits 64 bits except with probability e**-500, and a float holds the inputs."""


@dataclass(frozen=True, slots=True)
class _TwoSided(Mechanism):
    """What the two mechanisms share: inputs, noise, and what they estimate.

    Parameters
    ----------
    bound : int
        The largest input, from 1 to 2**53; the inputs are ``range(bound + 1)``.
    alpha : Fraction
        Ratio of the probabilities of z + 1 and of z >= 0 in the noise, ``0 < alpha < 1 - 2**-53``.
    """

    summed = "vector"

    bound: int
    alpha: Fraction

    def __post_init__(self) -> None:
        integer(self, "bound", 1, _LARGEST)
        probability(self, "alpha", high=1 - Fraction(1, _LARGEST))

    @classmethod
    def for_epsilon(cls, epsilon: Number, bound: int) -> Self:
        """The most accurate one that is epsilon-LDP: ``alpha = e**(-epsilon / bound)``, rounded up."""
        exponent = -spendable(epsilon) / positive("bound", bound)
        with working_precision(SIGNIFICANT_BITS):
            return cls(bound, dyadic(ball(exponent).exp().upper()))

    @property
    def inputs(self) -> range:
        return range(self.bound + 1)

    def noised(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The input plus two-sided geometric noise, shape ``(size,)``."""
        self.require_input(x)
        return x + _geometric(self.alpha, size, rng) - _geometric(self.alpha, size, rng)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        return np.array([np.sum(np.asarray(data), dtype=np.float64)])


def _geometric(alpha: Fraction, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Independent numbers that are k with probability ``(1 - alpha) alpha**k``.

    The binary digits of such a number are independent, and digit i is 1 with odds ``alpha**(2**i)`` to 1. Once this power
    is at most 1/2, what the digits so far leave is counted by tossing its coin until it falls. Each squaring rounds to 256
    bits, which makes each probability wrong by less than a relative 2**-128.
    """
    numbers, (chances, power) = np.zeros(size, dtype=np.int64), _digits(alpha)
    for place, chance in enumerate(chances):
        numbers += bernoulli(chance, size, rng) * (1 << place)
    left = np.arange(size)
    while len(left := left[bernoulli(power, len(left), rng)]):
        numbers[left] += 1 << len(chances)
    return numbers


@lru_cache(maxsize=256)
def _digits(alpha: Fraction) -> tuple[tuple[Fraction, ...], Fraction]:
    """The probability of each digit that is drawn by itself, and the power whose coin is tossed for the rest."""
    chances, power = list[Fraction](), alpha
    while 2 * power > 1:
        chances.append(power / (1 + power))
        power *= power
        if power.denominator.bit_length() > _POWER_BITS:
            scale = Fraction(2) ** (_POWER_BITS - power.numerator.bit_length() + power.denominator.bit_length())
            power = round(power * scale) / scale
    return tuple(chances), power


@dataclass(frozen=True, slots=True)
class Geometric(LinearEstimate, _TwoSided):
    """An integer from 0 to `bound`, plus noise that is z with probability ``(1-alpha)/(1+alpha) alpha**|z|``.

    A view is an integer. The noise is that of a discrete Laplace distribution of scale ``1/log(1/alpha)``.

    Examples
    --------
    >>> float(Geometric.for_epsilon(1, bound=1).alpha)
    0.36787944117144233
    """

    title = "two-sided geometric noise on one integer"

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        return self.bound, 2 * self.alpha / (1 - self.alpha) ** 2

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return self.noised(x, size, rng)

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        return total


@dataclass(frozen=True, slots=True)
class TruncatedGeometric(_TwoSided):
    """The same, with every view below 0 shown as 0 and every view above `bound` as `bound`.

    A view is an integer from 0 to `bound`. With ``bound = 1`` this is binary randomized response.

    Examples
    --------
    >>> [str(p) for _, p in TruncatedGeometric(bound=2, alpha=Fraction(1, 2)).law(0).items()]
    ['2/3', '1/6', '1/6']
    """

    variant = "truncated"
    title = "two-sided geometric noise on one integer, truncated to its range"

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        return self.bound, Fraction(0)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.clip(self.noised(x, size, rng), 0, self.bound)

    def law(self, x: int) -> Law:
        self.require_input(x)

        def probability_of(y: int) -> Fraction:
            # What lies at y or beyond is the first of a geometric series, over 1 - alpha.
            tail = self.alpha ** abs(y - x) / (1 + self.alpha)
            return tail if y in (0, self.bound) else (1 - self.alpha) * tail

        return Law(probability_of, lambda: range(self.bound + 1), self.bound + 1)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased sum of the inputs, shape ``(1,)``.

        A view at an end counts as the mean of all that is shown as that end, ``alpha / (1 - alpha)`` beyond it: the noise
        has no memory, so that this mean is the same for every input.
        """
        values, beyond = np.asarray(views, dtype=np.float64), float(self.alpha / (1 - self.alpha))
        ends = np.count_nonzero(values == self.bound) - np.count_nonzero(values == 0)
        return np.array([values.sum() + beyond * ends])
