r"""Upper and lower bounds of the hockey-stick divergence, from a privacy loss distribution on a lattice.

Let L be the sum of the true losses, K that of the losses after connect-the-dots discretization (`lattice`), and
:math:`Z_X = 1 - e^{\varepsilon - X}`, so that delta is the mean of :math:`(Z_L)_+`. The upper bound is the mean of
:math:`(Z_K)_+`. The lower bound is that mean less a gap of second order:

1. L becomes K in steps X, one discretized loss at a time, independent of the others. Each step keeps the mean of Z, and
   its variance is at most :math:`v\,(1-Z)^2`; the v of all steps sum to V.
2. For a function s with :math:`s'' \le c` that is positive only on an interval, a step raises the mean of s by at most
   :math:`\tfrac12 c\,v` times the mean of :math:`(1-Z)^2` where X is within a step's reach of the interval. Take
   :math:`s(z) = z^2 (2w - z)/w^2` on [0, w], 0 before and z after: then :math:`s \le z_+`, and :math:`s'' \le 4/w` is
   positive on (0, 2w/3). With h the longest reach and :math:`I_0` the losses within h of that interval,
   :math:`\delta \ge E\,s(Z_L) \ge E\,s(Z_K) - \tfrac2w V e^{2h} \sup_X P[X \in I_0]`.
3. A bump that is 1 on an interval I and falls to 0 within B around it has :math:`-\beta'' \le 4/B^2`. So likewise
   :math:`\sup_X P[X \in I] \le P[K \in J] + \tfrac{2}{B^2} V e^{2a} \sup_X P[X \in J]`, where J contains the losses
   within h of the bump, and none below epsilon - a. This is iterated on growing intervals until the rest is negligible.

All of this holds in the tilted law, where the discretization never lowers the total mass. The gap is about 6 V times
the density of the loss at epsilon, and V is quadratic in the step.
"""

import math
from dataclasses import dataclass

import flint

from ldpaudit.accountants.numerics.balls import ball, floor
from ldpaudit.accountants.pld.lattice import LatticePLD, as_mass
from ldpaudit.core.cached import cached

_WIDTH = 4.5
"""W, in units of the square root of V; with 2.25 an epsilon of 250 runs is known to 1.0e-5 instead of 6.5e-6."""
_GROWTH = 3.0  # the first B, in the same unit; with 1.5 that epsilon is known to 1.0e-5
_ITERATIONS = 8  # most growing intervals of step 3; with 2 that epsilon is known to 9.9e-6, with 4 or 16 as with 8


@dataclass(frozen=True)
class HockeyStick:
    r"""Delta of the finite losses; with u = L - epsilon, the sum of :math:`P_\lambda e^{-\lambda u}(1 - e^{-u})_+`."""

    law: LatticePLD  # tilted
    log_total: flint.arb  # logarithm of the normalizing constant Z of the tilted masses

    def high(self, epsilon: flint.arb) -> flint.arb:
        """Upper bound of delta."""
        listed, count = self._sum(epsilon)
        # e**(-lambda u) (1 - e**-u) is at most 1/(1 + lambda).
        unknown = as_mass(self.law.error * count + self.law.outside) / (1 + self._tilt)
        return self._scale(epsilon) * (listed + unknown)

    def low(self, epsilon: flint.arb) -> flint.arb:
        """Lower bound of delta."""
        listed, _ = self._sum(epsilon)
        if self.law.variance == 0:
            return self._scale(epsilon) * listed
        width = flint.arb(_WIDTH * math.sqrt(float(self.law.variance)))
        if not width < 1:
            return flint.arb(0)
        return flint.arb(0).max(self._scale(epsilon) * (listed - self._gap(epsilon, width)))

    def _scale(self, epsilon: flint.arb) -> flint.arb:
        return (self.log_total - self._tilt * epsilon).exp()

    @cached
    def _tilt(self) -> flint.arb:
        return ball(self.law.tilt)

    @cached
    def _step(self) -> flint.arb:
        return self.law.step.ball()

    @cached
    def _end(self) -> int:
        return self.law.start + len(self.law.masses)

    @cached
    def _tail_sums(self) -> list[tuple[flint.arb, flint.arb]]:
        """Sums of all masses from an index on, weighted at the rates lambda and lambda + 1; the last index first."""
        slow, fast = (-self._tilt * self._step).exp(), (-(self._tilt + 1) * self._step).exp()
        p = q = flint.arb(0)
        sums, unit = [(p, q)], as_mass(1)
        for mass in reversed(self.law.masses.coeffs()):
            here = unit * mass
            p, q = here + slow * p, here + fast * q
            sums.append((p, q))
        return sums

    def _above(self, epsilon: flint.arb) -> int:
        """The first index of the law whose loss may be above epsilon."""
        index = floor(epsilon / self._step) + 1
        return min(max(index, self.law.start), self._end)

    def _sum(self, epsilon: flint.arb) -> tuple[flint.arb, int]:
        """The sum over the listed masses, and the number of lattice points above epsilon."""
        best, first = flint.arb(0), self._above(epsilon)
        # Where it is undecided whether the first loss is above epsilon, the larger of both sums is the right one.
        for index in (first, first + 1):
            if index < self._end:
                u = index * self._step - epsilon
                p, q = self._tail_sums[self._end - index]
                best = best.max((-self._tilt * u).exp() * p - (-(self._tilt + 1) * u).exp() * q)
        return best, self._end - first

    def _gap(self, epsilon: flint.arb, w: flint.arb) -> flint.arb:
        """Upper bound of what the discretization adds to delta, in units of the scale: steps 2 and 3."""
        law, reach = self.law, self._step
        below, above = reach, reach - (1 - 2 * w / 3).log()
        factor = 2 / w * law.variance * (2 * reach).exp()
        gap = self._rounded_off(epsilon, w)
        distance = flint.arb(_GROWTH * math.sqrt(float(law.variance)))
        for _ in range(_ITERATIONS):
            wider_below, wider_above = below + distance + reach, above + distance + reach
            fall = ((wider_below - reach).exp() - below.exp()).min((-above).exp() - (reach - wider_above).exp())
            gap += factor * self._between(epsilon, wider_below, wider_above)
            factor *= 2 / fall**2 * law.variance * (2 * wider_below).exp()
            below, above, distance = wider_below, wider_above, 4 * distance
            if distance * (1 + self._tilt) > 1:
                break
        return gap + factor * (self._tilt * below).exp() * as_mass(law.most + law.outside)

    def _rounded_off(self, epsilon: flint.arb, w: flint.arb) -> flint.arb:
        """The mean of z - s(z), which is z (1 - z/w)**2 on [0, w]."""
        total, index = flint.arb(0), self._above(epsilon)
        while index < self._end:
            u = index * self._step - epsilon
            z = -(-u).expm1()
            if z > w:
                break
            mass = as_mass(int(self.law.masses[index - self.law.start]) + self.law.error)
            total += mass * (-self._tilt * u).exp() * abs(z) * (1 - z / w) ** 2
            index += 1
        return total

    def _between(self, epsilon: flint.arb, below: flint.arb, above: flint.arb) -> flint.arb:
        """Upper bound of the tilted mass times e**(-lambda u) of losses from epsilon - below to epsilon + above."""
        first, last = self._above(epsilon - below) - 1, self._above(epsilon + above) + 1
        first, last = max(first, self.law.start), min(last, self._end)
        largest = (self._tilt * (below + self._step)).exp()
        total = as_mass(self.law.error * (last - first + 1) + self.law.outside) * largest
        for index, sign in ((first, 1), (last, -1)):
            u = index * self._step - epsilon
            total += sign * (-self._tilt * u).exp() * self._tail_sums[self._end - index][0]
        return total

