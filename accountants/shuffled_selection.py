"""What selection by labelled binary sums costs, and how many users name a question by it."""

import math
from fractions import Fraction
from functools import cache

from ldpaudit.accountants.counting.count_min import largest, replaced
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import crossing, first, near_crossing
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_FAIR = Fraction(1, 2)
_CLOSE = 4e-3
"""Relative width of the search for the number of coins; the start is nearer, so that two numbers are evaluated."""


def profile(m: ShuffledSelection, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of selection by labelled binary sums.

    What is left of a count is Bin(N, 1/2), of the N = n c coins of all users, and the user's own message. Of every question
    that two users answer differently, one count goes up by one, or down: for fair coins that is the same loss, by
    reflection. So only the number of such questions matters, and at all B of them most is seen,

    .. math:: L = \sum_{j=1}^{B} \ln \frac{Y_j}{N - Y_j + 1}, \qquad Y_j - 1 \sim \mathrm{Bin}(N, 1/2) \text{ independent}

    Tight: no to all, and yes to all; all data sets of the others are alike. Source: derived; Cheu, Smith, Ullman, Zeber,
    Zhilyaev 2019 for sums over all questions. Proof: proofs/shuffled_selection.py.

    ``m``: as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Infinite at delta = 0. EXACT
    where the joint outcomes are few, else INTERVAL.
    """
    return of_coins(m.noise, m.questions)


def of_coins(coins: int, questions: int) -> PrivacyProfile:
    """As `profile`, from the number of fair coins in each count."""
    return largest(coins, _FAIR, replaced(coins, _FAIR, ((1, questions),)))


def sufficient_coins(epsilon: Number, delta: Number, questions: int) -> int:
    """About the least number of fair coins in each count, of all users together, that is certified to keep the goal.

    ``epsilon``, ``delta``: the goal: above 0, in nats; and in (0, 1); ``questions``: B, at least 1. Raises ValueError
    where a parameter lies outside its domain.
    """
    target = require_delta(delta)
    if not (require_epsilon(epsilon) > 0 and target > 0):
        raise ValueError(f"sufficient_coins needs epsilon > 0 and delta > 0, got {epsilon} and {delta}")

    @cache
    def cost(coins: float) -> float:
        return of_coins(math.ceil(coins), questions).delta(epsilon).high

    return math.ceil(near_crossing(cost, target, _normal_coins(float(epsilon), float(target), questions), _CLOSE)[1])


def _normal_coins(epsilon: float, delta: float, questions: int) -> float:
    """What would be enough if the noise were normal; within 3e-4 of what is, from a thousand coins on."""

    def cost(coins: float) -> float:
        loss = math.sqrt(4 * questions / coins)  # shift over standard deviation, of all questions together
        return _tail(epsilon / loss - loss / 2) - math.exp(epsilon) * _tail(epsilon / loss + loss / 2)

    return crossing(cost, delta, 4 * questions * math.log(1 / delta) / epsilon**2, 2.0, 1e-6)[1]


def _tail(z: float) -> float:
    """Probability that a standard normal variable exceeds z."""
    return math.erfc(z / math.sqrt(2)) / 2


def for_privacy(epsilon: Number, delta: Number, users: int, questions: int) -> ShuffledSelection:
    """The one with about the fewest coins per user that is certified to be (epsilon, delta)-private."""
    return ShuffledSelection(users, questions, -(-sufficient_coins(epsilon, delta, questions) // users))


def failure(m: ShuffledSelection, error: Fraction) -> Enclosure:
    r"""From 0 to a bound of the probability that `select` names a question with fewer yeses than the most, less alpha n.

    .. math:: (B - 1)\, P\bigl[\mathrm{Bin}(2N, \tfrac12) \ge N + \lfloor \alpha n \rfloor + 1\bigr]

    For each question against the best one the probability is exact: the difference of two counts' coins is
    Bin(2N, 1/2) - N. Not tight, for it sums over the questions. Source: derived.

    ``m``: any; ``error``: alpha, in (0, 1): a share of the users. Returns INTERVAL.
    """
    missing = math.floor(error * m.users) + 1
    other = narrow(lambda: (m.questions - 1) * binomial_upper(2 * m.noise, _FAIR, m.noise + missing), "two binomial laws")
    return Enclosure(0.0, min(1.0, other.high), Rigour.INTERVAL, "each question against the best one")


def sufficient_users(
    questions: int, epsilon: Number, delta: Number, beta: Fraction, error: Fraction
) -> tuple[int, ShuffledSelection]:
    """Users among whom the messages are certified to be (epsilon, delta)-private, and `failure` is at most `beta`.

    Returns about as few as this is shown of, and what all of them run.
    """
    coins = sufficient_coins(epsilon, delta, questions)

    def system(users: int) -> ShuffledSelection:
        return ShuffledSelection(users, questions, -(-coins // users))

    users = first(lambda n: failure(system(n), error).high <= beta, math.isqrt(coins) + 1, 1, 1 << 40)
    return users, system(users)
