"""Tilted losses: float estimates of the tilt and of the lattice's width, of which a bad one costs width, never
validity; and total losses of some runs of one law with their tilted masses, listed: all of them, or a window for
coins."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_window
from ldpaudit.accountants.numerics.search import bisect, halved
from ldpaudit.accountants.numerics.trinomial import beyond, descending, reach
from ldpaudit.accountants.pld.distribution import Groups, PrivacyLossDistribution
from ldpaudit.accountants.pld.lattice import Point
from ldpaudit.core.cached import cached

MOST_POINTS = 1 << 13
"""Most losses that are listed before they are discretized; with 2**11 an epsilon of 1e5 weak runs is known to 5e-5, not 2e-5."""
DEPTH = 54  # tilted tails below 2**-54 are left out and counted as outside, one digit below a float
_SPARE = 8.0  # bits, beside those of the tails, below which a loss of one run does not widen the lattice
_FAR = 60.0  # nats by which the largest loss may outweigh the next: masses of 88 bits show no more than e**60
_HALVINGS, _UNSEEN, _WIDER = 24, 10.0, 4.0
"""Smaller tilts that are tried; nats below a delta at which tilted mass that is left out does no harm; and how many times as wide a
lattice has to be."""
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
        """The tilt under which epsilon is the mean loss, or a smaller one; 0 where epsilon is below the mean without a tilt."""
        found = self._bisect(lambda tilt: self.at(tilt)[1] < epsilon)
        return self._narrower(found, self.at(found)[0] - found * epsilon)

    def for_delta(self, log_delta: float) -> float:
        """The tilt under whose mean loss the saddle point estimates this delta, or a smaller one."""
        return self._narrower(self._bisect(lambda tilt: self.log_delta(tilt) > log_delta), log_delta)

    def _narrower(self, tilt: float, log_delta: float) -> float:
        """A smaller tilt that shows this delta on a narrower lattice, if there is one.

        A loss that is large and rare may have half of the tilted mass: then a lattice for both halves is too coarse for either.
        """
        smaller = [0.0, *(tilt / 2**k for k in range(1, _HALVINGS))] if tilt else []
        enough = [each for each in smaller if self.at(each)[0] - DEPTH * math.log(2) < log_delta - _UNSEEN]
        narrowest = min(enough, key=lambda each: self.width(each, DEPTH), default=tilt)
        return narrowest if self.width(narrowest, DEPTH) < self.width(tilt, DEPTH) / _WIDER else tilt

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
    mean = float((weights * losses).sum())  # not by `@`: see `trapezoid.sums`
    return float(top + np.log(total)), mean, float((weights * (losses - mean) ** 2).sum())


def lattice_step(width: float, points: int) -> int:
    """Exponent of the smallest power of two that covers a width in at most this number of steps."""
    return math.ceil(math.log2(width / points))


@dataclass(frozen=True)
class Tilted:
    r"""Finite losses under the tilt :math:`e^{\lambda L}`, at the precision of the first use."""

    law: PrivacyLossDistribution  # with at least one loss that is not 0
    tilt: Fraction  # lambda, at least 0

    @cached
    def losses(self) -> tuple[flint.arb, ...]:
        """Finite losses, decreasing."""
        return self.law.loss_balls()

    @cached
    def _weights(self) -> tuple[flint.arb, ...]:
        rate = ball(self.tilt)
        pairs = zip(self.law.masses(), self.losses, strict=True)
        return tuple(mass * (rate * loss).exp() for mass, loss in pairs)

    @cached
    def total(self) -> flint.arb:
        """The normalizing constant Z, by which the tilted masses are divided."""
        return sum(self._weights, flint.arb(0))

    @cached
    def masses(self) -> tuple[flint.arb, ...]:
        """Tilted masses, which sum to 1."""
        return tuple(weight / self.total for weight in self._weights)

    def values(self, times: int) -> int:
        """Upper bound of the number of different total losses of this number of runs."""
        size = len(self.losses)
        return math.comb(times + size - 1, size - 1)

    def runs(self, times: int) -> int:
        """The largest number of runs, at least 1, whose total losses may be listed."""
        return max(1, halved(lambda runs: self.values(runs) > MOST_POINTS, 1, times + 1) - 1)

    def points(self, times: int) -> list[Point]:
        """Every total loss of this number of runs: the multinomial law."""
        if times == 1:
            return list(zip(self.losses, self.masses, strict=True))
        if len(self.losses) == 1:  # of one loss there may be any number of runs
            return [(self.losses[0] * times, _power(self.masses[0], times))]
        ways = flint.fmpz.fac_ui(flint.fmpz(times))
        return [(loss, mass * ways) for loss, mass in self._spent(times)]

    def _spent(self, times: int) -> list[Point]:
        """Total losses of this number of runs; masses lack the factor ``times!``."""
        spent, ways = [[(flint.arb(0), flint.arb(1))]], flint.fmpz(1)  # for each number of runs: by and by, also of earlier losses
        for runs in range(1, times + 1):
            ways *= runs
            spent += [[(self.losses[-1] * runs, _power(self.masses[-1], runs) / ways)]]
        for first in range(len(self.losses) - 2, -1, -1):
            loss, own = self.losses[first], self.masses[first]
            shares = [own := own * self.masses[first] / (count + 1) if count else own for count in range(times)]
            for runs in range(times, 0 if first else times - 1, -1):
                for count in range(1, runs + 1):
                    more, share = loss * count, shares[count - 1]
                    spent[runs] += [(more + rest, share * other) for rest, other in spent[runs - count]]
        return spent[times]


def _power(mass: flint.arb, times: int) -> flint.arb:
    """The power of a mass, also of one that may be 0, of which ``mass**times`` is no number."""
    return mass**times if mass > 0 or times == 0 else between(0, mass.abs_upper() ** times)


def coin_indices(tilted: Tilted, times: int) -> tuple[dict[int, flint.arb], flint.arb]:
    """For a coin: tilted masses of the total loss, by its multiple of the coin's loss, and the mass left out."""
    masses = tilted.masses
    if len(masses) == 2:
        window, low, outside = binomial_window(times, masses[0], masses[1], DEPTH)
        return {2 * (low + i) - times: mass for i, mass in enumerate(window)}, outside
    nats = DEPTH * math.log(2)
    p, w, q = masses
    high, low = reach(times, (p, w, q), nats), -reach(times, (q, w, p), nats)
    outside = beyond(times, (p, w, q), high + 1) + beyond(times, (q, w, p), 1 - low)
    found: dict[int, flint.arb] = {}
    ratio, reversal = q / p, (q / p) ** max(high, -low)
    for index, mass in descending(times, (p, w, q), max(high, -low)):
        if index <= high:
            found[index] = mass
        if -index >= low:
            found[-index] = mass * reversal
        reversal /= ratio
    return found, outside


def summed(one: Sequence[Point], other: Sequence[Point]) -> list[Point]:
    """Every sum of two independent losses."""
    return [(a + b, p * q) for a, p in one for b, q in other]
