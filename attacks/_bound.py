r"""The exact bound: right guesses among all guesses, under (epsilon, delta)-privacy.

The game: draw one of two neighbouring inputs by a fair coin, look at the view, guess or abstain. Under
:math:`(\varepsilon, 0)`-privacy the posterior odds of every view are at most :math:`e^\varepsilon`, so given r guesses the
right ones are at most :math:`\mathrm{Binomial}(r, \sigma(\varepsilon))`, :math:`\sigma(\varepsilon) = e^\varepsilon/(1+e^\varepsilon)`,
whatever the rule of guessing. For :math:`\delta > 0` a trial is right with probability at most
:math:`e^\varepsilon \Pr[\text{wrong}] + \delta` (half of that where only one input is ever guessed): all but
:math:`\mathrm{Binomial}(n, \delta)` of the right guesses obey the pure law. These are granted up to a quantile of a
tenth of the level, and the rest of the level tests what remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ldpaudit.evidence import Evidence

GRANTED = 0.1
"""Share of the level that pays for the number of right guesses that delta explains."""
POWER = 0.95
"""Power at which the detectable epsilon is stated."""
_SHRINK = 1 - 1e-9
"""Quantiles of scipy are good to 1e-12; the bound gives away a thousand times that."""


def sigma(epsilon: ArrayLike) -> NDArray[np.float64]:
    """``e**epsilon / (1 + e**epsilon)``."""
    return np.asarray(special.expit(epsilon), dtype=np.float64)


def granted(trials: int, delta: ArrayLike, alpha: float) -> NDArray[np.int64]:
    """Smallest d with ``P[Binomial(trials, delta) > d] <= alpha``; 0 where delta is 0."""
    delta = np.asarray(delta, dtype=np.float64)
    guess = np.where(delta > 0, special.bdtrik(1 - alpha, trials, np.where(delta > 0, delta, 0.5)), 0)
    d = np.maximum(np.nan_to_num(np.ceil(guess)), 0)
    while np.any(short := special.betainc(d + 1, np.maximum(trials - d, 1e-9), delta) > alpha):
        d = np.where(short, d + 1, d)
    return np.asarray(d, dtype=np.int64)


def epsilon_lower(right: ArrayLike, wrong: ArrayLike, trials: int, delta: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Lower confidence bound on epsilon, in nats, from counts of right and wrong guesses.

    Parameters
    ----------
    right, wrong : array_like of int
        Guesses; they broadcast.
    trials : int
        Views looked at, abstentions included.
    delta : array_like
        The delta of the claim; half of it where only one input is ever guessed.
    alpha : float
        Failure probability.

    Returns
    -------
    ndarray
        0 where the guesses are no better than a coin. Source: Kairouz, Oh, Viswanath 2015 for the decomposition;
        Clopper, Pearson 1934 for the inversion.
    """
    right, wrong, delta = np.broadcast_arrays(right, wrong, delta)
    pure = delta == 0
    spent = np.where(pure, 0, GRANTED * alpha)
    kept = np.where(pure, right, right - granted(trials, delta, GRANTED * alpha))
    valid = kept > 0
    share = special.betaincinv(np.where(valid, kept, 1), wrong + 1, alpha - spent)
    with np.errstate(divide="ignore"):
        bound = special.logit(np.where(valid, share, 0.5)) * _SHRINK
    return np.asarray(np.maximum(bound, 0.0), dtype=np.float64)


def bound_of(evidence: Evidence) -> float:
    """The bound that an evidence's counts give: what it must say, whatever it says."""
    wrong = evidence.guesses - evidence.right
    share = evidence.delta if evidence.directions == 2 else evidence.delta / 2
    return float(epsilon_lower(evidence.right, wrong, evidence.measured, share, 1 - evidence.confidence))


def p_value(right: int, wrong: int, trials: int, delta: float, epsilon: float) -> float:
    """Smallest level at which the counts refute (epsilon, delta)."""
    if delta == 0:
        return float(special.betainc(right, wrong + 1, sigma(epsilon))) if right else 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2 if low > 0 else high / 16
        if middle < 1e-300:
            break
        low, high = (
            (low, middle) if epsilon_lower(right, wrong, trials, delta, middle) > epsilon else (middle, high)
        )
    return high


def detectable(guesses: int, trials: int, delta: float, epsilon: float, alpha: float) -> float | None:
    """Smallest epsilon that this many guesses tell from the claimed one with 95 % power; None where no epsilon is."""
    if not guesses:
        return None
    counts = np.arange(guesses + 1) if guesses < 4096 else _near_quantile(guesses, epsilon, alpha)
    refuting = epsilon_lower(counts, guesses - counts, trials, delta, alpha) > epsilon
    if not refuting.any():
        return None
    critical = int(counts[np.argmax(refuting)])
    return float(special.logit(special.betaincinv(critical, guesses - critical + 1, POWER)))


def _near_quantile(guesses: int, epsilon: float, alpha: float) -> NDArray[Any]:
    share = float(sigma(epsilon))
    spread = np.sqrt(guesses * share * (1 - share)) * np.sqrt(2 * np.log(1 / alpha)) + 2 * np.log(1 / alpha)
    middle = guesses * share
    counts: NDArray[Any] = np.unique(np.linspace(middle - spread, middle + 4 * spread + 8, 4096).astype(np.int64))
    return counts[(counts >= 0) & (counts <= guesses)]
