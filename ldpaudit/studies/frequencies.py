"""Which protocol counts values, among shuffled users or by a sum: each with the least noise that keeps a promise, by its error.

Shuffled, with one message per user: k-ary response, whose error grows with the number of values, or a vector of bits (RAPPOR),
whose error grows with the number of users (GGKPV, Theorem 3.4). With a few messages per user: labelled binary sums.

Summed: clients may flip bits, or every aggregator may add noise of its own. One aggregator is trusted and nobody knows which, so
that each adds all of the noise that is needed, and the sum carries the noise of all. The clients' flips add up to about one such
noise, however many users there are: more users need fewer flips.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import (
    discrete_gaussian,
    discrete_laplace,
    randomized_response,
    shuffled_binary_sums,
    skellam,
    unary_encoding,
)
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.shuffling.calibrate import enough_noise, likely_hits
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Aggregate, Plan, Run, Shuffle
from ldpaudit.studies.design import MOST_USERS, Goal


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


REPLACED = (1, -1)  # by how much a user who replaces a value changes the counts of a histogram
_LATER = 20  # numbers of users that are tried after the first: the error hardly depends on them


@dataclass(frozen=True, slots=True)
class Noisy:
    """A way of adding noise to sums that is certified to keep a promise."""

    plan: Plan  # what is certified: the sum of noisy reports; or the noise of the one aggregator that is trusted
    parties: int  # aggregators who add it; 0 where the clients do
    users: int
    error: Enclosure  # from 0 to the largest standard deviation of an estimated count, whatever the data; in users


WayOfNoise = Callable[[Goal, int, int, int], Noisy]


def least_noise(goal: Goal, users: int, values: int, aggregators: int = 2) -> tuple[Noisy, ...]:
    """Each way with the least noise found that keeps the goal where a value is replaced; the least error first.

    ``goal``: what must be kept; epsilon and delta above 0; ``users``, ``values``: honest users in a batch, at least 2, and values
    that are counted, at least 2; ``aggregators``: who add noise, at least 1. A way is left out where no noise is enough. Raises
    ValueError where a parameter lies outside its domain.

    Examples
    --------
    >>> found = least_noise(Goal(Fraction(1), Fraction(1, 10**6)), 100, 8)
    >>> [type(each.plan).__name__ for each in found]
    ['Run', 'Aggregate', 'Run', 'Run']
    """
    _require(goal, users, values, aggregators)
    return tuple(sorted(_each(lambda way: way(goal, users, values, aggregators)), key=lambda each: each.error.high))


def least_users(goal: Goal, error: Fraction, values: int, aggregators: int = 2) -> tuple[Noisy, ...]:
    """Each way with about the fewest users whose counts are known to a share of them; the fewest first.

    ``error``: the largest standard deviation of an estimated count, as a share of all users, in (0, 1); other parameters and errors
    as for `least_noise`. Certified: the goal is kept, and the error is not larger. With one user less it may be, too.
    """
    if not 0 < error < 1:
        raise ValueError(f"sums need an error in (0, 1), as a share of the users, got {float(error):g}")
    _require(goal, 2, values, aggregators)

    def with_users(way: WayOfNoise) -> Noisy:
        found = way(goal, MOST_USERS, values, aggregators)
        for _ in range(_LATER):
            needed = max(2, math.ceil(Fraction(found.error.high) / error))
            if needed > MOST_USERS:
                break
            found = way(goal, needed, values, aggregators)
            if found.error.high <= error * needed:
                return found
        raise ValueError(f"{goal} is out of reach: no number of users was found whose error is {float(error):g} of them")

    return tuple(sorted(_each(with_users), key=lambda each: each.users))


def _require(goal: Goal, users: int, values: int, aggregators: int) -> None:
    if not (goal.epsilon > 0 and goal.delta > 0 and users >= 2 and values >= 2 and aggregators >= 1):
        found = f"{goal}, users={users}, values={values} and aggregators={aggregators}"
        raise ValueError(f"sums need epsilon > 0, delta > 0, users >= 2, values >= 2 and aggregators >= 1, got {found}")


def _each(made: Callable[[WayOfNoise], Noisy]) -> Iterator[Noisy]:
    makers: list[Callable[..., CountNoise]] = [each.for_privacy for each in (discrete_gaussian, discrete_laplace, skellam)]
    for way in (_flips, *map(_added, makers)):
        try:
            yield made(way)
        except ValueError:  # every parameter is in its domain, so it is out of reach
            continue


def _flips(goal: Goal, users: int, values: int, _: int) -> Noisy:
    """Of every bit, by its user."""

    def plan(q: Fraction) -> Aggregate:
        return Aggregate(UnaryEncoding.flips(q, values), users)

    guess = min(likely_hits(goal.epsilon, goal.delta) / users, 0.25)
    q = enough_noise(plan, goal.epsilon, goal.delta, guess, 0.5)
    found = unary_encoding.errors(UnaryEncoding.flips(q, values), users)
    high = max(found.deviation(0).high, found.deviation(users).high)
    return Noisy(plan(q), 0, users, Enclosure(0.0, high, Rigour.INTERVAL, "a sum of coins, of as many holders as are worst"))


def _added(made: Callable[..., CountNoise]) -> WayOfNoise:
    """By each aggregator."""

    def way(goal: Goal, users: int, _: int, aggregators: int) -> Noisy:
        m = made(goal.epsilon, goal.delta, REPLACED)
        variance = m.variance * aggregators
        high = narrow(lambda: ball(variance).sqrt(), "").high
        return Noisy(Run(m), aggregators, users, Enclosure(0.0, high, Rigour.INTERVAL, "the variance of all aggregators' noise"))

    return way
