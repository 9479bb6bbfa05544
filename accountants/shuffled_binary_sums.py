"""What labelled binary sums cost."""

import math
from fractions import Fraction
from functools import cache

from ldpaudit.accountants.counting.count_min import added, largest, replaced
from ldpaudit.accountants.numerics.deviations import any_outside, expected_largest, expected_largest_binomial
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.accountants.shuffling.hidden_message import HiddenTuple, Seen
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_CLOSE = 1e-5
"""Relative width of the search for a least gamma; the accountant's own width is about 5e-6 of it."""
_THICK = 0.2
"""From this guess on, gamma = 1/2 may not keep the goal; below, the guess is off by much less than a factor of two."""


def profile(m: ShuffledBinarySums, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of labelled binary sums.

    The adversary knows what the other users hold and takes it off; what is left of a count is its blanket, Bin(n, gamma), and
    user 1's own message. Another value in place of the user's raises one count by one and lowers one; the loss is

    .. math:: L = \ln \frac{Y\,(n - Y' + 1)}{(n - Y + 1)\,Y'}, \qquad
              Y - 1, Y' \sim \mathrm{Bin}(n, \gamma) \text{ independent}

    Any two values are alike, and so are all data sets of the others: tight. Where a user is added or removed, so is the
    user's blanket, and all counts differ in law: Bin(n, gamma) against Bin(n - 1, gamma).
    Source: derived; the case of one row without collisions of Algorithm 2 of Ghazi, Golowich, Kumar, Pagh, Velingker 2019.
    Proof: proofs/shuffled_binary_sums.py.

    ``m``: as its constructor ensures; ``neighbours``: replace-one or add-remove. Returns in nats. Infinite at delta =
    0. EXACT where the joint outcomes are few, else INTERVAL, within about 3e-4.
    """
    if neighbours == ADD_REMOVE:
        return largest(m.users, m.gamma, added(m.users, m.gamma, ((1, 1),), m.values))
    return largest(m.users, m.gamma, replaced(m.users, m.gamma, ((-1, 1), (1, 1))))


def for_privacy(epsilon: Number, delta: Number, users: int, values: int) -> ShuffledBinarySums:
    """The one with about the thinnest blanket that is certified to be (epsilon, delta)-private, replace-one.

    ``epsilon``, ``delta``: the goal: above 0, in nats; and in (0, 1); ``users``, ``values``: n and k; the blanket
    does not depend on k. Returns with a gamma that is certified, and that is within 1e-5 of one which is not shown to
    do. Raises ValueError where gamma = 1/2 does not keep the goal, and where a parameter lies outside its domain.
    """
    target = require_delta(delta)
    if not (require_epsilon(epsilon) > 0 and target > 0):
        raise ValueError(f"for_privacy needs epsilon > 0 and delta > 0, got {epsilon} and {delta}")

    @cache
    def cost(gamma: float) -> float:
        return profile(ShuffledBinarySums(users, values, Fraction(min(gamma, 0.5)))).delta(epsilon).high

    guess = likely_gamma(epsilon, target, users)
    if guess > _THICK and cost(0.5) > target:
        raise ValueError(f"({float(epsilon):g}, {float(target):g}) is out of reach: gamma = 1/2 does not keep it")
    return ShuffledBinarySums(users, values, Fraction(crossing(cost, target, guess, 1.001, _CLOSE)[1]))


def likely_gamma(epsilon: Number, delta: Number, users: int) -> float:
    """About the gamma that is needed: where messages are rare, a label's are like a codeword's (`shuffling.hidden_message`)."""

    def cost(gamma: float) -> float:
        return HiddenTuple(users, Fraction(min(gamma, 0.5)), Seen.ALL, "a guess").delta(epsilon).high

    start = min(4 * (1 - math.log(delta)) / (users * float(epsilon) ** 2), 0.4)  # as if the noise were normal
    return 0.5 if cost(0.5) > delta else min(crossing(cost, delta, start, 1.1, _CLOSE)[1], 0.5)


def expected_error(m: ShuffledBinarySums) -> Enclosure:
    """Expected largest error over all values, in users, EXACT: the noise is independent, and the same for any data."""
    return narrow(lambda: expected_largest_binomial(m.users, m.gamma, m.values), "binomial noise on every count")


def expected_error_bound(m: ShuffledBinarySums) -> Enclosure:
    """From 0 to the closed form for it, `numerics.deviations.expected_largest`; in users, INTERVAL."""
    variance = m.users * m.gamma * (1 - m.gamma)
    high = narrow(lambda: expected_largest(variance, m.values), "").high
    return Enclosure(0.0, high, Rigour.INTERVAL, "Bennett's bound of the exponential moments, and Jensen's inequality")


def failure(m: ShuffledBinarySums, error: Number) -> Enclosure:
    """Exact probability that any estimate is off by more than `error` users, the same for any data."""
    return narrow(lambda: any_outside(m.users, m.gamma, Fraction(error), m.values), "two binomial tails for each value")
