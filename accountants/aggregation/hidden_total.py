r"""Sums of one-hot reports of three and more values, with discrete Laplace noise on every count: how many are of two is not told.

As in `noisy_counts` a report is a uniform draw with probability :math:`k \min(p, q)`, all other reports of the others are told, and
how many are draws, L - 1. Of the draws and user 1's report together we tell, without noise, how often each value is reported but
for three: user 1's two, and a third one. So it is told how many are of the three, r. With :math:`w_r` for the probability that r of
the L - 1 draws are, and M for the law of r uniform draws from three values, their counts c and the told ones have the probability

.. math:: M(c)\, \Bigl(\beta_r + 3 w_{r-1} (p - q) \frac{c_1}{r}\Bigr), \quad \beta_r = 3 q\, w_{r-1} + (k - 3)\, q\, w_r

times that of the told ones given r, whatever user 1 holds: a report of each value v precedes M by :math:`3 c_v / r`. Where user 1
holds the second value, :math:`c_1` is :math:`c_2`. Seen are the three noisy counts, y. With x for
:math:`e^\varepsilon`, delta is at most the sum over r of

.. math:: E\bigl(3 w_{r-1} |p - q|\, \bar\xi - (x - 1)\, \beta_r\bigr)_+, \quad \bar\xi = E[c_1 - x c_2 \mid y] / r

and where p is less than q, of that with :math:`x c_1 - c_2`. The mean is that of one report's :math:`1_1 - x 1_2` given y, and y of
r + 1 reports is computed from that of r and another report: so it decreases in convex order as r grows, and the least r of a range
bounds all of it. Noise falls by one factor on either side, :math:`\alpha` a step. So a noisy count beyond all counts tells what the
last one does, and is taken for it; and sums with the noise are two running sums. Delta is convex in x: chords bound it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpaudit.accountants.aggregation.coordinate import ROOM, Floats, Pair, TwoCoordinates, below_exp
from ldpaudit.accountants.aggregation.exchanged import ToldMore
from ldpaudit.accountants.aggregation.noisy_counts import Excess, NoisyCounts
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.enclosure import Enclosure, round_down
from ldpaudit.profile import Number, require_delta

_DRAWS, _COUNTED = (0.025, 0.1, 1e-3), (0.05, 0.5, 1e-3)
"""Part by which a slice exceeds its least number, more where it is rare: of draws, and of reports of three values."""
_LEFT = 1e-15
"""Probability of either end of a count that is left out."""
_MOST = 1 << 22
"""Most triples of noisy counts."""
_SLACK = 1e-9
"""Relative, within which a triple is taken for one that gains."""
_NEAR = 1 + np.array([0.003, 0.006, 0.008, 0.01, 0.012, 0.016, 0.025, 0.035, 0.05, 0.07, 0.09, 0.13])
_BELOW = np.linspace(0.85, 1.0, 31)
"""Of a lower bound of epsilon, or of another upper bound, what is looked at."""


@dataclass(frozen=True)
class HiddenTotal(ToldMore):
    """The upper end of such a sum."""

    bound: NoisyCounts
    alpha: Fraction  # of the noise on each count
    both: Callable[[], Pair | None]  # two counts at a data set, which bound epsilon from below
    told = "three noisy counts, where all other reports are told but for uniform draws"

    def _high(self, epsilon: float, enough: float = 1.0) -> float:
        return float(self._highs(np.array([below_exp(epsilon)]))[0])

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Near a lower bound, by a chord between two numbers; else the other bound."""
        if not delta:
            return self.bound.epsilon(delta)
        goal, pair = round_down(Fraction(require_delta(delta))), self.both()
        if pair is None:
            near = self.bound.epsilon(delta).high * _BELOW
        else:
            near = max(TwoCoordinates(each).epsilon(goal) for each in (pair, pair.reversed)) * _NEAR
        if 0 < near[-1] < math.inf:
            x = np.array(list(map(below_exp, near.tolist())))
            y = self._highs(x)
            if y[-1] <= goal:
                last = int(np.flatnonzero(np.append(True, y > goal))[-1])
                a, b = max(last - 1, 0), last
                part = (y[a] - goal) / (y[a] - y[b]) * (1 + 64 * UNIT) if last else 1.0
                reached = x[a] + (x[b] - x[a]) * min(part, 1.0)
                return self._least(self.bound.bound.epsilon(delta), math.log(reached) * (1 + ROOM) + 16 * UNIT)
        return self.bound.epsilon(delta)

    def _highs(self, x: Floats) -> Floats:
        """Upper bounds of delta at ``log x``, from 1 up: 1 where there is too much to compute."""
        is_more, q = self.bound.of.p >= self.bound.of.q, self.bound.of.q
        slices, left = self.bound.weights(3, 3 * q, _DRAWS, _COUNTED)
        total = np.full(len(x), left)
        for start, gains, kept in slices:
            if not len(gains) or not gains.any():
                continue
            least = float((kept / gains).min())
            if (means := self._means(start, float(x.min()), least)) is None:
                return np.ones(len(x))
            (*laws, falling), error = means
            for place, each in enumerate(x.tolist()):
                mass, one, other = (law[: np.searchsorted(falling, -each)] for law in laws)
                mean = (one - each * other if is_more else each * one - other) / mass + 2 * (1 + each) * error
                excess = Excess.of(mass, mean, error)
                total[place] += float((gains * np.interp((each - 1) * kept / gains, *excess, right=0.0)).sum())
        return np.asarray(np.minimum(total * (1 + 1e-9) + 40 * (1 + x) * _LEFT, 1.0), dtype=np.float64)

    def _means(self, r: int, x: float, least: float) -> tuple[list[Floats], float] | None:
        """Of noisy counts of r draws from three values: probabilities, and times those, mean parts of either value.

        Also minus the x up to which there is a gain, in whose order they are, and a relative error. None where there are too many;
        those are left out that gain nothing at x, where what is kept is at least `least` times what is gained.
        """
        from scipy.special import gammaln  # here: it takes a while to import

        law = Masses.binomial(r, Fraction(1, 3)).without_ends(_LEFT)
        size, c = len(law.values), law.first + np.arange(len(law.values))
        error = 16 * UNIT * (2 * float(gammaln(r + 1)) + r + 4 * size + 64)
        if size**3 > _MOST or error * (1 + x) > _SLACK / 10:
            return None
        third = r - c[:, None] - c
        fits = (third >= c[0]) & (third <= c[-1])
        logs = gammaln(r + 1) - gammaln(c + 1)[:, None] - gammaln(c + 1) - gammaln(np.where(fits, third, 0) + 1) - r * math.log(3)
        draws, place = np.exp(np.where(fits, logs, -np.inf)), np.where(fits, third - c[0], 0)
        seen = self._noisy(np.eye(size)).T[place] * draws[:, :, None]  # with the noise of the third count
        mass, one = (self._noisy(self._noisy(each).swapaxes(0, 1)) for each in (seen, seen * (c / r)[:, None, None]))
        mass, one = mass.swapaxes(0, 1), one.swapaxes(0, 1)
        other = one.swapaxes(0, 1)
        kept = mass * least  # above `one` and `other` where p is less than q
        with np.errstate(divide="ignore", invalid="ignore"):
            until = (one + kept) / (other + kept) if self.bound.of.p >= self.bound.of.q else (kept - other) / (kept - one)
        until = np.where(mass > 0, until * (1 + _SLACK), 0.0)  # whatever gains is there, by far more than floats are off
        order = np.flatnonzero(until > x)
        order = order[np.argsort(-until.ravel()[order])]
        return [each.ravel()[order] for each in (mass, one, other, -until)], error

    def _noisy(self, law: Floats) -> Floats:
        """Probabilities of the noisy count, along the first axis; those beyond all counts are of the ends."""
        alpha, ups, downs = float(self.alpha), law.copy(), law.copy()
        for i in range(1, len(law)):
            ups[i] += alpha * ups[i - 1]
            downs[-1 - i] += alpha * downs[-i]
        ends = downs[0] / (1 + alpha), ups[-1] / (1 + alpha)
        ups += downs
        ups -= law
        ups *= float((1 - self.alpha) / (1 + self.alpha))
        ups[0], ups[-1] = ends
        return ups
