r"""The exact test on one run with many canaries: right guesses of independent coins, under (epsilon, delta)-privacy.

The game: m independent fair coins say of each canary whether it is in the data or out (add-remove), or which of its two
values it holds (replace-one); the system runs once; a rule that sees its output alone, and never the coins, guesses exactly r
of them. Let W be the number of right guesses, d how many of a coin's two sides are ever guessed (1 or 2), X a
:math:`\mathrm{Binomial}(r, e^\varepsilon/(1 + e^\varepsilon))`, and :math:`\beta_v = \Pr[X \ge v]`. If the system is
:math:`(\varepsilon, \delta)`-private for data sets that differ in one canary's coin, then

.. math:: \Pr[W \ge v] \le \beta_v + \frac{d}{2} m \delta\, \frac{\beta_v (1 - \beta_v)}{v \Pr[X = v]}.

Tight for d = 2 at every r, m, delta and v (where it is at most 1): a system attains it that draws r canaries and says their
coins with errors of the right law. So it grows with epsilon, falls with v, and inverts to a bound.

Proof. Flip the coin i. The events "i is guessed right and W = k + 1" become "i is guessed wrong and W = k": they are disjoint
for different k, so that what privacy allows each of them beyond :math:`e^\varepsilon` times the other sums to at most delta for
each guessed side. Added up over the canaries, with :math:`A_k = \Pr[W = k]`, and averaged over the coins,

.. math:: (k + 1) A_{k+1} \le e^\varepsilon (r - k) A_k + m \delta_k, \quad \sum_k \delta_k \le \delta d / 2.

With :math:`b_k = \Pr[X = k]`, for which this is an equality without delta, the ratios :math:`c_k = A_k / b_k` grow by at most
:math:`m \delta_k / ((k + 1) b_{k+1})` from k to k + 1. For Y like X and independent of it,

.. math:: \Pr[W \ge v] - \beta_v = E[(c_X - c_Y)\,1\{X \ge v > Y\}]
          \le m \sum_k \delta_k \frac{\beta_{\max(v, k+1)} (1 - \beta_{\min(v, k+1)})}{(k + 1) b_{k+1}},

and b is log-concave, so that the fraction is largest at k + 1 = v. No order of the canaries is used: what a guess shows of
another canary's coin costs nothing more, and the rule may choose whom it guesses from the output.

At delta = 0 it is the binomial test, also where the output decides how many are guessed: the theorem holds given the output. At
delta above 0 such a rule spends a part s of the level on delta. Its p-value is the larger of :math:`\beta_v / (1 - s)` and, over
s, the other term without :math:`1 - \beta_v`, so that both grow with epsilon: with probability :math:`\pi_r` and a part
:math:`\delta_r` of delta for r guesses, it is at most alpha with a probability of at most
:math:`\sum_r \pi_r (1 - s) \alpha + \sum_r (\delta_r / \delta) s \alpha = \alpha`.

Source: Steinke, Nasr, Jagielski 2023, Theorem 5.2, for the game and for delta = 0; above it, this bound is sharper than theirs.
"""

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ldpaudit.attacks.bounds import binomial
from ldpaudit.attacks.bounds.counts import Counts, LevelTest

MOST = 10**7  # canaries, at most: the logarithms of their binomial probabilities are then right to `ROUNDING`
ROUNDING = 1e-6
"""Relative error allowed for in what delta explains; measured against balls (tests/attacks/test_one_run.py), 1e-8."""
SPENT_ON_DELTA = 0.1  # share of the level that pays for delta where the output decides how many canaries are guessed
_HALVINGS = 60


def p_values(
    right: ArrayLike, wrong: ArrayLike, canaries: int, share: ArrayLike, epsilon: ArrayLike, spent: float = 0.0
) -> NDArray[np.float64]:
    """The theorem's bound, from above; 1 where the guesses are no better than epsilon allows on average.

    The arrays broadcast, and averages of counts need not be integers; ``share``: delta times d/2; ``spent``: the part s of the
    level, or 0 where the number of guesses was fixed.
    """
    several = (np.asarray(each, dtype=np.float64) for each in (right, wrong, share, epsilon))
    v, w, share, epsilon = np.broadcast_arrays(*several)
    better = (v > 0) & (np.log(np.maximum(v, 0.5)) - np.log(np.maximum(w, 1e-300)) > epsilon)
    v, q, rest = np.where(better, v, 1.0), special.expit(epsilon), special.expit(-epsilon)
    tail = np.maximum(special.betaincc(w + 1, v, rest) * (1 + binomial.MARGIN), sys.float_info.min)
    found = tail
    if share.any():
        log_mass = v * np.log(q) + w * np.log(rest) - special.betaln(v + 1, w + 1) - np.log(v + w + 1)
        # The tail over its first term; past the smallest floats by the geometric series that is above it.
        shrinks = np.minimum(np.log(np.maximum(w, 1e-300)) - np.log(v + 1) + epsilon, -1e-12)
        with np.errstate(over="ignore"):
            ratio = np.minimum(-1 / np.expm1(shrinks), np.exp(np.log(tail) - log_mass))
        explained = canaries * share * ratio / v * (1 + ROUNDING)
        found = np.maximum(tail / (1 - spent), explained / spent) if spent else tail + explained * (1 - np.minimum(tail, 1))
    return np.asarray(np.where(better, np.minimum(found, 1.0), 1.0))


def epsilon_lower(
    right: ArrayLike, wrong: ArrayLike, canaries: int, share: ArrayLike, alpha: float, spent: float = 0.0
) -> NDArray[np.float64]:
    """Lower confidence bound on epsilon, in nats, from counts of right and wrong guesses, on arrays; 0 where there is none.

    Only the largest is searched for to its last digit: of the others it is known that they are smaller.
    """
    high = binomial.epsilon_lower(right, wrong, canaries, 0.0, alpha)
    if not np.any(share):
        return high
    low = np.zeros_like(high)
    right, wrong, share = (np.broadcast_to(each, high.shape) for each in (right, wrong, share))
    for _ in range(_HALVINGS):
        open_ = high > low.max()
        middle = (low[open_] + high[open_]) / 2
        refuted = p_values(right[open_], wrong[open_], canaries, share[open_], middle, spent) <= alpha
        low[open_], high[open_] = np.where(refuted, middle, low[open_]), np.where(refuted, high[open_], middle)
    return low


@dataclass(frozen=True, slots=True)
class OneRunTest(LevelTest):
    """The test; see `ldpaudit.attacks.bounds.counts.LevelTest`. The trials of its counts are the canaries."""

    share: float  # the delta times the share of the two sides that are ever guessed
    alpha: float  # failure probability
    spent: float = 0.0  # the part of it that pays for delta, or 0 where the number of guesses was fixed

    def epsilon_lower(self, counts: Counts) -> float:
        return float(epsilon_lower(counts.right, counts.wrong, counts.trials, self.share, self.alpha, self.spent))

    def p_value(self, counts: Counts, epsilon: float) -> float:
        return float(p_values(counts.right, counts.wrong, counts.trials, self.share, epsilon, self.spent))
