r"""The exact test on a fixed number of views at delta > 0: the worst case of what a wrong guess's probability may be.

With W the probability that a view is guessed wrong, :math:`c = e^\varepsilon/(k-1)` and :math:`\delta'` the delta times
the share of the inputs that are guessed, (epsilon, delta)-privacy allows a right guess at most
:math:`R = c W + \delta'` (for each event S, :math:`P(S) \le e^\varepsilon Q(S) + \delta`, averaged over the inputs).
Counts are ordered by the lambda of the curve

.. math:: right = n \delta' + \lambda\,wrong + z \sqrt{n \delta' + \lambda (1 + \lambda)(wrong + 1 + z^2/4)},
          \quad z = z_{1-\alpha},

that they lie on, a normal approximation to the bound; any order would do that grows with right, falls with wrong and does
not depend on epsilon. So the tail grows with R and falls with W: the worst case has R as large as W allows, only W is
unknown, and

.. math:: p(\varepsilon) = \beta + \sup_{W \in C} \Pr_{(cW + \delta', W)}[\lambda \ge \lambda_{observed}]

grows with epsilon and inverts to a bound; C is the exact confidence interval for W at level :math:`\beta = \alpha/1000`.
Source: Berger, Boos 1994. Tails of large counts are bounded from above by Zubkov, Serov 2013, within one count.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.bounds.binomial import MARGIN
from ldpaudit.attacks.bounds.counts import Counts, LevelTest

NUISANCE = 1e-3
"""Share of the level that pays for the confidence interval of the nuisance W. It is lost
to the test, and a wider interval would cost more. Source: Berger, Boos 1994."""
EXACT = 512
"""Up to this many wrong guesses are summed one by one, and tails of up to four times as many right guesses are exact."""
_BLOCKS, _CELLS, _ROUNDS = 512, 32, 16
"""Blocks of wrong guesses above that, cells of C to begin with, and rounds in which the cells that decide are halved. More
of any only narrows the p-value, which is an upper bound at every setting."""
_TRIED = 16  # cells, besides the most promising one, in which the worst case is tried at a point
_SHARP = 1.03
"""The supremum is found, from above, to within this factor at levels of a sixth and above, and to its power z below."""
_NEAR, _PRECISION, _STEPS = 0.99, 1e-6, 12
"""The inversion ends where p is at least this share of the level, or epsilon this precise, or after this many steps."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NuisanceTest(LevelTest):
    """The test; see `ldpaudit.attacks.bounds.counts.LevelTest`."""

    inputs: int  # how many inputs the game draws from
    share: float  # the delta times the share of the inputs that are ever guessed, above 0
    alpha: float  # failure probability

    def refutes(self, counts: Counts, epsilon: float) -> bool:
        return self._worst(counts, epsilon, self.alpha) <= self.alpha

    def p_value(self, counts: Counts, epsilon: float) -> float:
        """See `LevelTest`; never below a thousandth of the level."""
        return self._worst(counts, epsilon, 0.0)

    def epsilon_lower(self, counts: Counts) -> float:
        if not self.refutes(counts, 0.0):
            return 0.0
        near = max(math.log(self._curve(counts)) + math.log(self.inputs - 1), 0.0)
        step = 0.5 / math.sqrt(counts.right + counts.wrong)
        low, high = 0.0, near + step
        while (above := self.p_value(counts, high)) <= self.alpha:
            low, high, step = high, high + step, 2 * step
        at = max(low, near - step)
        while (below := self.p_value(counts, at)) > self.alpha:
            high, above, step = at, below, 2 * step
            at = max(low, at - step)
        low = at
        # The logarithm of p is nearly a parabola of epsilon: the secant, and where it stalls on one side the middle.
        for _ in range(_STEPS):
            if below >= _NEAR * self.alpha or high - low <= _PRECISION * high:
                break
            part = math.log(self.alpha / below) / math.log(above / below)
            middle = low + (high - low) * min(max(part, 0.02), 0.98)
            if (p := self.p_value(counts, middle)) <= self.alpha:
                low, below = middle, p
            else:
                high, above = middle, p
        return low

    @property
    def _z(self) -> float:
        return max(1.0, -float(special.ndtri(self.alpha)))

    def _curve(self, counts: Counts) -> float:
        """The lambda of the curve through the counts, rounded down; 0 where there is none."""
        wrong, square = counts.wrong, self._z**2
        wide = square * (wrong + 1 + square / 4)
        gained, explained = counts.right - counts.trials * self.share, square * counts.trials * self.share
        if gained <= math.sqrt(explained):
            return 0.0
        a, b, c = wrong**2 - wide, 2 * gained * wrong + wide, gained**2 - explained
        return 2 * c / (b + math.sqrt(b * b - 4 * a * c)) * (1 - 1e-12)

    def _worst(self, counts: Counts, epsilon: float, stop: float) -> float:
        """Upper bound on the p-value, three percent too large at most; less precise once it is surely above or below `stop`."""
        if epsilon == math.inf or not (curve := self._curve(counts)):
            return 1.0
        odds = math.exp(min(epsilon, 700.0)) / (self.inputs - 1) * (1 + 1e-14)
        beta = NUISANCE * self.alpha
        wrong, rest = counts.wrong, counts.trials - counts.wrong
        low = float(special.betaincinv(wrong, rest + 1, beta / 2)) * (1 - MARGIN) if wrong else 0.0
        high = min(1.0, float(special.betainccinv(wrong + 1, rest, beta / 2)) * (1 + MARGIN)) if rest else 1.0
        edges = np.linspace(math.sqrt(low), math.sqrt(high), _CELLS + 1) ** 2
        edges[0], edges[-1] = low, high
        left, right = edges[:-1], edges[1:]
        reached, settled, sharp = 0.0, 0.0, _SHARP**self._z
        for _ in range(_ROUNDS):
            blocks = self._blocks(counts.trials, left)
            above = self._tail(counts, curve, np.minimum(odds * right + self.share, 1 - left), left, blocks)
            decides = above > max(stop - beta, sharp * reached, beta)
            settled = max(settled, float(above[~decides].max(initial=0.0)))
            left, right, above = left[decides], right[decides], above[decides]
            if not len(left):
                return min(1.0, settled + beta)
            # Where epsilon is large the upper bounds of all cells look alike: the best of the first may be far from the worst case.
            tried = left[np.unique([int(np.argmax(above)), *np.linspace(0, len(left) - 1, _TRIED, dtype=np.int64)])]
            # In the same blocks: what blocks lose would never fall within the factor.
            within = self._tail(counts, curve, np.minimum(odds * tried + self.share, 1 - tried), tried, blocks)
            reached = max(reached, float(within.max()))
            if reached > stop - beta > 0:
                break
            middle = (left + right) / 2
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        return min(1.0, max(settled, float(above.max())) + beta)

    def _blocks(self, n: int, wrong: Floats) -> NDArray[np.int64]:
        """Where the blocks of wrong guesses begin, from 0 on; the last block has no end."""
        most, far = n * float(wrong.max()), 4 + self._z
        last = min(n, math.ceil(most + far * (math.sqrt(most) + far)))
        if last <= EXACT:
            return np.arange(last + 1)
        least = n * float(wrong.min())
        first = max(1, math.floor(least - far * math.sqrt(least)))
        return np.concatenate([[0], np.unique(np.linspace(first, last, _BLOCKS).astype(np.int64))])

    def _tail(self, counts: Counts, curve: float, right: Floats, wrong: Floats, start: NDArray[np.int64]) -> Floats:
        """Upper bound on P[counts beyond the curve], for views guessed right and wrong with these probabilities."""
        n, z = counts.trials, self._z
        if start[-1] <= EXACT:
            below = np.cumsum(_mass(start[:-1, None], n, wrong), axis=0)
        else:
            below = _at_most(start[1:] - 1, n, wrong)
        spread = n * self.share + curve * (1 + curve) * (start + 1 + z * z / 4)
        needed = np.ceil(n * self.share + curve * start + z * np.sqrt(spread) - 1e-6)[:, None]
        beyond = np.minimum.accumulate(_at_least(needed, n - start[:, None], right / np.maximum(1 - wrong, 1e-300)))
        # Abel's sum: all its terms are positive, so bounds from above on both factors are one on the sum.
        total = ((beyond[:-1] - beyond[1:]) * np.minimum(below, 1.0)).sum(axis=0) + beyond[-1]
        return np.asarray(total * (1 + MARGIN))


def _mass(count: NDArray[Any], n: int, p: Floats) -> Floats:
    """Upper bound on P[Binomial(n, p) = count]; the margin covers the cancellation of logarithms of factorials."""
    logs = special.gammaln(n + 1.0) - special.gammaln(count + 1.0) - special.gammaln(n - count + 1.0)
    logs = logs + special.xlogy(count, p) + special.xlog1py(n - count, -p)
    return np.asarray(np.exp(logs) * (1 + 1e-12 + 1e-15 * n * math.log(n + 1)))


def _normal(count: NDArray[Any], n: NDArray[Any] | int, p: Floats) -> Floats:
    """Signed root of the divergence: its normal tail is below ``P[Binomial(n, p) <= count]``, and above it for ``count + 1``.

    Source: Zubkov, Serov 2013.
    """
    share = np.clip(count / np.maximum(n, 1), 0.0, 1.0)
    divergence = special.rel_entr(share, p) + special.rel_entr(1 - share, 1 - p)
    return np.asarray(np.sign(share - p) * np.sqrt(2 * np.maximum(n * divergence, 0.0)))


def _at_most(count: NDArray[Any], n: int, p: Floats) -> Floats:
    """Upper bound on P[Binomial(n, p) <= count], for ``0 < count``."""
    bound = special.ndtr(_normal(count[:, None] + 1, n, p)) * (1 + 1e-6)
    return np.asarray(np.where(count[:, None] + 1 >= n, 1.0, np.minimum(bound, 1.0)))


def _at_least(count: Floats, n: NDArray[Any], p: Floats) -> Floats:
    """Upper bound on P[Binomial(n, p) >= count]; exact where that can matter."""
    p = np.minimum(p, 1.0)
    bound = np.minimum(special.ndtr(-_normal(count - 1, n, p)) * (1 + 1e-6), 1.0)
    few = np.broadcast_to((count > 0) & (count <= 4 * EXACT) & (count <= n), bound.shape)
    few = few & (bound > 1e-25) & (bound < 0.9999)  # elsewhere the bound is as good
    wide, views, chance = (np.broadcast_to(a, bound.shape)[few] for a in (count, n, p))
    bound[few] = special.betainc(wide, views - wide + 1, chance) * (1 + MARGIN)
    bound = np.where(count == 1, -np.expm1(n * np.log1p(-np.minimum(p, 1 - 1e-16))) * (1 + MARGIN), bound)
    return np.asarray(np.where(count <= 0, 1.0, np.where(count > n, 0.0, np.minimum(bound, 1.0))))
