r"""The law of S, the number of pluses minus the number of minuses, in T runs with outcomes plus (p), nothing (w), minus
(q).

.. math:: P[S = s] = [z^{T-s}] (p + w z + q z^2)^T = \sum_m \frac{T!}{(s+m)!\,(T-s-2m)!\,m!}\, p^{s+m} w^{T-s-2m} q^m
"""

import math
from collections.abc import Iterator
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.log_concave import series_factor
from ldpaudit.accountants.numerics.search import bisect, halved
from ldpaudit.core.working_precision import working_bits, working_precision

Masses: TypeAlias = tuple[flint.arb, flint.arb, flint.arb]  # p, w and q: each above 0, with sum 1


def descending(total: int, masses: Masses, start: int) -> Iterator[tuple[int, flint.arb]]:
    """(index, P[S = index]) for indices from `start` down to 0.

    With n = T - index, the probabilities b obey ``p n b[n] = w (T-n+1) b[n-1] + q (2T-n+2) b[n-2]``, because the
    generating function satisfies a differential equation of first order. For n <= T no term is negative, so relative
    accuracy is kept.
    """
    p, w, q = masses
    before, here = probability(total, masses, start + 1), probability(total, masses, start)
    for index in range(start, -1, -1):
        yield index, here
        n = total - index + 1
        before, here = here, (w * (total - n + 1) * here + q * (2 * total - n + 2) * before) / (p * n)


def probability(total: int, masses: Masses, index: int) -> flint.arb:
    """P[S = index] for an index >= 0: the sum over the number of minuses, from its largest term both ways."""
    if index > total:
        return flint.arb(0)
    p, w, q = masses
    odds = p * q / (w * w)
    most = (total - index) // 2
    mode = _mode(total, index, float(odds))

    def up(m: int) -> flint.arb:
        return odds * ((total - index - 2 * m) * (total - index - 2 * m - 1)) / ((index + m + 1) * (m + 1))

    down = series_factor(lambda j: 1 / up(mode - 1 - j), mode)
    return _term(total, index + mode, mode, masses) * (series_factor(up, most - mode, mode) + down - 1)


def _mode(total: int, index: int, odds: float) -> int:
    free = total - index

    def falls(m: int) -> bool:
        return odds * (free - 2 * m) * (free - 2 * m - 1) <= (index + m + 1) * (m + 1)

    return halved(falls, 0, free // 2)


def _term(total: int, pluses: int, minuses: int, masses: Masses) -> flint.arb:
    rest = total - pluses - minuses
    p, w, q = masses
    with working_precision(working_bits() + 2 * total.bit_length() + 16):
        ways = flint.arb(total + 1).lgamma()
        for count in (pluses, minuses, rest):
            ways -= flint.arb(count + 1).lgamma()
        return (ways + pluses * p.log() + minuses * q.log() + rest * w.log()).exp()


def beyond(total: int, masses: Masses, index: int) -> flint.arb:
    r"""Chernoff's bound on P[S >= index], :math:`(p e^\theta + w + q e^{-\theta})^T e^{-\theta\,index}`."""
    if index > total:
        return flint.arb(0)
    p, w, q = masses
    plus, nothing, minus = (float(mass) for mass in masses)

    def falls_short(theta: float) -> bool:
        """Whether the tilted mean is below the index; the bound holds for every theta."""
        up, down = plus * math.exp(theta), minus * math.exp(-theta)
        return (up - down) * total < index * (up + nothing + down)

    theta = flint.arb(bisect(falls_short, 0.0, 700.0))
    moment = p * theta.exp() + w + q * (-theta).exp()
    return flint.arb(1).min((moment.log() * total - theta * index).exp())


def reach(total: int, masses: Masses, nats: float) -> int:
    """Smallest index from 0 to `total` beyond which Chernoff's bound is at most about ``exp(-nats)``."""

    def far(index: int) -> bool:
        bound = beyond(total, masses, index + 1)
        return not bound > 0 or -float(bound.log()) >= nats

    return halved(far, 0, total)
