r"""One bit that is memoized value by value and reported with fresh noise: what a whole stream costs at most.

Notation: the copy of a value's bit is wrong with probability :math:`\mu \le 1/2`; a report of a kept 1 or 0 is 1 with
probability q or p; :math:`u = q/p`, :math:`v = (1-p)/(1-q)`. A transcript with a ones and b zeros has, under a stream that spreads
them over values with :math:`a_i` ones and :math:`b_i` zeros each, the probability

.. math:: p^a (1-q)^b \prod_i \bigl(m_i u^{a_i} + (1 - m_i) v^{b_i}\bigr), \qquad m_i \in \{\mu, 1 - \mu\}

with :math:`m_i = 1 - \mu` for a value whose bit is 1. The order of epochs does not matter, only these counts do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball, floor
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported

MOST_EPOCHS = 400  # up to which spreads are searched: the time grows with their fourth power, to some seconds
_DIGITS = 59  # binary digits of the largest cost in the search, which adds integers: exact in 64 bits
_MARGIN = 1e-6  # by how much float costs must exceed a line before they are taken to do so; their errors are below 1e-7
_FLOATS = 1 << 12  # epochs up to which all spreads are held against a line, and up to which the margin was chosen


@dataclass(frozen=True, slots=True)
class MemoizedNoise:
    """Noise of one memoized bit, as in the notation above."""

    lost: Fraction  # mu, from 0 to below 1/2
    p: Fraction  # ``0 < p < q < 1``
    q: Fraction

    @property
    def growth(self) -> tuple[Fraction, Fraction]:
        """u and v."""
        return self.q / self.p, (1 - self.p) / (1 - self.q)

    def weight(self, kept: Fraction, ones: int, zeros: int) -> flint.arb:
        """The factor of one value, as a ball."""
        u, v = map(ball, self.growth)
        return ball(kept) * u**ones + ball(1 - kept) * v**zeros

    def cost(self, ones: int, zeros: int) -> flint.arb:
        """Logarithm of the smaller factor of the two bits that a value may have."""
        return self.weight(self.lost, ones, zeros).min(self.weight(1 - self.lost, ones, zeros)).log()

    def gain(self, ones: int, zeros: int) -> flint.arb:
        """Logarithm of the largest probability of a transcript, relative to the common factor: see `lifetime_epsilon`."""
        return (self.weight(1 - self.lost, ones, 0) * self.weight(self.lost, 0, zeros)).log()


def lifetime_epsilon(noise: MemoizedNoise, epochs: int) -> Enclosure:
    r"""Smallest epsilon for which `epochs` reports hide which stream was held, whatever both streams are.

    .. math:: \max_{a+b=T} \log \frac{\bigl((1-\mu)u^a+\mu\bigr)\bigl((1-\mu)v^b+\mu\bigr)}
              {\min \prod_i \bigl(m_i u^{a_i} + (1-m_i) v^{b_i}\bigr)}

    The likeliest stream holds one value of bit 1 in all epochs that report 1, and one of bit 0 in the others: for
    :math:`X, Y \ge 1` and :math:`\mu \le 1/2`, :math:`mX+(1-m)Y \le ((1-\mu)X+\mu)((1-\mu)Y+\mu)` and
    :math:`((1-\mu)X+\mu)((1-\mu)X'+\mu) \le (1-\mu)XX'+\mu`. The least likely one is often a stream without a value held twice,
    and then one of the two transcripts that say the same throughout is the worst, since the loss is convex in a; else its
    spread is searched. Tight. It grows with T for ever: equal reports show that values repeat. Source: derived; the mechanism,
    Erlingsson, Pihur, Korolova 2014.

    EXACT where the closed form applies, else INTERVAL, as wide as 2**-58 of the largest loss per value. Raises
    Unsupported where spreads of more than 400 epochs would have to be searched.
    """
    if _separate_is_least(noise, epochs):
        source = "one value throughout against values that never repeat: all reports the same"

        def separate() -> flint.arb:
            ones = noise.gain(epochs, 0) - epochs * noise.cost(1, 0)
            return ones.max(noise.gain(0, epochs) - epochs * noise.cost(0, 1))

        return narrow(separate, source, Rigour.EXACT)
    if epochs > MOST_EPOCHS:
        raise Unsupported(noise, f"the least likely of all streams is searched up to {MOST_EPOCHS} epochs, got {epochs}")
    return _searched(noise, epochs)


def _separate_is_least(noise: MemoizedNoise, epochs: int) -> bool:
    """Whether no value that is reported as both costs less than its reports one by one; of equal reports none ever does.

    That :math:`\\log(m u^a + 1 - m)` is convex in a and 0 at a = 0 is why equal reports cost no less together.
    """
    if epochs > _FLOATS:
        return False
    for ones in range(1, epochs):
        zeros = np.arange(1, epochs - ones + 1)
        if np.any(_excess(noise, ones, zeros) < _MARGIN):
            return False
    return True


def _excess(noise: MemoizedNoise, ones: int, zeros: NDArray[np.int64]) -> NDArray[np.float64]:
    """Float cost of one value's reports over that of as many values with one report each."""
    u, v, low, high = (float(ball(x).log()) if x else -np.inf for x in (*noise.growth, noise.lost, 1 - noise.lost))
    one, zero = np.logaddexp(high, low + u), np.logaddexp(high, low + v)
    together = np.minimum(np.logaddexp(low + ones * u, high + zeros * v), np.logaddexp(high + ones * u, low + zeros * v))
    return np.asarray(together - ones * one - zeros * zero, dtype=np.float64)


def _searched(noise: MemoizedNoise, epochs: int) -> Enclosure:
    with working_precision(128):  # a cost is at most that of all epochs, each by the larger growth
        largest = floor(epochs * ball(max(noise.growth)).log()) + 1
    scale = Fraction(2) ** (_DIGITS - largest.bit_length())
    costs = _costs(noise, epochs, scale)
    least = _least(costs)
    with working_precision(128):
        highs = [noise.gain(a, epochs - a) - ball(int(least[a, epochs - a]) / scale) for a in range(epochs + 1)]
        worst = max(range(epochs + 1), key=lambda a: float(highs[a]))
        spread = tuple(_spread(costs, least, worst, epochs - worst))
        low = noise.gain(worst, epochs - worst) - sum((noise.cost(a, b) for a, b in spread), flint.arb(0))
        values = f"of {len(spread)} with at most {max(map(sum, spread))} reports each"
        source = f"{worst} ones and {epochs - worst} zeros of two values, or {values}"
        return Enclosure.of(low.union(reduce(flint.arb.max, highs)), rigour=Rigour.INTERVAL, source=source)


def _costs(noise: MemoizedNoise, epochs: int, scale: Fraction) -> NDArray[np.int64]:
    """Costs of a value by ones and zeros, scaled and rounded down; too large where there are more than `epochs` reports."""
    found = np.full((epochs + 1, epochs + 1), np.iinfo(np.int64).max >> 2)
    with working_precision(128):
        for ones in range(epochs + 1):
            for zeros in range(epochs + 1 - ones):
                found[ones, zeros] = floor(noise.cost(ones, zeros) * ball(scale))
    return found


def _least(costs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Least total cost of spreading ones and zeros over values."""
    least = costs.copy()
    least[0, 0] = 0
    top = len(costs) - 1
    for total in range(1, top + 1):
        for ones in range(total + 1):
            least[ones, total - ones] = _sums(costs, least, ones, total - ones).min()
    return least


def _sums(costs: NDArray[np.int64], least: NDArray[np.int64], ones: int, zeros: int) -> NDArray[np.int64]:
    """For each share of one value, its cost and the least one of the rest; a share of nothing is none."""
    sums = costs[: ones + 1, : zeros + 1] + least[: ones + 1, : zeros + 1][::-1, ::-1]
    sums[0, 0] = np.iinfo(np.int64).max >> 1
    return sums


def _spread(costs: NDArray[np.int64], least: NDArray[np.int64], ones: int, zeros: int) -> Iterator[tuple[int, int]]:
    """A spread that attains the least cost."""
    while ones or zeros:
        place = np.argmin(_sums(costs, least, ones, zeros))
        a, b = np.unravel_index(place, (ones + 1, zeros + 1))
        yield int(a), int(b)
        ones, zeros = ones - int(a), zeros - int(b)
