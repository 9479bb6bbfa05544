"""THRESH and HEAVYTHRESH line by line, with thresholds and noise levels that are chosen: slow, and obvious."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

from ldpaudit.mechanisms import HeavyThresh, HeavyThreshRepaired, Thresh, ThreshRepaired
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram
from ldpaudit.mechanisms.shared.voting.thresh import Levels

F = Fraction
HALF = F(1, 2)
HALVES = Levels(HALF, HALF, HALF, HALF)
Machine = Thresh | HeavyThresh
Held = Any
"""What a user holds in an epoch: of THRESH a number of ones, of HEAVYTHRESH a histogram."""
Vector = tuple[Fraction, ...]
"""A mean, or a column times the root of w."""


@dataclass(frozen=True)
class Chosen:
    """Thresholds and noise levels that are chosen: printed ones need hundreds of rounds, too many for enumeration."""

    noise: Levels = HALVES

    @property
    def levels(self) -> Levels:
        return self.noise


@dataclass(frozen=True)
class Toy(Chosen, Thresh):
    pass


@dataclass(frozen=True)
class ToyRepaired(Chosen, ThreshRepaired):
    pass


@dataclass(frozen=True)
class HeavyToy(Chosen, HeavyThresh):
    pass


@dataclass(frozen=True)
class HeavyToyRepaired(Chosen, HeavyThreshRepaired):
    pass


def heavy_toy(kind: type[Any], epochs: int, rounds: int, epsilon: Fraction, noise: tuple[Fraction, Fraction, Fraction],
              domain: int, rows: int, start: int, seed: int = 0) -> Any:  # fmt: skip
    return kind(2, epochs, rounds, epsilon, HALF, 2, domain, 1, start, rows, seed, Levels(*noise, HALF))


def number(m: Machine) -> Any:
    """What probabilities are computed with, not distances: of HEAVYTHRESH, whose paths are many, floats."""
    return float if isinstance(m, HeavyThresh) else Fraction


@cache
def all_held(m: Machine) -> Sequence[Held]:
    return histograms(m.domain, m.rounds) if isinstance(m, HeavyThresh) else range(m.rounds + 1)


def histograms(domain: int, rounds: int) -> list[Histogram]:
    held = (Counter(each) for each in combinations_with_replacement(range(domain), rounds))
    return [tuple(sorted(each.items())) for each in held]


class User(NamedTuple):
    """One user; the counters are what was spent. The reference is compared with what is held."""

    reference: tuple[Any, ...]
    votes_spent: Fraction = F(0)
    estimates_spent: Fraction = F(0)

    @classmethod
    def fresh(cls, m: Machine) -> "User":
        rows = m.rows if isinstance(m, HeavyThresh) else 1
        return cls((m.start * math.sqrt(rows) if rows > 1 and m.start else F(m.start),) * rows)


@cache
def vector(m: Machine, held: Held) -> Vector:
    """The mean, or Phi p, times the root of w."""
    if isinstance(m, HeavyThresh):
        return tuple(F(sum(c * int(m.public.signs(j, v)) for v, c in held), m.rounds) for j in range(m.rows))
    return (F(held, m.rounds),)


def allows(m: Machine, counter: Fraction, level: Fraction) -> bool:
    """Repaired, the counter is checked with what it is about to grow by."""
    repaired = isinstance(m, ThreshRepaired | HeavyThreshRepaired)
    return counter + level <= m.epsilon / 4 if repaired else counter < m.epsilon / 4


def vote(m: Machine, user: User, held: Held, t: int) -> tuple[bool, User]:
    top = math.floor(math.log2(m.epochs))
    apart = max(abs(x - r) for x, r in zip(vector(m, held), user.reference, strict=True))
    exceeded = [b for b in range(-1, top + 1) if apart > 2 * (b + 1) * m.levels.step]
    yes = bool(exceeded) and allows(m, user.votes_spent, m.a) and t % 2 ** (top - max(exceeded)) == 0
    return yes, user._replace(votes_spent=user.votes_spent + m.a) if yes else user


def estimate(m: Machine, user: User, held: Held) -> tuple[Vector, User]:
    """What is reported of, which is 0 without budget; a global update it is that asks for it."""
    user = user._replace(reference=vector(m, held))
    if not allows(m, user.estimates_spent, m.b):
        return (F(0),) * len(user.reference), user
    return vector(m, held), user._replace(estimates_spent=user.estimates_spent + m.b)


def yes_chance(m: Machine) -> Fraction:
    """``e**a / (e**a + 1)``."""
    return m.vote_coin if m.a > 0 else 1 - m.vote_coin


@cache
def plus(m: Machine, x: Vector) -> list[Fraction]:
    """Probability of 1 of a bit, ``(1 + x (e**b - 1)) / (e**b + 1)``; or in each row, ``(1 + root(w) x_j tanh(b/2)) / 2``."""
    high = m.estimate_coin if m.b > 0 else 1 - m.estimate_coin
    if isinstance(m, HeavyThresh):
        return [(1 + entry * (2 * high - 1)) / 2 for entry in x]
    return [1 - high + x[0] * (2 * high - 1)]


def worst_ratio(m: Machine) -> Any:
    """Largest likelihood ratio over all pairs of streams, all updates and all that may be published."""
    one, yes = number(m)(1), number(m)(yes_chance(m))
    coin = max(yes / (1 - yes), (1 - yes) / yes)

    @cache
    def ratio(x: Vector, y: Vector) -> Any:
        return number(m)(max(max(p / q, (1 - p) / (1 - q)) for p, q in zip(plus(m, x), plus(m, y), strict=True)))

    @cache
    def worst(v: User, w: User, t: int) -> Any:
        if t > m.epochs:
            return one
        found = 0
        for (first, v1, x, v2), (second, w1, y, w2) in product(moves(v, t), moves(w, t)):
            rest = max(worst(v1, w1, t + 1), ratio(x, y) * worst(v2, w2, t + 1))
            found = max(found, (coin if first != second else one) * rest)
        return found

    @cache
    def moves(user: User, t: int) -> list[tuple[bool, User, Vector, User]]:
        found = []
        for held in all_held(m):
            said, after = vote(m, user, held, t)
            found.append((said, after, *estimate(m, after, held)))
        return found

    return worst(User.fresh(m), User.fresh(m), 1)


def worst_delta(m: Machine, one: Sequence[Held], other: Sequence[Held], exp_epsilon: Fraction) -> Any:
    """Largest sum of (P - Q)+ over transcripts of two streams, for adversaries who decide on each update by all before it."""
    yes = number(m)(yes_chance(m))

    def worst(v: User, w: User, p: Any, q: Any, t: int) -> Any:
        if t > m.epochs:
            return max(p - q, 0)
        (first, v1), (second, w1) = vote(m, v, one[t - 1], t), vote(m, w, other[t - 1], t)
        a, b = (yes, 1 - yes) if first else (1 - yes, yes)
        branches = [(p, q)] if first == second else [(p * a, q * b), (p * (1 - a), q * (1 - b))]
        (x, v2), (y, w2) = estimate(m, v1, one[t - 1]), estimate(m, w1, other[t - 1])
        rows = Counter(zip(map(number(m), plus(m, x)), map(number(m), plus(m, y)), strict=True))
        total = number(m)(0)
        for p0, q0 in branches:
            stays = worst(v1, w1, p0, q0, t + 1)
            seen = [(p0 * n * u / len(x), q0 * n * s / len(x)) for (c, d), n in rows.items() for u, s in ((c, d), (1 - c, 1 - d))]
            total += max(stays, sum(worst(v2, w2, *each, t + 1) for each in seen))
        return total

    fresh = User.fresh(m)
    return worst(fresh, fresh, number(m)(1), number(m)(exp_epsilon), 1)
