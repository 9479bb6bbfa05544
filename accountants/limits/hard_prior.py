r"""Data on which an accurate protocol names a hidden value: one value is held a little more often than all others.

Each user holds V with probability w, else a uniform one of B values. Where V's holders exceed those of every other value by
more than 2E, estimates that are all within E users name V.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.search import bisect, halved
from ldpaudit.core.working_precision import working_precision

_BITS = 80
"""Precision at which a tail is compared; what is not decided counts as too likely."""
_NUDGES = 6
"""Steps, of a relative 1e-8 first and ten times as long each, from the float estimate of the weight upward."""


def weight(users: int, values: int, error: Fraction, missed: Fraction) -> Fraction | None:
    r"""A weight w next to the least one at which V stands out by more than 2E, except with probability `missed`.

    .. math:: (B-1) P[Bin(n, (1-w)/B) > m] \le \tau/2, \qquad P[Bin(n, w + (1-w)/B) \le m + 2E] \le \tau/2

    for some m, which is the least that the first condition allows.

    Returns
    -------
    Fraction or None
        None where not even w = 1 suffices.
    """
    more = math.floor(2 * error)
    if more >= users:
        return None
    found = bisect(lambda w: _overtaken(users, values, more, float(missed), w), 0.0, 1.0)
    for step in range(_NUDGES):
        w = min(Fraction(1), Fraction(found * (1 + 10.0 ** (step - 8))).limit_denominator(1 << 60))
        if _stands_out(users, values, more, missed, w):
            return w
    return None


def _stands_out(users: int, values: int, more: int, missed: Fraction, w: Fraction) -> bool:
    other = (1 - w) / values
    most = _most_held(users, values, float(missed), float(w))
    with working_precision(_BITS):
        half = ball(missed / 2)
        held = bool((values - 1) * binomial_upper(users, other, most + 1) <= half)
        return held and bool(binomial_lower(users, w + other, most + more) <= half)


def _overtaken(users: int, values: int, more: int, missed: float, w: float) -> bool:
    """Float estimate of whether V fails to stand out more often than it may."""
    from scipy.special import betaincc

    held = _most_held(users, values, missed, w) + more
    return held >= users or bool(betaincc(held + 1, users - held, w + (1 - w) / values) > missed / 2)


def _most_held(users: int, values: int, missed: float, w: float) -> int:
    """Float estimate of the least m that no other value's count exceeds, but with half the probability."""
    from scipy.special import betainc  # not bdtrc, whose number of coins is a short integer

    other, allowed = (1 - w) / values, missed / 2 / (values - 1)
    mean, nats = users * other, -math.log(allowed)
    most = math.ceil(mean + nats + math.sqrt(nats * nats + 2 * nats * mean))  # Bernstein's tail, and some more
    return halved(lambda m: bool(betainc(m + 1, users - m, other) <= allowed * (1 - 1e-9)), 0, min(users, most))
