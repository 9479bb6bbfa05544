r"""g-ary answers that are memoized value by value and reported with fresh noise: what a whole stream costs at most.

Notation: an answer to value c is memoized as c with probability p, as each other one with q = (1-p)/(g-1); a report is what is
memoized u times as likely as each other answer. A transcript whose reports of m are :math:`n_{cm}` while c is held has, but for a
common factor, the probability

.. math:: \prod_c \Bigl(1 + \sum_m R(m|c) (u^{n_{cm}} - 1)\Bigr), \qquad R(c|c) = p, \quad R(m|c) = q
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, inf

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball, floor
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour

_SEARCHED = 1 << 26  # sums of two shares of reports that are tried: a second
_DIGITS = 58  # binary digits of the largest cost in the search, which adds integers


@dataclass(frozen=True, slots=True)
class MemoizedAnswers:
    """Noise of memoized answers, as in the notation above; ``1/g <= p < 1`` and u >= 1."""

    g: int
    p: Fraction
    u: Fraction

    @property
    def q(self) -> Fraction:
        """Of each answer that is not the value."""
        return (1 - self.p) / (self.g - 1)

    def cost(self, reports: tuple[int, ...]) -> flint.arb:
        """Logarithm of a value's factor; the first number of reports is of the value itself."""
        first, *others = (ball(self.u) ** n - 1 for n in reports)
        return (1 + ball(self.p) * first + ball(self.q) * sum(others, flint.arb(0))).log()

    def gain(self, reports: tuple[int, ...]) -> flint.arb:
        """Logarithm of a transcript's largest factor: whatever is reported is held."""
        return sum((self.cost((n, *(0,) * (self.g - 1))) for n in reports), flint.arb(0))


def lifetime_epsilon(noise: MemoizedAnswers, epochs: int, held: int | None = None) -> Enclosure:
    r"""Smallest epsilon for which `epochs` reports hide which stream was held, whatever both are; `held`: of at most that many.

    .. math:: \max_{n} \; \sum_m \log\bigl(1 + p (u^{n_m} - 1)\bigr) - \min_{\sum_c n_{cm} = n_m}
              \sum_c \log\Bigl(1 + \sum_m R(m|c) (u^{n_{cm}} - 1)\Bigr)

    The likeliest stream holds what is reported: :math:`1 + \sum_m R(m|c) X_m \le \prod_m (1 + p X_m)` for :math:`X \ge 0`, and
    :math:`\log(1 + p(u^n - 1))` is convex in n and 0 at 0, so that reports of m say most while one value is held. The least likely
    one is searched, up to some hundred epochs of two answers. Beyond, by Hoelder's inequality the least is at least
    :math:`\log(p q^{g-1}) + g \log \sum_m u^{n_m/g}`, hence

    .. math:: \varepsilon \le T \Bigl(1 - \frac1g\Bigr) \log u - \log\bigl(p\, q^{g-1} g^g\bigr)

    or as much as the first report and log u for each other one; and it is at least that of a stream of all g values in turn
    against one of one value. It grows with T for ever: memoization hides what is held, not whether it changed. Source: derived; the
    mechanism, Arcolezi, Pinzon, Palamidessi, Gambs 2023.

    INTERVAL: as wide as 2**-57 of the largest loss where it is searched, else some nats for each value; of fewer values than g,
    up to what g of them cost.
    """
    values = min(held or noise.g, noise.g)
    tried = noise.g * comb(epochs + noise.g, noise.g) * (epochs + 1) ** noise.g
    if tried > _SEARCHED:
        return _enclosed(noise, epochs, values)
    found = _searched(noise, epochs)
    return found if values == noise.g else Enclosure(_enclosed(noise, epochs, values).low, found.high, found.rigour, found.source)


def in_turn(noise: MemoizedAnswers, epochs: int, values: int) -> flint.arb:
    """Loss of the transcript that reports values in turn, of a stream of these against one of the first value throughout."""
    reports = tuple(len(range(m, epochs, values)) if m < values else 0 for m in range(noise.g))
    loss: flint.arb = flint.arb(0).max(noise.gain(reports) - noise.cost(reports))
    return loss


def _enclosed(noise: MemoizedAnswers, epochs: int, values: int) -> Enclosure:
    def above() -> flint.arb:
        steps = epochs * (1 - flint.arb(1) / noise.g) * ball(noise.u).log()
        long = steps - (ball(noise.p) * ball(noise.q) ** (noise.g - 1) * noise.g**noise.g).log()
        first = noise.cost((1, *(0,) * (noise.g - 1))) - noise.cost((0, 1, *(0,) * (noise.g - 2)))
        least: flint.arb = long.min(first + (epochs - 1) * ball(noise.u).log())
        return least

    low, high = narrow(lambda: in_turn(noise, epochs, values), "values in turn", Rigour.INTERVAL), narrow(above, "Hoelder")
    return Enclosure(low.low, high.high, Rigour.INTERVAL, "from all values in turn against one of them to Hoelder's inequality")


def _searched(noise: MemoizedAnswers, epochs: int) -> Enclosure:
    """By all ways to share reports among values: shares of a value are added to the least of all values before it."""
    shares = [n for n in product(range(epochs + 1), repeat=noise.g) if sum(n) <= epochs]
    with working_precision(128):
        scale = Fraction(2) ** (_DIGITS - (floor(epochs * ball(noise.u).log()) + 1).bit_length())
        found = {n: floor(noise.cost(n) * ball(scale)) for n in shares}
    shape = (epochs + 1,) * noise.g
    table: NDArray[np.int64] = np.full(shape, 1 << 61)
    table[(0,) * noise.g] = 0
    for value in range(noise.g):
        before, table = table, np.full(shape, 1 << 61)
        for n in shares:
            own = found[(n[value], *n[:value], *n[value + 1 :])]
            to, since = (tuple(slice(*ends) for ends in each) for each in
                         (((k, None) for k in n), ((0, epochs + 1 - k) for k in n)))  # fmt: skip
            np.minimum(table[to], before[since] + own, out=table[to])
    with working_precision(128):
        whole = [n for n in shares if sum(n) == epochs and tuple(sorted(n)) == n]
        ends = [(noise.gain(n) - ball(Fraction(int(table[n])) / scale), n) for n in whole]
        most = max((e.upper() for e, _ in ends))
        low = max((e.lower() for e, _ in ends)) - noise.g / ball(scale)
        return Enclosure.of(low.union(most), rigour=Rigour.INTERVAL, source="the least likely stream, searched").clamp(0.0, inf)
