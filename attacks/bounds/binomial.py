r"""The exact bound: right guesses among all guesses, under (epsilon, delta)-privacy.

The game: draw one of k inputs, any two of them neighbours, uniformly; look at the view; guess which input, or abstain.
Under :math:`(\varepsilon, 0)`-privacy each input has, whatever the view, posterior probability at most
:math:`\sigma_k(\varepsilon) = e^\varepsilon / (e^\varepsilon + k - 1)`. The rule of guessing is fixed before the views
that are counted; then, given r guesses, the right ones are at most :math:`\mathrm{Binomial}(r, \sigma_k(\varepsilon))`:
one binomial bound, at the full level, on the guesses alone.

A rule that learns from the views that are counted may stop guessing while it is lucky, and the binomial law is lost:
such a rule needs a test that holds at every stopping time (`e_process`). For :math:`\delta > 0` see `nuisance`.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ldpaudit.attacks.bounds.counts import Counts, LevelTest, logit_share

MARGIN = 1e-8
"""Relative error allowed for in a binomial tail of scipy's. Measured against balls (tests/attacks/test_bounds.py): 1e-11 in
tails at 1e9 guesses, 2e-9 in quantiles."""
ROUNDING = 1e-14  # relative and absolute error allowed for in a few logarithms: 45 units in the last place
SPENT_ON_DELTA = 0.1
"""Share of the level that pays for the right guesses that delta explains, where rules are only compared. Nine
tenths are left, which at level 0.05 costs 0.05 standard errors."""


@dataclass(frozen=True, slots=True)
class BinomialTest(LevelTest):
    """The exact test at delta = 0 on a fixed number of views."""

    inputs: int  # how many inputs the game draws from
    alpha: float  # failure probability

    def epsilon_lower(self, counts: Counts) -> float:
        return float(epsilon_lower(counts.right, counts.wrong, counts.trials, 0.0, self.alpha, self.inputs))

    def p_value(self, counts: Counts, epsilon: float) -> float:
        if not counts.right or epsilon == math.inf:
            return 1.0
        odds = logit_share(epsilon, self.inputs)
        # By the smaller of the two shares, which keeps its digits.
        if odds < 0:
            tail = special.betainc(counts.right, counts.wrong + 1, special.expit(odds))
        else:
            tail = special.betaincc(counts.wrong + 1, counts.right, special.expit(-odds))
        return min(1.0, max(float(tail) * (1 + MARGIN), sys.float_info.min))  # below it, floats lose the margin


def explained_by_delta(trials: ArrayLike, delta: ArrayLike, alpha: float) -> NDArray[np.int64]:
    """Right guesses that delta explains: smallest d with ``P[Binomial(trials, delta) > d] <= alpha``; 0 where delta is 0."""
    delta = np.asarray(delta, dtype=np.float64)
    if not delta.any():
        return np.zeros(np.broadcast(trials, delta).shape, dtype=np.int64)
    if np.ndim(trials) == 0 and delta.ndim:  # of many rules that are compared, deltas are two at most
        few, place = np.unique(delta, return_inverse=True)
        return explained_by_delta(np.full(len(few), trials), few, alpha)[place].reshape(delta.shape)
    guess = np.where(delta > 0, special.bdtrik(1 - alpha, trials, np.where(delta > 0, delta, 0.5)), 0)
    d = np.maximum(np.nan_to_num(np.ceil(guess)), 0)
    while np.any(short := special.betainc(d + 1, np.maximum(trials - d, 1e-9), delta) > alpha):
        d = np.where(short, d + 1, d)
    return np.asarray(d, dtype=np.int64)


def epsilon_lower(
    right: ArrayLike, wrong: ArrayLike, trials: ArrayLike, delta: ArrayLike, alpha: float, inputs: int = 2
) -> NDArray[np.float64]:
    r"""Lower confidence bound on epsilon, in nats, from counts of right and wrong guesses; fast, on arrays.

    At delta = 0 it is the exact bound. At delta > 0 it holds too, but `nuisance` is sharper, and this one only compares
    rules: all but :math:`\mathrm{Binomial}(n, \delta)` of the right guesses obey the pure law, and these are subtracted up
    to a quantile of a tenth of the level.

    ``right``, ``wrong``: guesses; they broadcast. Expected counts need not be integers; ``trials``: views looked at,
    abstentions included; ``delta``: the delta of the claim times the share of the inputs that are ever guessed;
    ``alpha``: failure probability; ``inputs``: how many inputs the game draws from. Returns 0 where the guesses are
    no better than chance. Source: Kairouz, Oh, Viswanath 2015 for the decomposition; Clopper, Pearson 1934 for the
    inversion.
    """
    right, wrong, delta = np.broadcast_arrays(right, wrong, delta)
    spent = np.where(delta == 0, 0, SPENT_ON_DELTA * alpha)
    kept = right - np.where(delta == 0, 0, explained_by_delta(trials, delta, SPENT_ON_DELTA * alpha))
    # A Beta's median is at most a half where its first parameter is the smaller one: there two inputs have the bound 0.
    told = kept > wrong if inputs == 2 and alpha <= 0.5 else kept > 0
    kept, wrong, level = kept[told], wrong[told], ((alpha - spent) * (1 - MARGIN))[told]
    share = special.betaincinv(kept, wrong + 1, level)
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log1p(-share)
        # By the smaller of the two shares, which keeps its digits.
        large = ~(share < 0.5)
        rest = special.betainccinv(wrong[large] + 1, kept[large], level[large])
        odds[large] = np.log1p(-rest) - np.log(rest)
    bound = np.zeros(told.shape)
    bound[told] = odds + math.log(inputs - 1)
    return np.asarray(np.maximum(bound * (1 - ROUNDING) - ROUNDING, 0.0))
