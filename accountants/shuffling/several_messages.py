r"""Several messages replaced at once: two data sets and an event, from below.

User 1 holds d values or d others, whose rows are all independent; everybody else holds nothing, and what fills up is
independent of these rows as well. Then a random message is in the kernels of any of them independently, each with
probability p. Let A be the number of messages that speak for some of the first values and for none of the second, B the
other way round: a random message is in A with probability :math:`\pi = (1-p)^d (1 - (1-p)^d)`, and as likely in B; user 1's
own are in A, under the first input, with probability :math:`(1-p)^d` each, and never in B. The events are

.. math:: A - B \ge t, \qquad P = \sum_i w_i\, P[D \ge t - i], \quad Q = \sum_i w_i\, P[D \ge t + i], \quad
          w = \mathrm{Bin}\bigl(d, (1-p)^d\bigr)

with D the difference of A and B among the random messages alone. Each gives :math:`\delta(\varepsilon) \ge P - e^\varepsilon
Q` and :math:`\varepsilon(\delta) \ge \ln((P - \delta)/Q)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.trinomial import beyond, descending, reach
from ldpaudit.enclosure import Enclosure, Rigour, round_down
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon
from ldpaudit.working_precision import working_precision

_NATS = (400.0, 100.0, 30.0)
"""Events rarer than e to minus this are left out: the first of the three that leaves at most `_MOST_EVENTS`."""
_MOST_EVENTS = 6_000


@dataclass(frozen=True)
class SeveralTuples(PrivacyProfile):
    """A lower bound.

    Parameters
    ----------
    messages : int
        Random ones, at least 1.
    hit : Fraction
        p, in (0, 1/2].
    replaced : int
        d, at least 1.
    """

    messages: int
    hit: Fraction
    replaced: int

    @property
    def source(self) -> str:
        """What is computed."""
        return f"two data sets in which {self.replaced} elements differ: more messages speak for the one's than for the other's"

    @property
    def own(self) -> Fraction:
        """Probability that a message of user 1 speaks for none of the values that they do not hold."""
        return (1 - self.hit) ** self.replaced

    def delta(self, epsilon: Number) -> Enclosure:
        """From what the best event attains to 1."""
        if math.isinf(require_epsilon(epsilon)):
            return self._enclosed(flint.arb(0), 1.0)
        with working_precision(_precision(self.messages)):
            ratio, best = ball(Fraction(epsilon)).exp(), flint.arb(0)
            for p, q in _events(self):
                best = best.max((p - ratio * q).lower())
            return self._enclosed(best, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From what the best event attains to infinity."""
        goal = Fraction(require_delta(delta))
        with working_precision(_precision(self.messages)):
            best = flint.arb(0)
            for p, q in _events(self):
                if p > ball(goal) and q > 0:
                    best = best.max(((p - ball(goal)) / q).log().lower())
            return self._enclosed(best, math.inf)

    def _enclosed(self, low: flint.arb, high: float) -> Enclosure:
        return Enclosure(round_down(low), high, Rigour.INTERVAL, self.source)


def _precision(messages: int) -> int:
    return 160 + 2 * messages.bit_length()


@lru_cache(maxsize=64)
def _events(s: SeveralTuples) -> list[tuple[flint.arb, flint.arb]]:
    """P and Q of every event that may be the best one."""
    with working_precision(_precision(s.messages)):
        own, d = s.own, s.replaced
        pure = ball(own * (1 - own))
        masses = (pure, 1 - 2 * pure, pure)
        tops = (min(reach(s.messages, masses, nats), s.messages) for nats in _NATS)
        top = next((found for found in tops if found <= _MOST_EVENTS), None)
        if top is None:
            return []
        tails = {top + 1: between(0, beyond(s.messages, masses, top + 1))}
        for index, chance in descending(s.messages, masses, top):
            tails[index] = tails[index + 1] + chance
        for index in range(1, d + 1):  # the law is symmetric
            tails[-index] = 1 - tails.get(index + 1, tails[top + 1])
        weights = [binomial_pmf(d, own, i) for i in range(d + 1)]

        def of(t: int, sign: int) -> flint.arb:
            return sum((w * tails[t + sign * i] for i, w in enumerate(weights)), flint.arb(0))

        return [(of(t, -1), of(t, 1)) for t in range(max(0, top + 2 - d))]
