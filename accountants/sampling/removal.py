r"""Sampling and a threshold, one user less: what his absence tells.

At one level :math:`P' = (1-q) P + q R`, so :math:`P \le P'/(1-q)`. More precisely, let S be a sample of the others, and let
the user take the place of one of them. The release stays the same unless that one's prefix had exactly theta votes, or the
user's own had theta - 1. If at most a part a of the sample votes for prefixes with exactly theta votes, then

.. math:: P \le \frac{P'}{1 - q a} \quad\text{where his prefix had not } \theta - 1 \text{ votes}, \qquad
          P \le \frac{P'}{1 - q} \quad\text{where it had}.

The latter happens on one level at most: his prefix is not released then, and he is silent from there on. Over L levels

.. math:: P \le e^r P' + b, \qquad r = \ln\frac{1}{1-q} + (L-1) \ln\frac{1}{1-qa}

where b is L times the probability that the part is larger. For Poisson sampling other prefixes' votes are independent of
his, and a = 0. A user with several values is never silent for good, and every level may cost :math:`\ln(1/(1-q))`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.sampling.other_prefixes import critical_tail, guessed_critical
from ldpaudit.accountants.sampling.thresholded import FixedBatch, Sampling
from ldpaudit.enclosure import round_up

_PARTS = tuple(x / 50 for x in range(1, 50))
_WORTH = 1e-3
"""How much of the goal may be lost."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """P <= exp(epsilon) P' + lost, P' with the user: over all data sets.

    Parameters
    ----------
    epsilon : flint.arb
        r, above 0.
    lost : float
        b.
    """

    epsilon: flint.arb
    lost: float


def leaving_cost(sampling: Sampling, threshold: int, levels: int, several: bool, goal: float) -> Leaving:
    """The smallest r for which little is lost, compared with the goal.

    Parameters
    ----------
    sampling, threshold, levels : Sampling, int, int
        The mechanism.
    several : bool
        Whether users hold several values.
    goal : float
        A delta; it only guides the choice.

    Returns
    -------
    Leaving
        At the current precision.
    """
    once = -ball(1 - sampling.rate).log()
    if several or levels == 1:
        return Leaving(levels * once, 0.0)
    if not isinstance(sampling, FixedBatch):
        return Leaving(once, 0.0)
    wanted = math.log(max(goal, 1e-300) * _WORTH / levels)
    part = next((a for a in _PARTS if guessed_critical(sampling, threshold, a) < wanted), 1.0)
    lost = round_up(levels * critical_tail(sampling, threshold, part)) if part < 1 else 0.0
    if lost > goal:
        return Leaving(levels * once, 0.0)
    return Leaving(once - (levels - 1) * (1 - ball(sampling.rate) * flint.arb(part)).log(), lost)
