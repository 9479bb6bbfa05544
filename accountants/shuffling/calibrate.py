"""Inverse problems: the number of users, or the local epsilon, that reaches a goal, for any local randomizer; and the least
noise of one whose shuffled bound is known."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.certified_search import close_in, depth
from ldpaudit.accountants.numerics.search import crossing, first
from ldpaudit.accountants.shuffling.clones import Clones
from ldpaudit.enclosure import Enclosure, Rigour, round_down
from ldpaudit.errors import Unsupported
from ldpaudit.plan import Guarantee, Plan, Shuffle
from ldpaudit.profile import Number, require_delta, require_epsilon

_LARGEST = 1024.0
"""Nats. Larger local epsilons are not considered: a clone of probability e**-1024 is none."""
_MOST_USERS = 1 << 50
_CLOSE = 1e-6
"""Relative width of the search for a least noise."""
_LEAST_EPSILON = 1e-6
"""Where a search starts for a goal whose epsilon is smaller."""


def largest_local_epsilon(users: int, epsilon: Number, delta: Number) -> float:
    """A local epsilon, as large as the clones allow, at which any randomizer shuffled is (epsilon, delta)-private.

    At least `epsilon`, which needs no shuffling. Certified: the upper bound at it is at most delta; some larger one, within a
    relative 1e-10, is not shown to do. Raises ValueError where a parameter lies outside its domain.
    """
    if users < 1:
        raise ValueError(f"largest_local_epsilon needs users >= 1, got users={users}")
    goal, target = _goal(epsilon, delta)

    def look(local: float) -> tuple[bool, float]:
        value = Clones(Fraction(local)).delta(goal, users).abs_upper()
        return bool(value <= ball(target)), depth(ball(target)) - depth(value)

    good = round_down(goal)
    bad = max(2 * good, 1.0)
    while look(bad)[0]:
        good, bad = bad, 2 * bad
        if bad > _LARGEST:
            return good
    return close_in(look, good, bad)[0]


def users_needed(local_epsilon: Number, epsilon: Number, delta: Number) -> int:
    """A number of users, as small as the clones allow, for which any randomizer shuffled is (epsilon, delta)-private.

    Certified: the upper bound with this number of users is at most delta; with one user less it is not shown to be. Raises
    ValueError outside the domain; Unsupported where no number of users is enough, or more than 2**50.
    """
    goal, target = _goal(epsilon, delta)
    clones = Clones(Fraction(local_epsilon))
    if clones.epsilon0 <= 0:
        raise ValueError(f"users_needed needs local_epsilon > 0, got {local_epsilon}")
    if goal >= clones.epsilon0:
        return 1
    if target == 0:
        raise Unsupported(Guarantee(clones.epsilon0), "at delta = 0 more users give no more privacy than one")

    def look(users: float) -> tuple[bool, float]:
        value = clones.delta(goal, int(users)).abs_upper()
        return bool(value <= ball(target)), depth(ball(target)) - depth(value)

    if look(1)[0]:
        return 1
    good, bad = 2, 1
    while not look(good)[0]:
        good, bad = 2 * good, good
        if good > _MOST_USERS:
            raise Unsupported(Shuffle(Guarantee(clones.epsilon0), bad), f"more than 2**50 users are needed for {target}")
    good, bad = (int(x) for x in close_in(look, good, bad))
    return first(lambda users: look(users)[0], good, bad + 1, good)


def enough_noise(plan: Callable[[Fraction], Plan], epsilon: Number, delta: Number, guess: float, most: float) -> Fraction:
    """About the least noise at which a shuffled plan, or a sum, is certified to be (epsilon, delta)-private.

    ``guess``, ``most``: where to look first, and where the noise hides everything. A float. Certified: the upper bound at it is at
    most delta. One smaller by a relative 1e-6 was not shown to do; that no smaller one does is not claimed where privacy is not
    monotone in the noise. Raises ValueError outside the domain, or where no noise below `most` keeps the goal.
    """
    return Fraction(_crossed(_delta_of(plan, epsilon), lambda found: found.high, (epsilon, delta), guess, most)[1])


def needed_noise(plan: Callable[[Fraction], Plan], epsilon: Number, delta: Number, guess: float, most: float) -> Enclosure:
    """From a noise that is certified to be too little, for some data, to one that is certified to be enough; INTERVAL."""
    goal, delta_of = (epsilon, delta), _delta_of(plan, epsilon)
    enough = _crossed(delta_of, lambda found: found.high, goal, guess, most)[1]
    needed = _crossed(delta_of, lambda found: found.low, goal, enough, most)[0]
    return Enclosure(min(needed, enough), enough, Rigour.INTERVAL, "bisection of the shuffled plan's profile")


def _delta_of(plan: Callable[[Fraction], Plan], epsilon: Number) -> Callable[[float], Enclosure]:
    """Delta at a noise; the second search begins where the first one ended."""
    return cache(lambda noise: account(plan(Fraction(noise))).delta(epsilon))


def _crossed(
    delta_of: Callable[[float], Enclosure],
    end: Callable[[Enclosure], float],
    goal: tuple[Number, Number],
    guess: float,
    most: float,
) -> tuple[float, float]:
    """Two neighbouring noises; this end of the enclosure of delta exceeds the goal's at the first, and not at the second."""
    epsilon, delta = _goal(*goal)
    if delta == 0:
        raise ValueError("a least noise needs delta > 0: at delta = 0 more users give no more privacy than one")

    def cost(noise: float) -> float:
        return 0.0 if noise >= most else end(delta_of(noise))

    low, high = crossing(cost, delta, min(guess, most / 2), 1.1, _CLOSE)
    if high >= most:
        found = f"({float(epsilon):g}, {float(delta):g})"
        raise ValueError(f"{found} is out of reach: no noise below {most:g} was found that keeps it")
    return low, high


def likely_hits(epsilon: Number, delta: Number) -> float:
    """About how many reports of other users have to look like user 1's: a float estimate, where to look first."""
    goal, target = _goal(epsilon, delta)
    return 4 * (1 - math.log(target)) / max(float(goal), _LEAST_EPSILON) ** 2 if target else math.inf


def _goal(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    return Fraction(require_epsilon(epsilon)), Fraction(require_delta(delta))
