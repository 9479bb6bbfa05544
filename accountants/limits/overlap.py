r"""How much of their laws the messages of holders and of others can share, where counts can be told.

A user who holds v sends a message of law :math:`p_v`; one who holds a uniform other value, of law :math:`q_{-v}`. With
:math:`\eta'` the mass that the two laws share, both are post-processing of a message that is shared with probability
:math:`\eta'`, and otherwise tells which of the two it is. So the shuffled messages of t holders and n - t others are a function
of :math:`Bin(t, 1-\eta')` and :math:`Bin(n-t, 1-\eta')`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.core.working_precision import working_precision

_BITS = 80
"""Precision of a certified affinity."""
_REACH = 9.0
"""Standard deviations on either side of the largest term that are added up; what is left out only lowers the affinity."""
_MOST_TERMS = 1 << 15
"""Most terms on either side: with fewer the affinity is lower, and less is excluded."""
_MOST_MORE = 1 << 11
"""Largest l: counts that far apart are told apart unless some million messages are shared, whose laws take seconds."""
_NEAREST = math.log1p(-(2.0**-52))
"""Logarithm of the largest share that is tried: at 1 itself the odds of a shared message are infinite."""
_NUDGES = 8
"""Steps, of a relative 1e-6 first and four times as long each, from the float estimate of the largest share upward."""


def largest_shared(users: int, error: Fraction, beta: Fraction) -> Fraction:
    r"""A number at or above the shared mass :math:`\eta'` of any protocol whose counts are within E except with probability beta.

    All users run one randomizer. Where some send their values and others nothing, counts are told though the mean mass is large.

    .. math:: \Bigl(BC(t) \cdot BC(n - t - l)\Bigr)^2 \le 1 - (1 - 2\beta)^2, \qquad
              BC(t) = \sum_k \sqrt{P[Bin(t, 1-\eta') = k]\, P[Bin(t+l, 1-\eta') = k]}

    with :math:`l = \lfloor 2E \rfloor + 1` and :math:`t = \lfloor (n-l)/2 \rfloor`: the protocol tells t holders from t + l, so
    the total variation of what it sees is at least :math:`1 - 2\beta`, and it is at most :math:`\sqrt{1 - BC^2}`. Source: Ghazi,
    Golowich, Kumar, Pagh, Velingker 2019, Lemma 3.15, whose constant is not printed.

    Returns
    -------
    Fraction
        In (0, 1]; 1 where nothing is excluded.
    """
    more = math.floor(2 * error) + 1
    if more > min(users, _MOST_MORE) or beta >= Fraction(1, 2):
        return Fraction(1)
    held = (users - more) // 2
    limit = 1 - (1 - 2 * beta) ** 2

    def told_apart(eta: float) -> bool:
        return (_estimate(held, more, eta) * _estimate(users - held - more, more, eta)) ** 2 <= float(limit)

    found = math.exp(bisect(lambda log: told_apart(math.exp(log)), math.log(1e-3 / users), _NEAREST))
    for step in range(_NUDGES):
        eta = Fraction(found * (1 + 4**step * 1e-6))
        if eta >= 1:
            break
        with working_precision(_BITS):
            if (_affinity(held, more, eta) * _affinity(users - held - more, more, eta)) ** 2 > ball(limit):
                return eta
    return Fraction(1)


def _affinity(holders: int, more: int, eta: Fraction) -> flint.arb:
    """A lower bound of BC(t): a sum of some of its positive terms, by how many messages are shared."""
    start, spread = _largest_term(holders, more, float(eta))
    odds = ball(eta / (1 - eta))
    square = binomial_pmf(holders, eta, start) * binomial_pmf(holders + more, eta, start + more)
    top = square.sqrt()
    rising = _falling_terms(top, [_ratio(holders, more, odds, c) for c in range(start, min(holders, start + spread))])
    sinking = _falling_terms(top, [1 / _ratio(holders, more, odds, c - 1) for c in range(start, max(0, start - spread), -1)])
    return top + rising + sinking


def _falling_terms(term: flint.arb, ratios: list[flint.arb]) -> flint.arb:
    total = flint.arb(0)
    for ratio in ratios:
        term *= ratio
        total += term
    return total


def _ratio(holders: int, more: int, odds: flint.arb, shared: int) -> flint.arb:
    """Of the term for one more shared message to that for this number of them."""
    return odds * (holders - shared) / flint.arb((shared + 1) * (shared + more + 1)).sqrt()


def _largest_term(holders: int, more: int, eta: float) -> tuple[int, int]:
    """About where the terms are largest, and a number of terms that holds nearly all of the sum."""
    square = (eta / (1 - eta)) ** 2
    # Where consecutive terms are equal, by the root of a quadratic in the form in which nothing cancels.
    root = math.hypot(more, 2 * math.sqrt(square * holders * (holders + more)))
    start = min(int(2 * square * holders**2 / (more + 2 * square * holders + root)), holders) if holders else 0
    spread = int(_REACH * math.sqrt(min(start, holders - start) + more + 1)) + 10
    return start, min(spread, _MOST_TERMS)


def _estimate(holders: int, more: int, eta: float) -> float:
    """Float estimate of BC(t): its largest term, and the ratios of consecutive ones, of which no digits cancel."""
    from scipy.stats import binom

    start, spread = _largest_term(holders, more, eta)
    low, high = max(0, start - spread), min(holders, start + spread)
    shared = np.arange(low, high, dtype=float)
    ratios = np.log(eta / (1 - eta) * (holders - shared)) - np.log((shared + 1) * (shared + more + 1)) / 2
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    top = binom.pmf([start, start + more], [holders, holders + more], eta).prod()  # of logpmf at 2**40 they do cancel
    return float(np.exp(logs - logs[start - low]).sum() * math.sqrt(top))
