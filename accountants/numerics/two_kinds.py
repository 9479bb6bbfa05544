r"""Tails of a sum of independent integers of two kinds, plus noise, in floats; at a cost that hardly grows with their number.

Of n users c have the law P and the others Q, and R is the noise. On a cycle of N integers the law of the sum T is a sum of waves,

.. math:: P[s \le T \le t] = \frac1N \sum_{|j| < N/2} \varphi_P(\theta_j)^c\, \varphi_Q(\theta_j)^{n-c}\, \varphi_R(\theta_j)
          \sum_{y=s}^t e^{-i \theta_j y}, \qquad \theta_j = 2 \pi j / N

exactly where T has no more than N values, and else up to the probability that T is farther than N/2 from its mean, at most
:math:`2 e^{-45}` by Bernstein's inequality. Waves are left out where they are lower than :math:`e^{-45}`: of a law that has masses
p and q on two neighbouring integers :math:`|\varphi(\theta)|^2 \le 1 - 2 p q (1 - \cos \theta)`, which tells so of most before they
are computed. What is left is the rounding of phases, some :math:`2^{-53}` of :math:`\sqrt n` turns: 1e-10 for a billion users.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.core.cached import cached

ERROR = 1e-10
"""Bound of the error of a tail, for up to 1e9 users."""
_NATS = 45.0  # logarithm of what is left out
_LEAST = 1e-16  # squared modulus that stands for 0
_AT_ONCE = 1 << 20  # waves of sums that are held at a time

Floats = NDArray[np.float64]
Waves = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class TwoKinds:
    """The sum of `users` independent integers, of those who hold something and of those who do not, plus noise."""

    users: int
    holder: Mapping[int, float]  # integers with their probabilities
    other: Mapping[int, float]
    noise: Masses = field(default_factory=lambda: Masses.point(0))

    @cached
    def means(self) -> tuple[float, float, float]:
        """Of the integer of a holder, of another user, and of the noise."""
        at = self.noise.first + np.arange(len(self.noise.values))
        return _mean(self.holder), _mean(self.other), float(at @ self.noise.values)

    def estimate(self, seen: ArrayLike) -> Floats:
        """The number of holders, without bias, from the sum."""
        held, other, noise = self.means
        return np.asarray((np.asarray(seen) - self.users * other - noise) / (held - other), dtype=np.float64)

    @cached
    def _waves(self) -> tuple[int, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The length N of the cycle, its frequencies that count, and at these the logarithms of the three transforms."""
        values = [*self.holder, *self.other]
        spread, noise = max(values) - min(values), len(self.noise.values)
        variance = self.users * max(_variance(self.holder), _variance(self.other))
        third = _NATS * spread / 3
        reach = math.ceil(third + math.sqrt(third**2 + 2 * _NATS * variance))
        cycle = min(2 * reach, self.users * spread) + noise | 1
        rate = self.users * min(_neighbours(self.holder), _neighbours(self.other))
        last = math.acos(1 - _NATS / rate) if 2 * rate > _NATS else math.pi
        angles = 2 * math.pi / cycle * np.arange(1, min((cycle - 1) // 2, math.ceil(last * cycle / (2 * math.pi))) + 1)
        at = self.noise.first + np.arange(noise)
        added = {int(y): float(p) for y, p in zip(at, self.noise.values, strict=True)}
        of_holder, of_other, of_noise = (_log_transform(law, angles) for law in (self.holder, self.other, added))
        return cycle, angles, of_holder, of_other, of_noise

    def at_least(self, holders: ArrayLike, seen: ArrayLike) -> Floats:
        """P[T >= seen] where there are this many holders; the two broadcast."""
        held, summed = np.broadcast_arrays(np.asarray(holders, dtype=np.float64), np.asarray(seen, dtype=np.float64))
        cycle, angles, of_holder, of_other, of_noise = self._waves
        least, most = held.min(initial=self.users), held.max(initial=0)
        heights = [count * of_holder.real + (self.users - count) * of_other.real for count in (least, most)]
        high = np.maximum(*heights) > -_NATS
        waves = angles[high], of_holder[high], of_other[high], of_noise[high]
        found, size = np.empty(held.size), max(1, _AT_ONCE // max(1, len(waves[0])))
        for start in range(0, held.size, size):
            part = slice(start, start + size)
            found[part] = self._part(held.ravel()[part, None], summed.ravel()[part, None], cycle, *waves)
        return np.clip(found, 0, 1).reshape(held.shape)

    def _part(
        self, held: Floats, seen: Floats, cycle: int, angles: Floats, of_holder: Waves, of_other: Waves, of_noise: Waves
    ) -> Floats:
        own, other, noise = self.means
        mean = held * own + (self.users - held) * other + noise
        # Around the mean, but within all that the sum may be: a cycle that holds all of that has no wrapping around.
        largest = self.users * max(*self.holder, *self.other) + self.noise.first + len(self.noise.values) - 1
        least = self.users * min(*self.holder, *self.other) + self.noise.first
        last = np.clip(np.rint(mean) + (cycle - 1) // 2, min(least + cycle - 1, largest), largest)
        first = np.clip(seen, last - cycle + 1, last + 1)
        exponents = held * of_holder + (self.users - held) * of_other + of_noise - 1j * angles * first
        turned = np.expm1(-1j * angles * (last - first + 1)) / np.expm1(-1j * angles)
        waves: Floats = (np.exp(exponents) * turned).real.sum(axis=1)
        return np.asarray(((last - first)[:, 0] + 1 + 2 * waves) / cycle)


def holders(law: TwoKinds, seen: ArrayLike, alpha: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least and the largest number of holders that no test of level ``alpha / 2`` to either side rejects, from each sum.

    They hold the true number, whatever it is, except with probability `alpha`: exact, and not larger than that by more than what
    one holder makes. Where all numbers are rejected, both are the end that is nearest. Source: Clopper, Pearson 1934.
    """
    sums, place = np.unique(np.asarray(seen, dtype=np.int64), return_inverse=True)
    least = _first(lambda count: law.at_least(count, sums) + ERROR > alpha / 2, len(sums), law.users)
    beyond = _first(lambda count: 1 - law.at_least(count, sums + 1) + ERROR <= alpha / 2, len(sums), law.users)
    low, high = np.minimum(least, law.users)[place], np.maximum(beyond - 1, 0)[place]
    return low.reshape(np.shape(seen)), high.reshape(np.shape(seen))


def _first(holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]], size: int, users: int) -> NDArray[np.int64]:
    """For each of several sums the first number of holders for which something holds, as for all larger ones; else `users` + 1."""
    low, high = np.full(size, -1), np.full(size, users + 1)
    while (open_ := high - low > 1).any():
        middle = (low + high) // 2
        found = holds(np.clip(middle, 0, users))
        low, high = np.where(open_ & ~found, middle, low), np.where(open_ & found, middle, high)
    return high


def _mean(law: Mapping[int, float]) -> float:
    return math.fsum(y * p for y, p in law.items())


def _variance(law: Mapping[int, float]) -> float:
    mean = _mean(law)
    return math.fsum((y - mean) ** 2 * p for y, p in law.items())


def _neighbours(law: Mapping[int, float]) -> float:
    """The largest product of the masses of two neighbouring integers."""
    return max(p * law.get(y + 1, 0.0) for y, p in law.items())


def _log_transform(law: Mapping[int, float], angles: NDArray[Any]) -> NDArray[Any]:
    """Logarithm of the mean of ``exp(i angle y)``; of what is 0, that of something tiny."""
    at, masses = np.array([*law]), np.array([*law.values()])
    found = np.empty(len(angles), dtype=np.complex128)
    size = max(1, _AT_ONCE // len(at))
    for start in range(0, len(angles), size):
        found[start : start + size] = np.expm1(1j * np.multiply.outer(angles[start : start + size], at)) @ masses
    # Of the mean less 1, so that both are right relative to themselves, however small the angle: they are taken n times.
    moduli = np.log1p(np.maximum(2 * found.real + np.abs(found) ** 2, _LEAST - 1)) / 2
    return np.asarray(moduli + 1j * np.arctan2(found.imag, 1 + found.real))
