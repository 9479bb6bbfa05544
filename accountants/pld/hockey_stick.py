r"""Delta, read off a lattice law of losses, from both sides.

Let K be the sum of the spread losses and L that of the true ones, :math:`Z_X = 1 - e^{\varepsilon - X}`, so that delta
is the mean of :math:`(Z_L)_+`. From above it is the mean of :math:`(Z_K)_+`. From below:

1. L becomes K in steps X, one spread at a time, independent of the other losses. Each keeps the mean of Z, and its
   variance is at most :math:`v\,(1-Z)^2`; the v of all steps sum to V.
2. For a function s with :math:`s'' \le c` that is positive only on an interval, a step raises the mean of s by at most
   :math:`\tfrac12 c\,v` times the mean of :math:`(1-Z)^2` where X is within a step's reach of the interval. Take
   :math:`s(z) = z^2 (2w - z)/w^2` on [0, w], 0 before and z after: then :math:`s \le z_+`, and :math:`s'' \le 4/w` is
   positive on (0, 2w/3). With h the longest reach and :math:`I_0` what is within h of that interval,
   :math:`\delta \ge E\,s(Z_L) \ge E\,s(Z_K) - \tfrac2w V e^{2h} \sup_X P[X \in I_0]`.
3. A bump that is 1 on an interval I and falls to 0 within B around it has :math:`-\beta'' \le 4/B^2`. So likewise
   :math:`\sup_X P[X \in I] \le P[K \in J] + \tfrac{2}{B^2} V e^{2a} \sup_X P[X \in J]`, where J contains what is
   within h of the bump, and nothing below epsilon - a. Iterated, on growing intervals, until the rest is nothing.

All this in the tilted law, where spreading never lowers the total mass. The gap is about 6 V times the density of the
loss at epsilon: of second order in the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint

from ldpaudit.accountants.numerics.balls import ball, floor
from ldpaudit.accountants.pld.lattice import BITS, LatticePLD

_WIDTH, _GROWTH = 4.5, 3.0
"""w, and the first B, in units of the square root of V: about where the gap is least."""
_ITERATIONS = 8


@dataclass(frozen=True)
class HockeyStick:
    r"""Delta of the finite losses; with u = L - epsilon, the sum of :math:`P_\lambda e^{-\lambda u}(1 - e^{-u})_+`.

    Parameters
    ----------
    law : LatticePLD
        Tilted.
    log_total : flint.arb
        Logarithm of what the tilted masses were divided by.
    """

    law: LatticePLD
    log_total: flint.arb

    def high(self, epsilon: flint.arb) -> flint.arb:
        """No less than delta."""
        listed, count = self._sum(epsilon)
        # e**(-lambda u) (1 - e**-u) is at most 1/(1 + lambda).
        unknown = _unit(self.law.error * count + self.law.outside) / (1 + self._tilt)
        return self._scale(epsilon) * (listed + unknown)

    def low(self, epsilon: flint.arb) -> flint.arb:
        """No more than delta."""
        listed, _ = self._sum(epsilon)
        if self.law.variance == 0:
            return self._scale(epsilon) * listed
        width = flint.arb(_WIDTH * math.sqrt(float(self.law.variance)))
        if not width < 1:
            return flint.arb(0)
        return flint.arb(0).max(self._scale(epsilon) * (listed - self._gap(epsilon, width)))

    def _scale(self, epsilon: flint.arb) -> flint.arb:
        return (self.log_total - self._tilt * epsilon).exp()

    @cached_property
    def _tilt(self) -> flint.arb:
        return ball(self.law.tilt)

    @cached_property
    def _step(self) -> flint.arb:
        return self.law.step.ball()

    @cached_property
    def _end(self) -> int:
        return self.law.start + len(self.law.masses)

    @cached_property
    def _tail_sums(self) -> list[tuple[flint.arb, flint.arb]]:
        """Sums of all masses from an index on, falling at the rates lambda and lambda + 1; the last index first."""
        slow, fast = (-self._tilt * self._step).exp(), (-(self._tilt + 1) * self._step).exp()
        p = q = flint.arb(0)
        sums, unit = [(p, q)], _unit(1)
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
        """The sum over the listed masses, and how many there are above epsilon."""
        best, first = flint.arb(0), self._above(epsilon)
        # Where the first loss may be epsilon itself, both sums are tried: the right one is the larger.
        for index in (first, first + 1):
            if index < self._end:
                u = index * self._step - epsilon
                p, q = self._tail_sums[self._end - index]
                best = best.max((-self._tilt * u).exp() * p - (-(self._tilt + 1) * u).exp() * q)
        return best, self._end - first

    def _gap(self, epsilon: flint.arb, w: flint.arb) -> flint.arb:
        """How much spreading may have raised delta, in units of the scale: steps 2 and 3."""
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
        return gap + factor * (self._tilt * below).exp() * _unit(law.most() + law.outside)

    def _rounded_off(self, epsilon: flint.arb, w: flint.arb) -> flint.arb:
        """The mean of z - s(z), which is z (1 - z/w)**2 on [0, w]."""
        total, index = flint.arb(0), self._above(epsilon)
        while index < self._end:
            u = index * self._step - epsilon
            z = -(-u).expm1()
            if z > w:
                break
            mass = _unit(int(self.law.masses[index - self.law.start]) + self.law.error)
            total += mass * (-self._tilt * u).exp() * abs(z) * (1 - z / w) ** 2
            index += 1
        return total

    def _between(self, epsilon: flint.arb, below: flint.arb, above: flint.arb) -> flint.arb:
        """Tilted mass, times e**(-lambda u), of losses from epsilon - below to epsilon + above, at most."""
        first, last = self._above(epsilon - below) - 1, self._above(epsilon + above) + 1
        first, last = max(first, self.law.start), min(last, self._end)
        largest = (self._tilt * (below + self._step)).exp()
        total = _unit(self.law.error * (last - first + 1) + self.law.outside) * largest
        for index, sign in ((first, 1), (last, -1)):
            u = index * self._step - epsilon
            total += sign * (-self._tilt * u).exp() * self._tail_sums[self._end - index][0]
        return total


def _unit(masses: int) -> flint.arb:
    return ball(Fraction(masses, 1 << BITS))
