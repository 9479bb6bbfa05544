r"""The exact bound: right guesses among all guesses, under (epsilon, delta)-privacy.

The game: draw one of k inputs, any two of them neighbours, uniformly; look at the view; guess which, or abstain.
Under :math:`(\varepsilon, 0)`-privacy each input has, whatever the view, posterior probability at most
:math:`\sigma_k(\varepsilon) = e^\varepsilon / (e^\varepsilon + k - 1)`. The rule of guessing is fixed before the views
that are counted; then, given r guesses, the right ones are at most :math:`\mathrm{Binomial}(r, \sigma_k(\varepsilon))`:
one binomial bound, at the full level, on the guesses alone.

A rule that learns from the views that it is judged on may stop guessing while it is lucky, and the binomial law is
lost: such a rule needs a test that holds at every stopping time (`e_process`). For :math:`\delta > 0` see `nuisance`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ldpaudit.evidence import Evidence, Mode

POWER = 0.95
"""Power at which the detectable epsilon is stated."""
MARGIN = 1e-8
"""Relative error allowed for in a tail of scipy's; at 1e9 guesses it is 1e-11, and 2e-9 in its quantiles (tests)."""
ROUNDING = 1e-14
"""Relative and absolute error allowed for in a few logarithms."""
GRANTED = 0.1
"""Share of the level that pays, where events are compared, for the right guesses that delta explains."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Right and wrong guesses among so many views."""

    right: int = 0
    wrong: int = 0
    trials: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.right + other.right, self.wrong + other.wrong, self.trials + other.trials)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.right - other.right, self.wrong - other.wrong, self.trials - other.trials)


class LevelTest(Protocol):
    """A test of (epsilon, delta)-privacy that grows laxer with epsilon, so that it inverts to a bound."""

    def epsilon_lower(self, counts: Counts) -> float:
        """Lower confidence bound on epsilon, in nats; 0 where the guesses are no better than chance."""

    def p_value(self, counts: Counts, epsilon: float) -> float:
        """Probability, at most, of counts like these where epsilon is so large; at most 1."""

    def refutes(self, counts: Counts, epsilon: float) -> bool:
        """Whether the bound exceeds epsilon."""


def logit_share(epsilon: ArrayLike, inputs: int) -> NDArray[np.float64]:
    """Log-odds of the largest probability of a right guess: ``epsilon - log(k - 1)``."""
    return np.asarray(epsilon, dtype=np.float64) - math.log(inputs - 1)


@dataclass(frozen=True, slots=True)
class Binomial:
    """The exact test at delta = 0 on a fixed number of views.

    Parameters
    ----------
    inputs : int
        How many the game draws from.
    alpha : float
        Failure probability.
    """

    inputs: int
    alpha: float

    def epsilon_lower(self, counts: Counts) -> float:
        """See `LevelTest`."""
        return float(epsilon_lower(counts.right, counts.wrong, counts.trials, 0.0, self.alpha, self.inputs))

    def p_value(self, counts: Counts, epsilon: float) -> float:
        """See `LevelTest`."""
        if not counts.right or epsilon == math.inf:
            return 1.0
        odds = logit_share(epsilon, self.inputs)
        # By the smaller of the two shares, which keeps its digits.
        if odds < 0:
            tail = special.betainc(counts.right, counts.wrong + 1, special.expit(odds))
        else:
            tail = special.betaincc(counts.wrong + 1, counts.right, special.expit(-odds))
        return min(1.0, float(tail) * (1 + MARGIN))

    def refutes(self, counts: Counts, epsilon: float) -> bool:
        """See `LevelTest`."""
        return self.epsilon_lower(counts) > epsilon


def granted(trials: ArrayLike, delta: ArrayLike, alpha: float) -> NDArray[np.int64]:
    """Smallest d with ``P[Binomial(trials, delta) > d] <= alpha``; 0 where delta is 0."""
    delta = np.asarray(delta, dtype=np.float64)
    if not delta.any():
        return np.zeros(np.broadcast(trials, delta).shape, dtype=np.int64)
    guess = np.where(delta > 0, special.bdtrik(1 - alpha, trials, np.where(delta > 0, delta, 0.5)), 0)
    d = np.maximum(np.nan_to_num(np.ceil(guess)), 0)
    while np.any(short := special.betainc(d + 1, np.maximum(trials - d, 1e-9), delta) > alpha):
        d = np.where(short, d + 1, d)
    return np.asarray(d, dtype=np.int64)


def epsilon_lower(
    right: ArrayLike, wrong: ArrayLike, trials: ArrayLike, delta: ArrayLike, alpha: float, inputs: int = 2
) -> NDArray[np.float64]:
    r"""Lower confidence bound on epsilon, in nats, from counts of right and wrong guesses; fast, on arrays.

    At delta = 0 it is the exact bound. At delta > 0 it holds too, but `nuisance` is sharper and this one only compares
    events: all but :math:`\mathrm{Binomial}(n, \delta)` of the right guesses obey the pure law, and these are granted up
    to a quantile of a tenth of the level.

    Parameters
    ----------
    right, wrong : array_like
        Guesses; they broadcast. Expected counts need not be integers.
    trials : array_like of int
        Views looked at, abstentions included.
    delta : array_like
        The delta of the claim times the share of the inputs that are ever guessed.
    alpha : float
        Failure probability.
    inputs : int
        How many the game draws from.

    Returns
    -------
    ndarray
        0 where the guesses are no better than chance. Source: Kairouz, Oh, Viswanath 2015 for the decomposition;
        Clopper, Pearson 1934 for the inversion.
    """
    right, wrong, delta = np.broadcast_arrays(right, wrong, delta)
    spent = np.where(delta == 0, 0, GRANTED * alpha)
    kept = right - np.where(delta == 0, 0, granted(trials, delta, GRANTED * alpha))
    valid = kept > 0
    kept, level = np.where(valid, kept, 1), (alpha - spent) * (1 - MARGIN)
    share, rest = special.betaincinv(kept, wrong + 1, level), special.betainccinv(wrong + 1, kept, level)
    with np.errstate(divide="ignore"):
        # By the smaller of the two shares, which keeps its digits.
        odds = np.where(share < 0.5, np.log(share) - np.log1p(-share), np.log1p(-rest) - np.log(rest))
    bound = np.where(valid, odds + math.log(inputs - 1), 0.0)
    return np.asarray(np.maximum(bound * (1 - ROUNDING) - ROUNDING, 0.0), dtype=np.float64)


def level_test(
    mode: Mode, inputs: int, delta: float, directions: int, alpha: float, tuning: tuple[float, ...]
) -> LevelTest:
    """The test that belongs to a mode, a game and a delta."""
    from ldpaudit.attacks.bounds import e_process, nuisance

    share = delta * directions / inputs
    if mode is Mode.SEQUENTIAL:
        return e_process.Wealth(inputs, share, alpha, tuning)
    return Binomial(inputs, alpha) if share == 0 else nuisance.Worst(inputs, share, alpha)


def bound_of(evidence: Evidence) -> float:
    """The bound that an evidence's counts give: what it must say, whatever it says."""
    counts = Counts(evidence.right, evidence.guesses - evidence.right, evidence.measured)
    e, alpha = evidence, evidence.level * (1 - evidence.confidence)
    return level_test(e.mode, e.inputs, e.delta, e.directions, alpha, e.tuning).epsilon_lower(counts)


def detectable(test: LevelTest, counts: Counts, inputs: int, share: float, epsilon: float) -> float | None:
    """An epsilon that so many guesses tell from the claimed one with 95 % power, nearly the smallest; None where none is.

    Of a sequential test it is what the last look alone would detect: the earlier ones add to the power.
    """
    guesses = counts.right + counts.wrong
    if not guesses or not test.refutes(Counts(guesses, 0, counts.trials), epsilon):
        return None
    # Fewer right guesses than the claim allows on average refute nothing.
    null = float(special.expit(logit_share(epsilon, inputs)))
    few, enough = int(guesses * null), guesses
    step = int(2 * math.sqrt(guesses * null * (1 - null))) + 1
    while few + step < enough:
        if test.refutes(Counts(few + step, guesses - few - step, counts.trials), epsilon):
            enough = few + step
            break
        few, step = few + step, 2 * step
    while enough - few > max(1, step // 32):
        middle = (few + enough) // 2
        if test.refutes(Counts(middle, guesses - middle, counts.trials), epsilon):
            enough = middle
        else:
            few = middle
    odds = float(special.betaincinv(enough, guesses - enough + 1, POWER))
    explained = share * counts.trials / guesses  # of the right guesses, delta explains this share
    if odds <= explained or odds >= 1:
        return None
    return math.log((odds - explained) / (1 - odds)) + math.log(inputs - 1)
