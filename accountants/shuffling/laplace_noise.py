r"""Shuffled numbers plus Laplace noise: the two ends of the inputs are the blanket's worst pair, among any number of users.

In units of the noise's scale an input is a number x in [0, s], a report has the density :math:`f(y - x) = e^{-|y-x|}/2`, and
the blanket is :math:`b(y) = \min(f(y), f(y - s))`, of mass :math:`e^{-s/2}`.

*The inputs 0 and s are the worst pair*, at every epsilon. Let :math:`g_x = f(y - x)/b` and
:math:`w = g_x - e^\varepsilon g_{x'}`. The bound is the expectation of a convex function of independent copies of w(Y), so it
is no smaller for a pair whose w is larger in the convex order. For every c, with A over all sets of reports,

.. math:: E_b (w - c)_+ = \max_A R_x(A) - e^\varepsilon R_{x'}(A) - c\, b(A)
          \le \max_m \Bigl(\max_{b(A) = m} R_x(A) - e^\varepsilon \min_{b(A) = m} R_{x'}(A) - c m\Bigr)

For x <= s/2, :math:`g_x` and :math:`g_0` fall with y, have one mean, and cross once, at y = x/2; and :math:`g_{s-x}` is
the mirror image of :math:`g_x`. So the inner maximum is at most :math:`R_0(\{y \le t\})`, where b gives {y <= t} the mass m;
and by symmetry the minimum is at least :math:`R_s(\{y \le t\})`. One set attains both, which is what the pair 0, s makes of it.

*Cuts.* The same convexity makes finite laws of it. An adversary who is told only which interval a report lies in knows less:
that is a lower bound. Where w within an interval is replaced by its values at the two ends, with the same mean, the bound is
larger. Both are wrong by the square of the intervals' width, whatever n is; rounding w itself would be wrong by n widths.

Source: Balle, Bell, Gascon, Nissim 2019 for the blanket; arXiv 2601.19154 for its use where losses are continuous. The worst
pair and the cuts are proved here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import flint

from ldpaudit.accountants.numerics.balls import Probability, ball
from ldpaudit.accountants.shuffling.blanket import Blanket, Cell, precision
from ldpaudit.accountants.shuffling.bounds import BlanketBound, OthersAlike
from ldpaudit.core.working_precision import working_precision

_INTERVALS, _PER_SCALE = (8, 24), (1, 2)
"""On either side of s/2, at least, and per unit of s: where the users are few or curves are composed, and else. With 24 epsilon
moves by 1e-4 of itself at s = 1; with 48 by a quarter of that, in three times the time; with 8 by 1e-3."""
_FEW_USERS = 16
"""Up to so many users an evaluation takes longer, and a search needs more of them."""
_LEAST, _MOST = Fraction(1, 1 << 30), 40
"""Distances s for which this is done. Between nearer inputs the intervals' ends are one number to the digits that are carried,
and further ones are hidden by no number of users."""
_WIDTHS = 2e-3, 1e-4
"""Relative widths at which the two are computed; an epsilon moves by a tenth of that and less."""


@dataclass(frozen=True, slots=True, eq=False)
class CutBlanket(Blanket):
    """One whose cells are balls, so that what it is cannot be read off them, and which is equal to itself alone."""

    silent: Probability  # how likely another user sends nothing
    is_symmetric: bool = False  # a field in place of a property

    __eq__, __hash__ = object.__eq__, object.__hash__  # balls have no hash

    def drawn(self, rate: Fraction) -> CutBlanket:
        """See `Blanket`."""
        return CutBlanket(Blanket.drawn(self, rate).cells, self.silent)

    @property
    def silence(self) -> Probability:
        """See `Blanket`."""
        return self.silent


@lru_cache(maxsize=64)
def bound(s: Fraction, ends: tuple[float, float], users: int) -> BlanketBound | None:
    """Of all numbers between two ends; None where these are too near, or too far apart.

    ``s``: the distance of the ends in scales; ``ends``: as the inputs are called; ``users``: n, at least 2.
    """
    if not _LEAST <= s <= _MOST:
        return None
    coarse, fine = (max(least, int(each * s)) for least, each in zip(_INTERVALS, _PER_SCALE, strict=True))
    quick = _cut(s, ends, users, coarse, _WIDTHS[0])
    return quick if users <= _FEW_USERS else replace(_cut(s, ends, users, fine, _WIDTHS[1]), coarser=quick)


def _cut(s: Fraction, ends: tuple[float, float], users: int, count: int, width: float) -> BlanketBound:
    """The bounds with this many intervals on either side of the middle."""
    low, high, middle = *ends, sum(map(Fraction, ends)) / 2
    cuts = [s * j / (2 * count) for j in range(2 * count + 1)]
    with working_precision(precision(users)):
        above = CutBlanket(_spread(s, cuts[: count + 1]), 1 - ball(-s / 2).exp())
        first, second, between = (_law(x, cuts) for x in (Fraction(0), s, s / 2))
        kept = CutBlanket(tuple(zip(first, second, first, strict=True)), Fraction(0))
        changed = CutBlanket(tuple(zip(second, first, first, strict=True)), Fraction(0))
        hidden = CutBlanket(tuple(zip(first, second, between, strict=True)), Fraction(0), is_symmetric=True)
    alike = OthersAlike(kept, (low, high), low), OthersAlike(changed, (high, low), low), OthersAlike(hidden, ends, middle)
    return BlanketBound((above,), alike, users, finest=width)


def _chance(start: Fraction, end: Fraction) -> flint.arb:
    """Probability that the noise lies between the two, on one side of 0."""
    near, far = (start, end) if start >= 0 else (-end, -start)
    return (ball(-near).exp() - ball(-far).exp()) / 2


def _law(x: Fraction, cuts: list[Fraction]) -> list[flint.arb]:
    """Probabilities of a report of x, which is one of the cuts: below all cuts, between them, and beyond."""
    inside = [_chance(start - x, end - x) for start, end in pairwise(cuts)]
    return [ball(cuts[0] - x).exp() / 2, *inside, ball(x - cuts[-1]).exp() / 2]


def _spread(s: Fraction, cuts: list[Fraction]) -> tuple[Cell, ...]:
    """The pair of the two ends and the blanket, each interval's reports moved to its ends.

    From 0 to s/2, where the cuts end, the blanket is the second law, and the first one's ratio to it falls to 1; below 0 it
    is what it is at 0. Beyond s/2 is the mirror image.
    """
    ratios, weights = [ball(s - 2 * y).exp() for y in cuts], [flint.arb(0) for _ in cuts]
    weights[0] = ball(-s).exp() / 2
    for j, (start, end) in enumerate(pairwise(cuts)):
        first, blanket = _chance(start, end), _chance(start - s, end - s)
        nearer = (first - ratios[j + 1] * blanket) / (ratios[j] - ratios[j + 1])
        weights[j] += nearer
        weights[j + 1] += blanket - nearer
    *half, (middle, _, _) = [(ratio * w, w, w) for ratio, w in zip(ratios, weights, strict=True)]
    return (*half, (2 * middle,) * 3, *((r2, r1, b) for r1, r2, b in half))
