r"""Sampling and a threshold in the remove direction: what the user's absence reveals.

P is the law of the release without the user, P' with. In one round :math:`P' = (1-q) P + q R`, so :math:`P \le P'/(1-q)`.
More precisely, let S be a sample of the others, and let the user take the place of one of them. The release stays the
same unless the other's prefix had exactly theta votes, or the user's own had theta - 1. If at most a share a of the
sample votes for prefixes with exactly theta votes, then

.. math:: P \le \frac{P'}{1 - q a} \quad\text{where the user's prefix did not have } \theta - 1 \text{ votes}, \qquad
          P \le \frac{P'}{1 - q} \quad\text{where it did}.

The latter happens in one round at most: the user's prefix is not released then, and the user never votes again. Over L
rounds

.. math:: P \le e^r P' + b, \qquad r = \ln\frac{1}{1-q} + (L-1) \ln\frac{1}{1-qa}

where b is L times the probability that the share is larger. For Poisson sampling other prefixes' votes are independent of
the user's, and a = 0. A user with several words may vote again for another one, and every round may cost
:math:`\ln(1/(1-q))`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.sampling.other_prefixes import critical_tail, critical_tail_estimate
from ldpaudit.accountants.sampling.thresholded import FixedBatch, Sampling
from ldpaudit.enclosure import round_up

_SHARES = tuple(x / 50 for x in range(1, 50))
"""Shares a that are tried; any is valid."""
_NEGLIGIBLE = 1e-3
"""b is at most about this part of the delta in question."""


@dataclass(frozen=True, slots=True)
class RemovalBound:
    """P <= exp(epsilon) P' + delta for all data sets, P' with the user: (epsilon, delta)-DP in the remove direction."""

    epsilon: flint.arb  # r, above 0
    delta: float  # b


def removal_bound(sampling: Sampling, threshold: int, rounds: int, words: int, goal: float) -> RemovalBound:
    """The smallest r found for which b is negligible beside the goal.

    The goal, a delta, guides the choice of a only.
    """
    once = -ball(1 - sampling.rate).log()
    if words > 1 or rounds == 1:
        return RemovalBound(rounds * once, 0.0)
    if not isinstance(sampling, FixedBatch):
        return RemovalBound(once, 0.0)
    wanted = math.log(max(goal, 1e-300) * _NEGLIGIBLE / rounds)
    share = next((a for a in _SHARES if critical_tail_estimate(sampling, threshold, a) < wanted), 1.0)
    delta = round_up(rounds * critical_tail(sampling, threshold, share)) if share < 1 else 0.0
    if delta > goal:
        return RemovalBound(rounds * once, 0.0)
    return RemovalBound(once - (rounds - 1) * (1 - ball(sampling.rate) * flint.arb(share)).log(), delta)
