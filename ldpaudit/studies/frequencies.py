"""Which protocol counts values among shuffled users: each with the least noise that keeps a promise, by its error.

With one message per user: k-ary response, whose error grows with the number of values, or a vector of bits (RAPPOR), whose
error grows with the number of users (GGKPV, Theorem 3.4). With a few messages per user: labelled binary sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import randomized_response, shuffled_binary_sums, unary_encoding
from ldpaudit.enclosure import Enclosure
from ldpaudit.plan import Plan, Run, Shuffle
from ldpaudit.studies.design import Goal


@dataclass(frozen=True, slots=True)
class Protocol:
    """A way of counting values that is certified to keep a promise."""

    plan: Plan  # what is deployed: a shuffled mechanism, or one that is a whole shuffled system
    error: Enclosure  # from 0 to a bound of the expected largest error over all values, for any data; in users
    messages: Fraction  # of a user, on average
    bits: int  # of a message


Way = Callable[[Goal, int, int], Protocol]


def one_message(goal: Goal, users: int, values: int) -> tuple[Protocol, ...]:
    """The protocols with one message per user that keep the goal, the least bound of the error first.

    ``goal``: what must be kept; epsilon and delta above 0; ``users``, ``values``: n, at least 1, and k, at least 2.
    Raises ValueError where a parameter lies outside its domain.

    Examples
    --------
    >>> goal = Goal(Fraction(1), Fraction(1, 10**9))
    >>> [[each.plan.plan.mechanism.title for each in one_message(goal, 10**6, k)] for k in (64, 4096)]
    [['k-ary randomized response', 'unary encoding'], ['unary encoding', 'k-ary randomized response']]
    """
    return _by_error((_uniform_draws, _vectors), goal, users, values)


def any_messages(goal: Goal, users: int, values: int) -> tuple[Protocol, ...]:
    """As `one_message`, and labelled binary sums, of which a user sends a few."""
    return _by_error((_uniform_draws, _vectors, _sums), goal, users, values)


def _by_error(ways: Iterable[Way], goal: Goal, users: int, values: int) -> tuple[Protocol, ...]:
    if not (goal.epsilon > 0 and goal.delta > 0 and users >= 1 and values >= 2):
        found = f"{goal}, users={users} and values={values}"
        raise ValueError(f"protocols need epsilon > 0, delta > 0, users >= 1 and values >= 2, got {found}")
    made = []
    for way in ways:
        try:
            made.append(way(goal, users, values))
        except ValueError:  # every parameter is in its domain, so it is out of reach
            continue
    return tuple(sorted(made, key=lambda each: each.error.high))


def _uniform_draws(goal: Goal, users: int, values: int) -> Protocol:
    m = randomized_response.for_privacy(goal.epsilon, goal.delta, users, values)
    error = randomized_response.errors(m, users).expected_error()
    return Protocol(Shuffle(m, users), error, Fraction(1), (values - 1).bit_length())


def _vectors(goal: Goal, users: int, values: int) -> Protocol:
    m = unary_encoding.for_privacy(goal.epsilon, goal.delta, users, values)
    return Protocol(Shuffle(m, users), unary_encoding.errors(m, users).expected_error(), Fraction(1), values)


def _sums(goal: Goal, users: int, values: int) -> Protocol:
    m = shuffled_binary_sums.for_privacy(goal.epsilon, goal.delta, users, values)
    return Protocol(Run(m), shuffled_binary_sums.expected_error_bound(m), m.expected_messages, m.message_bits)
