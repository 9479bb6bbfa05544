r"""Shuffled numbers plus Laplace noise: the two ends of the inputs are the blanket's worst pair, among any number of users.

In units of the noise's scale an input is a number x in [0, s], a report has the density :math:`f_x(y) = e^{-|y-x|}/2`, and
the blanket is :math:`b = \min(f_0, f_s)`, of mass :math:`e^{-s/2}`.

*The inputs 0 and s are the blanket's worst pair*, at every epsilon. Let :math:`g_x = f_x/b` and
:math:`w = g_x - e^\varepsilon g_{x'}`. The bound is the expectation of a convex function of independent copies of w(Y), so it
is no smaller for a pair whose w is larger in the convex order. For every c, with A over all sets of reports,

.. math:: E_b (w - c)_+ = \max_A R_x(A) - e^\varepsilon R_{x'}(A) - c\, b(A)
          \le \max_m \Bigl(\max_{b(A) = m} R_x(A) - e^\varepsilon \min_{b(A) = m} R_{x'}(A) - c m\Bigr)

For x <= s/2, :math:`g_x` and :math:`g_0` fall with y, have one mean, and cross once, at y = x/2; and :math:`g_{s-x}` is
the mirror image of :math:`g_x`. So the inner maximum is at most :math:`R_0(\{y \le t\})`, where b gives {y <= t} the mass m;
and by symmetry the minimum is at least :math:`R_s(\{y \le t\})`. One set attains both, which is what the pair 0, s makes of it.

*A grid in place of the line.* Let p < q be neighbours on a grid of width h with both ends, and :math:`H_p(y) = \sinh(q-y)/\sinh h`
and :math:`H_q(y) = \sinh(y-p)/\sinh h` between them. Every combination of :math:`e^y` and :math:`e^{-y}`, so the density of each
input on the grid, is there :math:`H_p(y) f(p) + H_q(y) f(q)`. Beyond the ends it is f(0) or f(s) times a function of y. So a
report of an input on the grid is a grid point t drawn with the probability :math:`f(t) \cdot 2 \tanh(h/2)`, or
:math:`f(t) (1 + \tanh(h/2))` at the two ends, and then moved by a law that depends on t alone: an adversary who is told t knows
more. That is an upper bound. An adversary who is told only which interval a report lies in knows less: a lower bound. Both are
wrong by the square of h, whatever n is; rounding w itself would be wrong by n widths.

*Replacement* (`replaced`) asks for the laws of :math:`W = (f_{x_1} - e^\varepsilon f_{x_2})/f_x` under :math:`R_x`, or larger
ones in the convex order, for all numbers. Let E stand for :math:`e^\varepsilon` and

.. math:: S(c) = E(W - c)_+ = \max_A R_{x_1}(A) - E R_{x_2}(A) - c R_x(A), \qquad A = \{W > c\} \text{ being the best}

1. Where :math:`|x_1 - x_2| \le \varepsilon`, :math:`f_{x_1} \le E f_{x_2}` everywhere, and delta is 0. Let it be more.
2. Where x lies between the two, say :math:`x_1 \le x \le x_2`, W falls with y, so that A is a half-line {y < t}. There
   :math:`R_{x_1}` is at most :math:`R_0` and :math:`R_{x_2}` at least :math:`R_s`: the pair 0, s is no better hidden by x. The
   pair s, 0 is its mirror image.
3. Where x lies on one side, it may be 0 and below both, for only distances count. If :math:`x_1 < x_2`, W rises up to
   :math:`x_1`, then falls up to :math:`x_2`, and stays there: at its least, since it is :math:`2 E \sinh x_2 - 2 \sinh x_1 \ge 0`
   less than at y < 0. So A is everything, where S(c) is the same for all laws, or part of :math:`\{y < x_2\}`, where
   :math:`f_s \le f_{x_2}`: to hold s instead of :math:`x_2` is no better hidden. If :math:`x_2 < x_1`, W falls up to :math:`x_2`,
   rises up to :math:`x_1`, and stays there: above 0, for :math:`x_1 - x_2 > \varepsilon`, and below 0 at y < 0. So what A leaves
   out is everything, or part of :math:`\{y < x_1\}`, and to hold s instead of :math:`x_1` is no better hidden. What remains are
   the pairs u, s and s, u among others at 0.
4. A number z between p and q has, with :math:`\kappa = 1 - \cosh((p+q)/2 - z)/\cosh(h/2)`,

   .. math:: f_z = \alpha f_p + \beta f_q + \kappa B, \qquad \alpha = \frac{\sinh(q - z)}{\sinh h}, \quad
             \beta = \frac{\sinh(z - p)}{\sinh h}, \quad \alpha + \beta = 1 - \kappa

   with the density B between p and q, for outside of these :math:`\alpha f_p + \beta f_q = f_z`. If *another user* holds z, S(c)
   is at most the mean, with the weights :math:`\alpha/(1-\kappa)` and :math:`\beta/(1-\kappa)`, of the same with
   :math:`(1-\kappa) f_p` or :math:`(1-\kappa) f_q` in place of :math:`f_z`, and of :math:`\kappa (-c)_+`: as if it held p or q,
   and sent nothing with probability kappa. That grows with kappa, which is at most :math:`\kappa_* = 1 - 1/\cosh(h/2)`.
5. If *user 1* holds z, S(c) is convex in its law, so that it may hold p or q, or send, with probability :math:`\kappa_*`, a draw
   from B instead. Now :math:`\kappa_* B \le \tanh(h/4) \le \rho (H_p + H_q)`, :math:`\rho = \tanh(h/4) \cosh(h/2)`, and
   :math:`(v + r)_+` is convex in r: on the grid the draws from B make the density of user 1's report, at a part of p and a part of
   q, larger by rho. Both parts together have the weight :math:`\omega = \kappa_*/\rho = \tanh(h/2)/\cosh(h/2)`, in place of
   :math:`\tanh(h/2)` or more for each point; S(c) is linear in how omega is shared, so that one point has all of it.

So the types are: 0, s among others at a grid point, silent with probability :math:`\kappa_*`; and u, s or s, u among others at 0,
where u is a grid point, with or without a part omega of a neighbour or of its own that has the mass :math:`\kappa_*` more. The
grid may be another one for each: it is coarse for large u, which are far from the worst.

Not shown: that the worst are 0, s among others at 0, as it looks.

Source: Balle, Bell, Gascon, Nissim 2019 for the blanket; arXiv 2601.19154 for its use where losses are continuous. The worst
pair, the grid and the types of other users are proved here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import Probability, as_ball, ball
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import BlanketBound, OthersAlike
from ldpaudit.accountants.shuffling.replaced import Replacement, quotients
from ldpaudit.core.working_precision import working_precision

Balls: TypeAlias = tuple[flint.arb, flint.arb, flint.arb]
"""A `blanket.Cell`."""

_INTERVALS, _PER_SCALE = (8, 24), (1, 2)
"""On either side of s/2, at least, and per unit of s: where the users are few or curves are composed, and else. With 24 epsilon
moves by 1e-4 of itself at s = 1; with 48 by a quarter of that, in three times the time; with 8 by 1e-3."""
_FEW_USERS = 16
"""Up to this many users an evaluation takes longer, and a search needs more of them."""
LEAST, MOST = Fraction(1, 1 << 30), 40
"""Distances s for which this is done. Between nearer inputs the intervals' ends are one number to the digits that are carried,
and further ones are hidden by no number of users."""
WIDTHS = 2e-3, 1e-4
"""Relative widths at which the two are computed; an epsilon moves by a tenth of that and less."""
_COARSE, _COARSE_PER_SCALE, _CUT = 12, 4, (4, 2)
"""Intervals of the coarse grid of types, at least and per scale; and into how many its intervals are cut on the finer ones."""
_FEW_SCALES = 4
"""Distance s up to which transforms are taken; beyond, types are more and the users that they are for fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class CutBlanket(Blanket):
    """One whose cells are balls, so that what it is cannot be read off them, and which is equal to itself alone."""

    silent: Probability = Fraction(0)  # how likely another user sends nothing
    is_symmetric: bool = False  # a field in place of a property

    __eq__, __hash__ = object.__eq__, object.__hash__  # balls have no hash

    @property
    def turned(self) -> CutBlanket:
        """See `Blanket`."""
        return CutBlanket(Blanket.turned.__get__(self).cells, self.silent)

    def drawn(self, rate: Fraction) -> CutBlanket:
        """See `Blanket`."""
        return CutBlanket(Blanket.drawn(self, rate).cells, self.silent)

    def part(self, rate: Fraction) -> CutBlanket:
        """See `Blanket`."""
        return CutBlanket(Blanket.part(self, rate).cells, ball(rate) * as_ball(self.silent), self.is_symmetric)

    @property
    def silence(self) -> Probability:
        """See `Blanket`."""
        return self.silent


@lru_cache(maxsize=64)
def bound(s: Fraction, ends: tuple[float, float], users: int) -> BlanketBound | None:
    """Of all numbers between two ends, s scales apart; None where these are too near, or too far apart."""
    if not LEAST <= s <= MOST:
        return None
    coarse, fine = (max(least, 2 * math.ceil(each * s / 2)) for least, each in zip(_INTERVALS, _PER_SCALE, strict=True))
    quick = _cut(s, ends, users, coarse, WIDTHS[0])
    return quick if users <= _FEW_USERS else replace(_cut(s, ends, users, fine, WIDTHS[1]), coarser=quick)


def _cut(s: Fraction, ends: tuple[float, float], users: int, count: int, width: float) -> BlanketBound:
    """The bounds with this many intervals on either side of the middle."""
    low, high, middle = *ends, sum(map(Fraction, ends)) / 2
    cuts = [s * j / (2 * count) for j in range(2 * count + 1)]
    with working_precision(precision(users)):
        rows = _Grid.of(s, 2 * count).rows
        half = list(zip(rows[0], rows[-1], rows[-1], strict=True))[: count + 1]
        above = CutBlanket((*half, *((r2, r1, b) for r1, r2, b in half[:-1])), 1 - ball(-s / 2).exp())
        replaced = _replacement(s, width == WIDTHS[1])
        first, second, between = (reports(x, cuts) for x in (Fraction(0), s, s / 2))
        kept = CutBlanket(tuple(zip(first, second, first, strict=True)))
        changed = CutBlanket(tuple(zip(second, first, first, strict=True)))
        hidden = CutBlanket(tuple(zip(first, second, between, strict=True)), is_symmetric=True)
    alike = OthersAlike(kept, (low, high), low), OthersAlike(changed, (high, low), low), OthersAlike(hidden, ends, middle)
    return BlanketBound((above,), alike, users, finest=width, replaced=replaced)


def law(tail: Callable[[Fraction], flint.arb], x: Fraction, cuts: list[Fraction]) -> list[flint.arb]:
    """Probabilities of a report of x: below all cuts, between them, and beyond; of rare ones as many digits.

    ``tail``: probability that noise, which is symmetric, exceeds a number from 0 on.
    """
    signed, none = [Fraction(-1), *(c - x for c in cuts), Fraction(1)], flint.arb(0)
    tails = [none, *(tail(abs(z)) for z in signed[1:-1]), none]
    return [
        there - here if end <= 0 else here - there if start >= 0 else 1 - here - there
        for (start, end), (here, there) in zip(pairwise(signed), pairwise(tails), strict=True)
    ]


def reports(x: Fraction, cuts: list[Fraction]) -> list[flint.arb]:
    """The same of noise of scale 1."""
    return law(lambda z: ball(-z).exp() / 2, x, cuts)


def grid_weights(s: Fraction, steps: int) -> list[flint.arb]:
    """What the densities at grid points are multiplied by to be probabilities of these."""
    rise = ball(s / (2 * steps)).tanh()
    return [(1 + rise) / 2, *[rise] * (steps - 1), (1 + rise) / 2]


@dataclass(frozen=True, slots=True)
class _Grid:
    """Reports that are grid points, at the current precision."""

    rows: list[list[flint.arb]]  # of each grid point as an input
    added: flint.arb  # kappa, at its largest
    parts: list[flint.arb]  # of the weight of each grid point, omega

    @classmethod
    def of(cls, s: Fraction, steps: int) -> _Grid:
        """From 0 to s."""
        half, weights = ball(s / (2 * steps)), grid_weights(s, steps)
        fallen = [ball(-s * k / steps).exp() for k in range(steps + 1)]
        rows = [[w * fallen[abs(i - j)] for j, w in enumerate(weights)] for i in range(steps + 1)]
        omega = half.tanh() / half.cosh()
        return cls(rows, 1 - 1 / half.cosh(), [omega / (2 * w) for w in weights])

    def between(self, far: int, x: int) -> CutBlanket:
        """User 1 holds the first point or this one, among others who hold a number next to one in between."""
        cells = ((r1, r2, (1 - self.added) * r) for r1, r2, r in zip(self.rows[0], self.rows[far], self.rows[x], strict=True))
        return CutBlanket((*cells, (Fraction(0), Fraction(0), self.added)))

    def beyond(self, u: int, far: int) -> Iterator[CutBlanket]:
        """User 1 holds a number between two neighbouring points, or the far one, in either order, among others at the first."""
        for near, more in product((u, u + 1), (None, u, u + 1)):
            left, cells = 1 if more is None else 1 - self.added, []
            for j, (own, r2, b) in enumerate(zip(self.rows[near], self.rows[far], self.rows[0], strict=True)):
                part = self.parts[j] if j == more else 1
                cells.append((left * own * part + (self.added if j == more else 0), r2 * part, b * part))
                if j == more:
                    cells.append((left * own * (1 - part), r2 * (1 - part), b * (1 - part)))
            yield CutBlanket(tuple(cells))
            yield CutBlanket(tuple((r2, r1, b) for r1, r2, b in cells))


def _replacement(s: Fraction, precise: bool) -> Replacement:
    """Of all pairs of user 1's inputs; or by three moments of each type, whatever the users are."""
    gamma, last = ball(-s / 2).exp(), max(_COARSE, _COARSE_PER_SCALE * math.ceil(s))
    many, few = _CUT
    types = _types(s, last, few)
    if not precise or s > _FEW_SCALES:
        return Replacement((), gamma, pairs=quotients(types))
    return Replacement(types, gamma, pairs=quotients(_types(s, last, many)))


def _types(s: Fraction, last: int, cut: int) -> tuple[CutBlanket, ...]:
    """On a grid that is finer next to the worst."""
    steps = last * cut
    fine, coarse = _Grid.of(s, steps), _Grid.of(s, last)
    found = [fine.between(steps, x) for x in (*range(cut + 1), *range(steps - cut, steps + 1))]
    found += [coarse.between(last, x) for x in range(1, last)]
    found += [law for u in range(cut) for law in fine.beyond(u, steps)]
    return tuple(found + [law for u in range(1, last) for law in coarse.beyond(u, last)])
