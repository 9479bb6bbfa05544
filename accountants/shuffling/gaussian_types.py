r"""The types of replacement for numbers plus Gaussian noise: what user 1 and another user may hold, for all numbers of an interval.

*Replacement* (`replaced`) asks for the laws of :math:`W = (f_{x_1} - E f_{x_2})/f_x` under :math:`f_x`, or larger ones in the
convex order, for all numbers from 0 to s. Below, calls are :math:`E(W - c)_+` and puts :math:`E(-k - W)_+`, for c, k > 0.

1. To shrink a report towards a point and to add noise to it is post-processing. So three numbers may be moved apart, in
   proportion, until two of them are 0 and s, and by symmetry x is 0 or lies between the other two.
2. Where others hold x between :math:`x_1 = 0` and :math:`x_2 = s`, W falls with y, and is 0 at :math:`t = s/2 - \varepsilon/s`.
   Calls are maxima of :math:`(R_0 - E R_s - c R_x)(y < \tau)`, which grow with x, and puts fall with x. So for x in [p, q] the law
   that is W's of q below t, W's of p above t, and else 0, is no less. The order :math:`x_1 = s`, :math:`x_2 = 0` is the mirror
   image.
3. Where others hold 0, and user 1 holds s or u, :math:`W_u = (f_s - E f_u)/f_0`. Its calls fall as u grows, for the best sets are
   :math:`\{y > \tau\}`. Its puts are :math:`P_u(k) = \int (E f_u - f_s - k f_0)_+` over an interval :math:`(t_1, t_2)`, whose ends
   solve :math:`A + k B = E`, :math:`A = f_s/f_u`, :math:`B = f_0/f_u`, so that :math:`dP_u/du = E (f_u(t_1) - f_u(t_2))`. This is 0
   only if :math:`t_{1,2} = u \mp \tau`. Then, with :math:`p = (s - u) \tau` and :math:`q = u \tau`, both equations give A and k B
   in terms of p and q, and the second derivative has the sign of

   .. math:: t_1' + t_2' - 2, \qquad t_2' = \frac{\tau^2 \sinh(p + q)}{p\, e^p \sinh q - q\, e^{-q} \sinh p}, \qquad
             t_1' = \frac{\tau^2 \sinh(p + q)}{q\, e^q \sinh p - p\, e^{-p} \sinh q}

   The denominators add up to :math:`2 (p + q) \sinh p \sinh q`, and :math:`1/x + 1/y \ge 4/(x + y)`, so that

   .. math:: t_1' + t_2' \ge \frac{2 \tau^2}{p + q} (\coth p + \coth q) > \frac{2 \tau^2}{p q}
             = \frac{2}{u (s - u)} \ge \frac 8{s^2}

   For s up to 2 that is at least 2: there is no maximum in between, and :math:`P_u \le \max(P_0, P_s)`.
4. Where user 1 holds u or s, calls and puts, and E and 1/E, are exchanged. Then :math:`P_s = 0`, and u = 0 is the worst.

So the types are: 0, s among others in one of the boxes [p, q] that cover [0, s]; and a law with the calls of s, 0 among others at 0
and the larger of its puts and those of :math:`(1 - E) f_s/f_0`. The last two cross once: the difference of their slopes has the
sign of :math:`k (E - k) - (E - 1) e^{-s^2}`, which is first below 0, then above, then below. Where the puts of :math:`(1 - E)
f_s/f_0` exceed the other ones by next to nothing, that is added to the mean of the sums instead.

What W is within a cell is spread to the cell's ends; where it falls without end, it is put at the end of the last cell; and where
it rises without end, the mean of what is above the end of the last cell is added, for the positive part is subadditive.

Source: derived here; tests/shuffling compare any three numbers with mixtures of the types by linear programming.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

import flint
from scipy.special import ndtr

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.positive_part import PointMass

Gain: TypeAlias = tuple[flint.arb, flint.arb]
"""What the density of 0 counts, and less what the one of s: 1 and E."""
Chances: TypeAlias = tuple[flint.arb, flint.arb, flint.arb]
"""Of reports below some place, where 0, s and one more input are held."""

_CLOSE = 1e-6
"""Relative distance of the two thresholds between which two puts cross; and of a cut from an end that is no other."""
_NOTHING, _HALVINGS = 1e-300, 60
"""The least number whose logarithm is looked at, and halvings of an interval."""


def below(t: Fraction | flint.arb) -> flint.arb:
    """Probability that a normal number is below t."""
    return (-(ball(t) if isinstance(t, Fraction) else t) / flint.arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True, eq=False)
class Line:
    """Reports cut into cells, at the current precision, for user 1's inputs 0 and s."""

    s: Fraction
    cuts: list[Fraction]
    held: list[Fraction]  # inputs of other users, from 0 to s: the ends of boxes
    masses: list[list[flint.arb]]  # below each cut, under each of these
    ratios: list[list[tuple[flint.arb, flint.arb]]]  # of the densities of 0 and s to each of these, at each cut
    places: list[float]  # the cuts

    @classmethod
    def of(cls, s: Fraction, cuts: list[Fraction], narrowest: float) -> Line:
        """With boxes that are narrowest next to the ends."""
        near = [0.0]
        while near[-1] < s / 2:
            near.append(near[-1] + max(narrowest, 2 * float(s) * near[-1]))
        lower = [Fraction(x) for x in near[:-1]]
        held = [*lower, s / 2, *(s - x for x in reversed(lower))]
        masses = [[below(c - x) for c in cuts] for x in held]
        places = list(map(ball, cuts))
        ratios = [list(zip(_ratios(Fraction(0), x, places), _ratios(s, x, places), strict=True)) for x in held]
        return cls(s, cuts, held, masses, ratios, [float(c) for c in cuts])

    def terms(self, e: flint.arb, least: float) -> tuple[list[Law], flint.arb]:
        """The laws of all types, and what is to be added to the mean of their sums for what is cut off, or hardly matters."""
        gain = flint.arb(1), e
        added = reduce(flint.arb.max, (self.added(x, gain).upper() for x in range(len(self.held))))
        t = self._where(e)
        chances = [below(t - ball(x)) for x in self.held]
        ends = [(chances[0], chances[-1], each) for each in chances]
        laws = [self.box(gain, t, x, *pair) for x, pair in enumerate(pairwise(ends))]
        if not e > 1:  # user 1's puts are no larger
            return laws, added
        excess = self.excess(e, least)
        return (laws, added + excess) if excess < least else ([*laws, self.outside(e)], added)

    def value(self, x: int, cut: int, gain: Gain) -> flint.arb:
        """W there, where others hold the x-th input."""
        first, second = self.ratios[x][cut]
        return gain[0] * first - gain[1] * second

    def added(self, x: int, gain: Gain) -> flint.arb:
        """The mean of what W exceeds its value at the first cut by."""
        return gain[0] * self.masses[0][0] - gain[1] * self.masses[-1][0] - self.value(x, 0, gain) * self.masses[x][0]

    def _chances(self, y: flint.arb, x: int) -> Chances:
        return below(y - ball(self.held[0])), below(y - ball(self.held[-1])), below(y - ball(self.held[x]))

    def spread(self, x: int, gain: Gain, end: flint.arb, below_end: Chances, at_end: flint.arb, left: bool) -> Iterator[PointMass]:
        """The values of W on one side of an end, in cells that are spread to their ends; beyond, it is that of the last cut."""
        side, y = (1, float(end)) if left else (-1, -float(end))
        cuts = [i for i, place in list(enumerate(self.places))[::side] if side * place < y - _CLOSE]
        values = [*(self.value(x, i, gain) for i in cuts), at_end]
        masses = [*(self.masses[x][i] for i in cuts), below_end[2]]
        gained = [gain[0] * self.masses[0][i] - gain[1] * self.masses[-1][i] for i in cuts]
        gained.append(gain[0] * below_end[0] - gain[1] * below_end[1])
        yield values[0], masses[0] if left else 1 - masses[0]
        for (here, there), (start, stop), (one, other) in zip(pairwise(masses), pairwise(gained), pairwise(values), strict=True):
            mass, own = (there - here, stop - start) if left else (here - there, start - stop)
            near = (own - other * mass) / (one - other)
            yield one, near
            yield other, mass - near

    def box(self, gain: Gain, t: flint.arb, x: int, before: Chances, after: Chances) -> Law:
        """User 1 holds 0 or s, and another user a number between the x-th input and the next one, of the chances to be below t."""
        zero = flint.arb(0)
        left = self.spread(x + 1, gain, t, after, zero, left=True)
        right = self.spread(x, gain, t, before, zero, left=False)
        return _together((*left, (zero, before[2] - after[2]), *right))

    def outside(self, e: flint.arb) -> Law:
        """User 1 holds one end or any number, and another user the other end: 0 or u among others at s, which is the mirror image.

        Raises ArithmeticError where floats do not say where the puts of the two laws cross.
        """
        one, zero, last = flint.arb(1), flint.arb(0), len(self.held) - 1
        own, equal = (one, e), (1 - e, zero)
        left = self._crossing(float(e))
        k1, y1, first, second = self._puts(e, flint.arb(left * (1 + _CLOSE)))
        k0, _, third, fourth = self._puts(e, flint.arb(left * (1 - _CLOSE)))
        if not (first >= second and fourth >= third):
            raise ArithmeticError("two puts need to cross where floats say so")
        y0 = self._where(k0 / (e - 1))
        upper, lower = self._chances(y1, last), self._chances(y0, last)
        rest = 1 - upper[2] - lower[2]
        near = ((1 - e) * (1 - lower[0]) - (upper[0] - e * upper[1]) + k0 * rest) / (k0 - k1)
        between = ((-k1, near), (-k0, rest - near))
        ups, equals = self.spread(last, own, y1, upper, -k1, left=True), self.spread(last, equal, y0, lower, -k0, left=True)
        return _together((*ups, *between, *equals))

    def excess(self, e: flint.arb, enough: float) -> flint.arb:
        """An upper bound of how much larger the puts of equal inputs are than those of user 1's that are 0 and s."""
        found, left = flint.arb("inf"), e / 2
        while found > enough and left > _NOTHING:
            _, _, own, equal = self._puts(e, left)
            if not own >= equal:
                break
            found, left = equal.upper(), left / 2
        return found

    def _puts(self, e: flint.arb, left: flint.arb) -> tuple[flint.arb, flint.arb, flint.arb, flint.arb]:
        """For k that is so much less than E: k, up to where W is above -k, and the two puts, of 0 and s, and of equal inputs."""
        k, s = e - left, ball(self.s)
        y, z = self._where(left), self._where(k / (e - 1))
        return k, y, left * below(s - y) - below(-y), (e - 1) * below(z) - k * below(z - s)

    def _crossing(self, e: float) -> float:
        """Where the puts cross: how much less than E k is, in floats."""
        s, low, high = float(self.s), math.log(_NOTHING), math.log(e)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            left, y = math.exp(middle), s / 2 - middle / s
            z = s / 2 - math.log(max(e - left, _NOTHING) / (e - 1)) / s
            own, equal = left * ndtr(s - y) - ndtr(-y), (e - 1) * ndtr(z) - (e - left) * ndtr(z - s)
            low, high = (low, middle) if own > equal else (middle, high)
        return math.exp(high)

    def _where(self, ratio: flint.arb) -> flint.arb:
        """Up to where the density of 0 is more than `ratio` times that of s."""
        return ball(self.s / 2) - ratio.log() / ball(self.s)


def _ratios(one: Fraction, other: Fraction, places: Iterable[flint.arb]) -> list[flint.arb]:
    """Of the densities of two inputs."""
    slope, start = ball(one - other), ball((one * one - other * other) / 2)
    return [(slope * y - start).exp() for y in places]


def _together(atoms: Iterable[PointMass]) -> Law:
    """A law, with one atom for neighbours of one value."""
    found: list[PointMass] = []
    for value, mass in atoms:
        if found and found[-1][0] is value:
            found[-1] = value, found[-1][1] + mass
        else:
            found.append((value, mass))
    return Law.of(found)
