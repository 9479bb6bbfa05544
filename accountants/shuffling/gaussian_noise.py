r"""Shuffled numbers plus Gaussian noise: the ends of the inputs are the worst pair, although no epsilon0 holds.

In units of sigma an input is a number x in [0, s], and a report has the density :math:`f_x(y) = \varphi(y - x)`. E stands for
:math:`e^\varepsilon`; the blanket is :math:`b = \min(f_0, f_s)`, of mass :math:`2 \Phi(-s/2)`.

*The inputs 0 and s are the blanket's worst pair.* As for Laplace noise (`laplace_noise`) that follows from :math:`g_x = f_x/b`
being at most :math:`g_0` and :math:`g_s` in the convex order. With a = x and a' = s - x, b gives :math:`\{g_x > c\}`, for c
beyond its least value :math:`e^{a a'/2}`, the mass :math:`T(a) + T(a')`, and :math:`\{g_0 > c\}` the mass :math:`T(s)`, where
:math:`T(m) = \Phi(-z_m)`, :math:`z_m = m/2 + \ln c/m`. For a < s, T(a)/T(s) falls as c grows: the hazard rate h of a normal law
grows, and h(z)/z falls, so that :math:`h(z_a)/a \ge h(z_s)/s` also where :math:`z_a < z_s`, as :math:`z_a/a \ge z_s/s`. So the two
laws, of one mean, have tails that cross once, the one of :math:`g_x` being the larger first: that is the convex order (Karlin and
Novikoff 1963).

*Cells in place of the line.* An adversary who is told only in which cell a report lies knows less: a lower bound. For an upper
bound, what a ratio is within a cell is spread to the cell's two ends, with its mean kept, which is larger in the convex order; of
what lies beyond all cells the adversary is told. Both are wrong by the square of a cell's width, whatever n is. Where to cut is
chosen for a delta (`gaussian_cells`), since the tails of the reports matter more where it is small.

*Replacement* (`replaced`) is by the laws of `gaussian_types`, for s up to 2. In a secret sample of rate q each term
is :math:`q W + (1 - q)(1 - E)`, so that the same laws are the largest. Cells are those for delta/q of all who are drawn.

*Lower bounds* are attained where all others hold what user 1 holds first, what it holds then, or the middle; and, where users are
few or s is large, by the event that some report lies far out.

Not shown: that the worst are s, 0 among others at 0, as it looks. Of a thousand users at s = 1 a twelfth of epsilon is lost, for
single reports far out matter, and the contour of `largest_positive_part` loses phases there; of a million a thousandth. For s
above 2 only the blanket is known, and above 4 and below 1/1024 nothing.

Source: Balle, Bell, Gascon, Nissim 2019 for the blanket; arXiv 2601.19154 for its use where no epsilon0 holds. The worst pair is
proved here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import flint
import numpy as np

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.certified_search import log_of
from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.largest_positive_part import largest_positive_parts
from ldpaudit.accountants.numerics.phases import WRONG
from ldpaudit.accountants.shuffling.blanket import FloatEstimate, float_estimate, largest, precision
from ldpaudit.accountants.shuffling.bounds import Attained, BlanketBound, Bound, OthersAlike, Value
from ldpaudit.accountants.shuffling.gaussian_cells import Guide
from ldpaudit.accountants.shuffling.gaussian_types import Line, below
from ldpaudit.accountants.shuffling.laplace_noise import Balls, CutBlanket, law
from ldpaudit.accountants.shuffling.replaced import Replacement
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_down

_LEAST, _MOST = Fraction(1, 1 << 10), 4
"""Distances s for which this is done: nearer inputs are told apart by hardly anything, and further ones have hardly a blanket."""
_SMALL = 2
"""Distance s up to which replacement's types are known."""
_CELLS, _MOST_CELLS = ((4, 16), (6, 10), (16, 8), (300, 32), (3000, 96)), 192
"""Cells up to n users, and beyond: more cost time, and the sum of a few users' losses is less well known with more."""
_UPPER_CELLS, _BLANKET_CELLS = 128, 16
"""Most cells of the laws of replacement, and of the blanket of few users."""
_QUICK = 64
"""Cells of bounds of which curves are composed."""
_FEW, _MANY = 10, 300
"""Users with reports from the blanket from which on replacement is looked at, and the blanket is not."""
_NONE_GUIDES = 16
"""Users up to whom a search is not guided by floats, and as precise as what it looks at."""
_FINE, _FINER, _ROUGH = 4e-3, 1e-3, 1e-2
"""Relative widths of delta that are asked for, with fewer cells, with the most, and of some users, or to see whether a data set is
worth while; an epsilon moves by a twentieth of them."""
_BOX, _QUICK_BOX = 5e-4, 3e-3
"""Width of the narrowest boxes of other users' inputs, next to the ends."""
_HARDLY = 1e-3
"""Part of delta that may be added for what hardly matters."""
_USUAL = 1e-6  # delta that is looked at first
_DECADES = tuple(range(31))
_QUICK_DECADES = (0, 3, 6, 9, 12, 16, 20)
"""Of one over delta that cells are made for, also for curves."""
_MISSED = 1e4  # by how much a bound exceeds the delta that it is made for where others may be better


def bound(s: Fraction, ends: tuple[float, float], users: int) -> Bound:
    """Of all numbers between two ends, s deviations apart; nothing where these are too near, or too far apart."""
    return _Focused(s, ends, users, False) if _LEAST <= s <= _MOST else _Cut((), (), users)


@dataclass(frozen=True)
class _Focused(Bound):
    """Bounds whose cells are made for the delta that is asked for."""

    s: Fraction
    ends: tuple[float, float]
    users: int
    is_quick: bool
    drawn_from: int | None = None
    needs_epsilon0 = False

    @property
    def sources(self) -> tuple[str, str]:
        """See `Bound`."""
        return self.near(_USUAL).sources

    @property
    def quick(self) -> Bound:
        """See `Bound`."""
        return replace(self, is_quick=True)

    def sampled(self, users: int) -> _Focused | None:
        """See `Bound`; where replacement's types are known."""
        return replace(self, drawn_from=users) if self.s <= _SMALL else None

    def near(self, delta: float) -> _Cut:
        """See `Bound`; a sample has about its rate's part of the delta of those who are drawn."""
        delta *= (self.drawn_from or self.users) / self.users
        steps = _QUICK_DECADES if self.is_quick else _DECADES
        decades = next((step for step in steps if 10.0 ** -(step + 0.25) <= delta), steps[-1])
        return _near(self.s, self.ends, self.users, self.is_quick, 10.0**-decades, self.drawn_from)

    def _at(self, epsilon: Fraction) -> _Cut:
        """For the delta that a data set has there."""
        found = self.near(_USUAL)
        for _ in range(2):
            estimate = found.estimates()[0]
            nats = log_of(found.low(epsilon, _ROUGH)) if estimate is None else estimate(float(epsilon))
            found = self.near(math.exp(min(nats, 0.0)))
        return found

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Bound`; of cells for a larger delta where these show less."""
        own = self._at(epsilon)
        found = own.high(epsilon, tolerance)
        delta = own.goal
        while found > delta * _MISSED and delta < 1:
            delta *= _MISSED
            other = self.near(delta).high(epsilon, tolerance)
            if found < 1 and other >= found:
                break
            found = found.min(other)
        return found

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """See `Bound`."""
        return self._at(epsilon).attained(epsilon, tolerance)

    def both_ways(self, epsilon: float) -> tuple[Value, ...]:
        """See `Bound`; in the same cells at every epsilon, for what is composed is one pair of laws."""
        return self._at(Fraction(epsilon)).both_ways(epsilon)


@lru_cache(maxsize=32)
def _near(s: Fraction, ends: tuple[float, float], users: int, is_quick: bool, delta: float, drawn_from: int | None = None) -> _Cut:
    """Bounds whose cells are made for this delta of all who are drawn."""
    low, high, middle = *ends, sum(map(Fraction, ends)) / 2
    cells = min(next((n for most, n in _CELLS if users <= most), _MOST_CELLS), _QUICK if is_quick else _MOST_CELLS)
    guide, zero = Guide(float(s), users, delta), Fraction(0)
    with working_precision(precision(users)):
        alike = [OthersAlike(CutBlanket(_seen(guide.kept.cuts(cells), zero, s, zero)), (low, high), low)]
        # Where single reports far out matter, the sum's law is not well known; then it is better to look for such reports alone.
        changed = CutBlanket(_seen(guide.changed.cuts(cells), s, zero, zero))
        if changed.delta(ball(Fraction(guide.epsilon)).exp(), users, _ROUGH) >= delta:
            alike.append(OthersAlike(changed, (high, low), low))
        alike.append(OthersAlike(CutBlanket(_seen([guide.place(guide.epsilon)], s, zero, zero)), (high, low), low))
        hidden = CutBlanket(_seen(guide.hidden.cuts(cells), zero, s, s / 2), is_symmetric=True)
        alike.append(OthersAlike(hidden, ends, middle))
        gamma = 2 * below(-s / 2)
        blankets: tuple[CutBlanket, ...] = ()
        if s > _SMALL or not gamma * users > _MANY:
            few = min(cells, _BLANKET_CELLS) if users <= _MANY else cells
            blankets = (CutBlanket(_blanket(s, guide.blanket_cuts(few)), 1 - gamma),)
        replaced = None
        if s <= _SMALL and (drawn_from or gamma * users > _FEW):
            most, box = (_QUICK, _QUICK_BOX) if is_quick else (min(cells, _UPPER_CELLS), _BOX)
            replaced = _Capped((), gamma, line=Line.of(s, guide.all_cuts(most), box), least=delta)
    finest = _FINER if cells == _MOST_CELLS else _ROUGH if _NONE_GUIDES < users <= _MANY else _FINE
    found = _Cut(blankets, tuple(alike), users, finest=finest, replaced=replaced, s=s, guide=guide)
    return found if drawn_from is None else found.drawn(drawn_from)


@dataclass(frozen=True)
class _Cut(BlanketBound):
    """Bounds from cells."""

    needs_epsilon0 = False
    s: Fraction = Fraction(0)
    guide: Guide | None = None

    @property
    def goal(self) -> float:
        """The delta that cells are made for."""
        return 1.0 if self.guide is None else self.guide.delta * self.users / (self.drawn_from or self.users)

    @property
    def sources(self) -> tuple[str, str]:
        """See `Bound`."""
        above, below = super().sources
        return above if self.blankets or self.replaced else "as alone", below

    def drawn(self, users: int) -> _Cut:
        """Of a secret sample of this many users."""
        rate = Fraction(self.users, users)
        sets = tuple(replace(each, blanket=each.blanket.drawn(rate)) for each in self.data_sets[:-2])
        replaced = self.replaced and self.replaced.drawn(rate)
        return replace(self, blankets=(), data_sets=sets, replaced=replaced, drawn_from=users)

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """Of all data sets, since floats may not tell which one is the best; of many users but the last one, which never is."""
        if not self.data_sets or self.drawn_from:
            return super().attained(epsilon, tolerance)
        with working_precision(precision(self.users)):
            e, (*sets, far, hidden) = ball(epsilon).exp(), self.data_sets
            if self.guide is not None:  # from where on is chosen for each epsilon
                cells = _seen([self.guide.place(float(epsilon))], self.s, Fraction(0), Fraction(0))
                far = replace(far, blanket=CutBlanket(cells))
            found = [self._alike(each, e, tolerance) for each in (*sets, far, *([] if self.users > _FEW else [hidden]))]
        return max(found, key=lambda each: round_down(each.value))

    def estimates(self) -> tuple[FloatEstimate | None, FloatEstimate | None]:
        """See `Bound`; of a report far out in closed form, of which the saddle point tells little."""
        above = super().estimates()[1]
        if above is None or self.guide is None or self.drawn_from:
            return super().estimates()
        return largest([*self._attained, self.guide.level]), above

    @cached
    def _attained(self) -> tuple[FloatEstimate, ...]:
        return tuple(float_estimate(each.blanket, self.users) for each in self.data_sets[:-2])


def _seen(cuts: list[Fraction], first: Fraction, second: Fraction, others: Fraction) -> tuple[Balls, ...]:
    """Probabilities of the cells under each of these inputs: below all cuts, between them, and beyond."""
    columns = (law(lambda z: below(-z), x, cuts) for x in (first, second, others))
    return tuple(zip(*columns, strict=True))


def _blanket(s: Fraction, lower: list[Fraction]) -> tuple[Balls, ...]:
    """The ends 0 and s and their blanket, on the cells' ends, which are these, the middle, and their mirror images.

    Up to the middle :math:`f_s/b = 1`, so that user 1's two laws are spread at once.
    """
    zero, cuts = flint.arb(0), [*lower, s / 2]
    ratios = [ball(s * s / 2 - s * c).exp() for c in cuts]
    (tail, b, _), *cells = _seen(cuts, Fraction(0), s, s)[:-1]
    masses, seen = [b, *[zero] * (len(cuts) - 1)], tail - ratios[0] * b
    for i, (first, b, _) in enumerate(cells):
        near = (first - ratios[i + 1] * b) / (ratios[i] - ratios[i + 1])
        masses[i] += near
        masses[i + 1] += b - near
    half = [(ratio * b, b, b) for ratio, b in zip(ratios, masses, strict=True)]
    (last, _, _), told = half.pop(), ((seen, zero, zero), (zero, seen, zero))
    return (*half, (2 * last, 2 * last, 2 * last), *((second, first, b) for first, second, b in half), *told)


@dataclass(frozen=True, kw_only=True)
class _Capped(Replacement):
    """Replacement by laws whose largest values are cut off."""

    line: Line
    least: float  # about the delta that is looked for
    rate: Fraction = Fraction(1)  # at which users are drawn

    def drawn(self, rate: Fraction) -> _Capped:
        """See `Replacement`."""
        return replace(self, gamma=Fraction(1), is_sample=True, rate=rate)

    def means(self, exp_epsilon: flint.arb) -> Callable[[int, Sequence[int]], list[flint.arb]]:
        """See `Replacement`; what is cut off is added. In a sample, where user 1 is not drawn W is 1 - E."""
        exp_epsilon = flint.arb(round_down(exp_epsilon))  # W falls with it
        laws, added = self.line.terms(exp_epsilon, self.least * _HARDLY)
        if self.is_sample:
            q, rest = float(self.rate), float(ball(1 - self.rate) * (1 - exp_epsilon))
            both = [(q * law.values + rest, np.abs(law.values) + abs(rest), law.masses) for law in laws]
            laws, added = [Law(values + WRONG * sizes, masses) for values, sizes, masses in both], ball(self.rate) * added

        def ends(m: int, numbers: Sequence[int]) -> list[flint.arb]:
            return [each / n + added for each, n in zip(largest_positive_parts(laws, m, numbers), numbers, strict=True)]

        return ends

    def delta(self, exp_epsilon: flint.arb, users: int) -> flint.arb:
        """See `Replacement`; 1 where floats do not hold a number that large."""
        try:
            return super().delta(exp_epsilon, users)
        except (ArithmeticError, ValueError):
            return flint.arb(1)
