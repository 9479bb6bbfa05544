"""Float estimates of the tilt and of the lattice's width for a composition; a bad one costs width, never validity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.cached import cached
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.accountants.pld.distribution import Groups

_SPARE = 8.0  # bits, beside those of the tails, below which a loss of one run does not widen the lattice
_FAR = 60.0  # nats by which the largest loss may outweigh the next: masses of 88 bits show no more than e**60
_CLOSE = 1e-6  # losses closer than this part of the widest range of a law count as one for the largest tilt


@dataclass(frozen=True)
class Moments:
    """Cumulants of the total loss of independent runs under a tilt."""

    groups: Groups  # laws of the loss, with the number of runs of each

    @cached
    def _arrays(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64], int]]:
        """Losses, decreasing, logarithms of their masses, and the number of runs."""
        found = []
        for law, times in self.groups:
            known = list(zip(law.loss_balls(), law.masses(), strict=True))
            # Where no mass is known to be above 0, the most that they may be stands for them.
            pairs = [(float(x), float(p.log())) for x, p in known if p > 0] or [
                (float(x), float(p.abs_upper().log())) for x, p in known
            ]
            losses, logs = (np.array(column) for column in zip(*pairs, strict=True))
            found.append((losses, logs, times))
        return found

    def at(self, tilt: float) -> tuple[float, float, float]:
        """Cumulant generating function, mean and variance."""
        total = np.zeros(3)
        for losses, logs, times in self._arrays:
            total += float(times) * np.array(_cumulants(losses, logs, tilt))
        return float(total[0]), float(total[1]), float(total[2])

    def width(self, tilt: float, bits: float) -> float:
        """About the width of the interval that holds all but ``2**-bits`` of the tilted mass of the total loss."""
        widest = bound = 0.0
        for losses, logs, times in self._arrays:
            exponents = logs + tilt * losses
            counts = losses[exponents >= exponents.max() - (bits + math.log2(times) + _SPARE) * math.log(2)]
            span = float(counts[0] - counts[-1])
            widest, bound = max(widest, span), bound + times * span
        nats = bits * math.log(2)
        _, _, variance = self.at(tilt)
        # Bernstein's exp(-t**2 / 2 (variance + widest t / 3)), solved for t.
        reach = nats * widest / 3 + math.sqrt((nats * widest / 3) ** 2 + 2 * nats * variance)
        return max(min(2 * reach, bound), 1 / (1 + tilt))

    def largest_tilt(self) -> float:
        """A tilt under which the largest loss of every law has nearly all the mass."""
        close = _CLOSE * max((x[0] - x[-1] for x, _, _ in self._arrays), default=0.0)
        gaps = [max(x[0] - x[1], close) for x, _, _ in self._arrays if len(x) > 1]
        return _FAR / float(min(gaps, default=_FAR))

    def for_epsilon(self, epsilon: float) -> float:
        """The tilt under which epsilon is the mean loss; 0 where epsilon is below the mean without a tilt."""
        return self._bisect(lambda tilt: self.at(tilt)[1] < epsilon)

    def for_delta(self, log_delta: float) -> float:
        """The tilt under whose mean loss the saddle point estimates this delta."""
        return self._bisect(lambda tilt: self.log_delta(tilt) > log_delta)

    def log_delta(self, tilt: float) -> float:
        """Saddle-point estimate of the logarithm of delta at the mean loss under the tilt."""
        value, mean, variance = self.at(tilt)
        return value - tilt * mean - math.log1p(tilt) - math.log1p(tilt * math.sqrt(2 * math.pi * variance))

    def _bisect(self, too_small: Callable[[float], bool]) -> float:
        return bisect(too_small, 0.0, self.largest_tilt()) if too_small(0.0) else 0.0


def _cumulants(losses: NDArray[np.float64], logs: NDArray[np.float64], tilt: float) -> tuple[float, float, float]:
    exponents = logs + tilt * losses
    top = exponents.max()
    weights = np.exp(exponents - top)
    total = weights.sum()
    weights /= total
    mean = float(weights @ losses)
    return float(top + np.log(total)), mean, float(weights @ (losses - mean) ** 2)


def lattice_step(width: float, points: int) -> int:
    """Exponent of the smallest power of two that covers a width in at most this number of steps."""
    return math.ceil(math.log2(width / points))
