r"""Tails of log-concave counting laws in the log domain, so that relative accuracy is kept at any depth.

A tail of a log-concave law is its first term times a *factor*, and nothing underflows:

.. math:: P[X \ge k] = P[X = k]\,\bigl(1 + r_k + r_k r_{k+1} + \dots\bigr), \qquad r_j = P[X = j+1] / P[X = j]

Ratios fall, so the remainder after some terms is at most geometric.

Parameters are exact integers, and probabilities are rationals or balls. The relative width of a ball is multiplied by
up to `n`: a transcendental probability needs ``n.bit_length()`` bits more than the result. Results are at the
working precision.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import Probability, between
from ldpaudit.core.working_precision import working_bits

GUARD = 24
"""Bits above those that cancel: rounding costs a unit per term, and the sums here have fewer than 2**24 terms."""


def cancelling_bits(n: int, *weights: Probability) -> int:
    """Bits before the binary point of a log-probability: its absolute error is the probability's relative error."""
    sizes = [w.denominator.bit_length() if isinstance(w, Fraction) else 64 for w in weights]
    return (n * (n.bit_length() + max(sizes, default=0))).bit_length() + GUARD


def log_binomial_coefficient(n: int, k: int) -> flint.arb:
    """Logarithm of n over k, for ``0 <= k <= n``, with an absolute error relative to ``n log n`` at this precision."""
    return flint.arb(n + 1).lgamma() - flint.arb(k + 1).lgamma() - flint.arb(n - k + 1).lgamma()


def expected_terms(sigma: float, distance: float) -> float:
    """Float estimate of the terms that a tail's series needs, `distance` standard deviations out."""
    nats = working_bits() * math.log(2)
    return sigma * nats / (distance / 2 + math.sqrt(distance * distance / 4 + nats / 2))


def series_factor(ratio: Callable[[int], flint.arb], last: int, first: int = 0) -> flint.arb:
    r"""The sum :math:`1 + r_0 + r_0 r_1 + \dots + r_0 \cdots r_{last-1}` of a log-concave law's terms.

    ``ratio`` gives :math:`r_j` for ``first + j``, positive and falling; ``last`` of them are not 0. The terms left out
    are enclosed.
    """
    term = total = flint.arb(1)
    j, check = 0, 8
    epsilon = flint.arb(2) ** -working_bits()
    while j < last:
        for step in range(first + j, first + min(check, last)):
            term *= ratio(step)
            total += term
        j = min(check, last)
        # Every ratio from here on is at most this one.
        if j < last and (r := ratio(first + j)) < 1:
            rest = term * r / (1 - r)
            if rest < total * epsilon:
                return total + between(0, rest)
        check += 8 + check // 8
    return total
