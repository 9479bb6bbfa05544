r"""Sums from which the aggregators leave out reports with more than m ones, and tell how many they have accepted.

Prio's aggregators check a report before they add it. They leave out some honest ones, too: each with probability at most r, which
is the largest, over all inputs, of the tail of the number of ones, a sum of two binomial numbers. What is left has coordinates that
are not independent. The union bound makes up for that. In T rounds of n honest reports, whatever is held, some are left out with
probability at most s = T n r; call this A. Where A does not happen, all is as in the sum of all reports. For an event E of what is
seen, be E' the sums that lie in E where nothing is left out. Of two neighbouring data sets P and Q, with and without the filter,

.. math:: P_m(E) \le P(E') + P(A), \qquad Q_m(E) \ge Q(E') - Q(A), \qquad\text{so that}\qquad
          \delta_m(\varepsilon) \le \delta(\varepsilon) + (1 + e^\varepsilon)\, s

The reports of all n users count, not user 1's alone: the others' have the same law under P and Q, but where one is left out, the
sum is another function of the rest. The bound is convex in :math:`e^\varepsilon` and grows in the end, and delta does not: from its
least value on it is constant. Also, the filter and the sum are computed from the reports, of which each is as private as before:
delta is at most that of one report. All of this holds, too, where an aggregator knows whose reports are left out.

From below, at the event that nothing is left out and the sum lies in E', whose probability under Q is at most Q(E'): so
:math:`\delta_m(\varepsilon) \ge \delta(\varepsilon) - s`. It takes the number of accepted reports, which is public (in DAP, the
report count of a collection).

At delta = 0, without noise, the local epsilon: n accepted reports that all have the most telling ones, and no others, are the only
ones with their sum. That needs as many ones as m.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants.aggregation.coordinate import FAR, ROOM
from ldpaudit.accountants.aggregation.envelope import Bits
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, PrivacyProfile, bracket, require_delta

_BITS = 128


def left_out(bits: Bits, most: int) -> Fraction:
    """Upper bound, by a relative 1e-15, of the chance that an honest report has more than m ones: r."""
    p, q = bits.one[1], bits.zero[1]
    with working_precision(_BITS):
        tails = ((i, binomial_upper(bits.length - bits.ones, q, most + 1 - i)) for i in range(bits.ones + 1))
        return Fraction(round_up(sum(binomial_pmf(bits.ones, p, i) * tail for i, tail in tails)))


@dataclass(frozen=True)
class FilteredProfile(PrivacyProfile):
    """Profile of a sum without the reports that have too many ones."""

    whole: PrivacyProfile  # of the sum of all reports
    local: PrivacyProfile  # of one user's reports
    chance: Fraction  # s
    pure: Enclosure  # epsilon at delta = 0

    def delta(self, epsilon: Number) -> Enclosure:
        """Of the sum of all reports, and what leaving some out may change."""
        found = self.whole.delta(epsilon)
        high = min(self._bound(round_down(epsilon)), self.local.delta(epsilon).high)
        return self._enclosure(round_down(Fraction(found.low) - self.chance), high, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`; from above by bisection."""
        if require_delta(delta) == 0:
            return self.pure
        top, goal = self.local.epsilon(delta).high, Fraction(delta)
        low = self.whole.epsilon(goal + self.chance).low if goal + self.chance < 1 else 0.0
        least = round_down(goal)
        high = bracket(lambda e: e >= top or self._bound(e) <= least)[1]
        return self._enclosure(low, min(high, top), math.inf)

    def _bound(self, epsilon: float) -> float:
        """Upper bound of delta, which does not grow."""
        return self._with_slack(min(epsilon, self._turn))

    def _with_slack(self, epsilon: float) -> float:
        factor = 1 + Fraction(math.exp(epsilon) * (1 + ROOM))
        return round_up(Fraction(self.whole.delta(epsilon).high) + factor * self.chance)

    @cached
    def _turn(self) -> float:
        """About where the bound with its slack is least."""
        from scipy.optimize import minimize_scalar  # here: it takes a while to import

        top = min(self.pure.high, FAR)
        return float(minimize_scalar(self._with_slack, bounds=(0.0, top), method="bounded").x)

    def _enclosure(self, low: float, high: float, most: float) -> Enclosure:
        return Enclosure.met(max(0.0, low), high, Rigour.INTERVAL, self._source).clamp(0.0, most)

    @cached
    def _source(self) -> str:
        return f"{self.whole.delta(0).source}; some report is left out with probability at most {min(1.0, float(self.chance)):.3g}"
