r"""Several messages replaced at once in one shuffle: a lower bound that counts what speaks for any of their elements.

User 1 sends one message for each of D elements S, or of D others S', and one for each of w elements W; all other users hold S' and
W, and there are B random messages. The rows of different elements are independent, two at a time, so that a message for one of them
speaks for another one with probability p, as a random message does. The adversary counts two kinds of messages: N' speak for some
element of S', and N for some element of S and for none of S'.

- All messages for S' count in N': those of the others, who are subtracted, and those of user 1.
- All D messages of user 1 for S count in N with a probability of at least :math:`s = (1 - Dp)^D`.
- A random message, or one for W, counts in N, and in N', with probability at most Dp. The adversary makes it one g for all of them:
  of the messages that speak for one element of W and for none of S and S', and then of those that speak for nothing, random ones
  are counted, too. For that :math:`g = Dp/(1 - wp)` is enough, as a random message speaks for W with probability wp at most.

So with :math:`(N, N') \sim \mathrm{Multinomial}(B + nw; g, g)`, of which T is the sum,

.. math:: \delta(\varepsilon) \ge s\, D_{e^{\varepsilon}/s}\bigl((N + D, N') \,\|\, (N, N' + D)\bigr)
          = s\, E_T\Bigl[D_{e^\varepsilon/s}\bigl(D + \mathrm{Bin}(T, \tfrac12) \,\|\, \mathrm{Bin}(T, \tfrac12)\bigr)\Bigr]

and the divergence falls with T, for one coin more is post-processing. To first order nothing is lost: D counters of mean Bp
that go up by one tell what one of mean DBp tells that goes up by D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.cached import cached
from ldpaudit.accountants.numerics.normal import about_epsilon
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_BITS = 192
_HALF = Fraction(1, 2)
_FAR, _WIDTHS, _LOST = 4.0, (0.25, 4.0), 1e-3
"""Standard deviations within which T is told apart, and the least and the largest width of its blocks in these; and their width in
units of T, of which epsilon loses about a quarter."""
_LARGEST = 1e4
"""Nats, from which on only views that the second data set never has are counted."""
_CLOSE = 1e-5
"""Relative width of the search for an epsilon."""


@dataclass(frozen=True)
class MergedHits(PrivacyProfile):
    """Lower bound of several messages replaced in one shuffle. Source: derived here, see the module."""

    users: int  # n, at least 1
    blanket: int  # B, random messages, at least 1
    hit: Fraction  # p, in (0, 1)
    replaced: int  # D, at least 1
    shared: int  # w, elements of a user that do not change, at least 0

    @property
    def source(self) -> str:
        """What is bounded."""
        return f"messages that speak for any of {self.replaced} replaced elements, among {self.blanket} random ones"

    def delta(self, epsilon: Number) -> Enclosure:
        """From the bound to 1."""
        at = epsilon if math.isinf(require_epsilon(epsilon)) else round_up(Fraction(epsilon))
        return Enclosure(self._low(float(at)), 1.0, Rigour.INTERVAL, self.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From the bound to infinity; infinite where views that only the first data set has are more likely than delta."""
        goal = require_delta(delta)
        low = math.inf if self._low(math.inf) > goal else 0.0
        if low == 0 < goal < self._low(0.0):
            start = about_epsilon(4 * self.replaced**2 / self._mean, Fraction(goal))
            low, _ = crossing(self._low, goal, max(start, _CLOSE), 1.1, _CLOSE)
        return Enclosure(low, math.inf, Rigour.INTERVAL, self.source)

    @property
    def _random(self) -> int:
        """Messages that are counted with probability 2g."""
        return self.blanket + self.users * self.shared

    @property
    def _counted(self) -> Fraction:
        """2g."""
        return 2 * self.replaced * self.hit / (1 - self.shared * self.hit)

    @property
    def _mean(self) -> Fraction:
        return self._counted * self._random

    @cached
    def _blocks(self) -> tuple[tuple[int, flint.arb], ...]:
        """Numbers T, each with the probability that it is between the one before and this one."""
        mean = float(self._mean)
        deviation = math.sqrt(mean)
        width = min(max(_LOST * deviation, _WIDTHS[0]), _WIDTHS[1])
        steps = range(-math.ceil(_FAR / width), math.ceil(_FAR / width) + 1)
        ends = sorted({min(max(math.ceil(mean + i * width * deviation), 0), self._random) for i in steps})
        with working_precision(_BITS):
            up_to = [flint.arb(0), *(binomial_lower(self._random, self._counted, end) for end in ends)]
            return tuple((end, b - a) for end, a, b in zip(ends, up_to, up_to[1:], strict=False))

    def _low(self, epsilon: float) -> float:
        if self.shared * self.hit >= _HALF or self._counted > _HALF:  # then 2g + wp is not above 1, and neither is Dp
            return 0.0
        total, moved = flint.arb(0), self.replaced
        with working_precision(_BITS):
            share = ball(1 - moved * self.hit) ** moved
            nats = min(epsilon, _LARGEST) - float(share.log())
            ratio = flint.arb(min(epsilon, _LARGEST)).exp() / share
            for t, chance in self._blocks:
                # About the count from which on the first law has more than that many times the probabilities of the second, which
                # ends at t.
                count = min(max(math.ceil((t + moved) / (1 + math.exp(-nats / moved))), moved), t + 1)
                count = t + 1 if epsilon > _LARGEST else count
                gain = binomial_upper(t, _HALF, count - moved) - ratio * binomial_upper(t, _HALF, count)
                if gain > 0 and chance > 0:
                    total += chance * gain
            return max(0.0, round_down(share * total))
