r"""Errors of frequency estimates from one shuffled report per user: what privacy leaves, in users.

A report of a user who holds value j counts for j with probability `on`, any other report with probability `off`. So the
number that count for j is a sum of n independent coins whose law the number of holders x decides,

.. math:: Var = x\,\mathrm{on}(1 - \mathrm{on}) + (n - x)\,\mathrm{off}(1 - \mathrm{off}), \qquad
          \hat x_j = \frac{c_j - n\,\mathrm{off}}{\mathrm{on} - \mathrm{off}}

Largest where everybody or nobody holds the value. So for k-ary response with uniform draws the error of a value that all
users hold, whose own reports are drawn anew, grows with k; values that few hold are off by much less: a test on uniform
data alone does not see it. But each user holds one value, so that only a few values can be held by many, and the logarithm of
k is no factor of their error. Source: GGKPV, Appendix A, without constants.
"""

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.deviations import expected_largest, largest_of_one_and_others
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Estimated counts of all values."""

    users: int  # n and k, at least 1
    values: int
    # probabilities with which a report counts for a value that its user holds, and for one that the user does not; ``0
    # < off < on < 1``
    on: Fraction
    off: Fraction

    def __post_init__(self) -> None:
        if not (self.users >= 1 and self.values >= 1 and 0 < self.off < self.on < 1):
            found = f"{self.users}, {self.values}, {float(self.off):g}, {float(self.on):g}"
            raise ValueError(f"Frequencies needs users >= 1, values >= 1 and 0 < off < on < 1, got {found}")

    def variance(self, holders: int) -> Fraction:
        """Of the number of reports that count for a value with this many holders; exact."""
        return holders * self.on * (1 - self.on) + (self.users - holders) * self.off * (1 - self.off)

    @property
    def worst_variance(self) -> Fraction:
        """The largest over all numbers of holders."""
        return max(self.variance(0), self.variance(self.users))

    def deviation(self, holders: int, added: Fraction = Fraction(0)) -> Enclosure:
        """Standard deviation of a value's estimate, given its holders and the variance of noise on the sum; in users, EXACT."""
        variance = self.variance(holders) + added
        return narrow(lambda: (ball(variance) / ball(self._scale) ** 2).sqrt(), "a sum of coins")

    def expected_error(self) -> Enclosure:
        """From 0 to a bound of the expected largest error over all values, for any data; in users, INTERVAL."""
        bounds = [narrow(each, "") for each in (self._by_moments, self._by_holders)]
        return Enclosure(0.0, min(each.high for each in bounds), Rigour.INTERVAL, "exponential moments, or those of holders apart")

    def error(self, beta: Fraction) -> Enclosure:
        """From 0 to what the largest error exceeds with probability at most `beta`, for any data; in users, INTERVAL."""
        if not 0 < beta < 1:
            raise ValueError(f"an error needs 0 < beta < 1, got beta={beta}")
        high = narrow(lambda: self._by_moments(-ball(Fraction(beta)).log()), "").high
        return Enclosure(0.0, high, Rigour.INTERVAL, "Bennett's bound of the exponential moments of each value and side")

    def _by_moments(self, nats: flint.arb | int = 0) -> flint.arb:
        r"""Bound of the largest error where all users hold one value, by exponential moments; it is one for any data.

        For each s the sum over values of :math:`e^{v_j \phi(s)}`, in which :math:`v_j` is linear in the number of holders, is
        convex in the numbers of holders, so that it is largest where one value has them all.
        """
        one, other = self.variance(self.users), self.variance(0)
        return largest_of_one_and_others(one, other, self.values - 1, flint.arb(nats)) / ball(self._scale)

    def _by_holders(self) -> flint.arb:
        r"""Bound of the expected largest error by the reports of each value's holders, and by all others apart.

        .. math:: E \max_j |H_j + O_j| \le \sqrt{\textstyle\sum_j E H_j^2} + E \max_j |O_j|

        Each user holds one value, so that the first sum is n on (1 - on), for any data.
        """
        others = expected_largest(self.variance(0), self.values)
        return (ball(self.variance(self.users)).sqrt() + others) / ball(self._scale)

    @property
    def _scale(self) -> Fraction:
        return self.on - self.off
