"""HEAVYTHRESH line by line, with thresholds and noise levels that are chosen: slow, and obvious."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

from ldpaudit.accountants import heavy_thresh
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram
from ldpaudit.mechanisms.shared.voting.thresh import Levels
from ldpaudit.profile import PrivacyProfile

F = Fraction
HALF = F(1, 2)
HALVES = Levels(HALF, HALF, HALF, HALF)


@dataclass(frozen=True)
class Toy(HeavyThresh):
    """Thresholds and noise levels that are chosen: printed ones need hundreds of rounds, too many for enumeration."""

    noise: Levels = HALVES

    @property
    def levels(self) -> Levels:
        return self.noise


@dataclass(frozen=True)
class ToyRepaired(HeavyThreshRepaired):
    noise: Levels = HALVES

    @property
    def levels(self) -> Levels:
        return self.noise


def toy(kind: type[Any], epochs: int, rounds: int, epsilon: Fraction, noise: tuple[Fraction, Fraction, Fraction],
        domain: int, rows: int, start: int, seed: int = 0) -> Any:  # fmt: skip
    return kind(2, epochs, rounds, epsilon, HALF, 2, domain, 1, start, rows, seed, Levels(*noise, HALF))


def account(m: HeavyThresh) -> PrivacyProfile:
    """The accountant itself: a toy redefines the noise levels, so that it is asked by name."""
    return heavy_thresh.profile(m)


@cache
def floats(m: HeavyThresh, held: Histogram) -> tuple[float, ...]:
    return tuple(map(float, column(m, held)))


@cache
def histograms(domain: int, rounds: int) -> list[Histogram]:
    held = (Counter(each) for each in combinations_with_replacement(range(domain), rounds))
    return [tuple(sorted(each.items())) for each in held]


class User(NamedTuple):
    """One user, line by line; the counters are what was spent. The reference is a vector, times the root of w."""

    reference: tuple[float, ...]
    votes_spent: Fraction = F(0)
    estimates_spent: Fraction = F(0)

    @classmethod
    def fresh(cls, m: HeavyThresh) -> User:
        return cls(tuple(m.start * math.sqrt(m.rows) for _ in range(m.rows)))


@cache
def column(m: HeavyThresh, held: Histogram) -> tuple[Fraction, ...]:
    """Phi p, times the root of w."""
    return tuple(F(sum(c * int(m.public.signs(j, v)) for v, c in held), m.rounds) for j in range(m.rows))


def allows(m: HeavyThresh, counter: Fraction, level: Fraction) -> bool:
    return counter + level <= m.epsilon / 4 if isinstance(m, HeavyThreshRepaired) else counter < m.epsilon / 4


def vote(m: HeavyThresh, user: User, held: Histogram, t: int) -> tuple[bool, User]:
    top = math.floor(math.log2(m.epochs))
    apart = max(abs(x - r) for x, r in zip(floats(m, held), user.reference, strict=True))
    exceeded = [b for b in range(-1, top + 1) if apart > 2 * (b + 1) * float(m.levels.step)]
    yes = bool(exceeded) and allows(m, user.votes_spent, m.a) and t % 2 ** (top - max(exceeded)) == 0
    return yes, user._replace(votes_spent=user.votes_spent + m.a) if yes else user


def estimate(m: HeavyThresh, user: User, held: Histogram) -> tuple[tuple[Fraction, ...], User]:
    """What is reported of: a vector of zeros without budget."""
    user = user._replace(reference=floats(m, held))
    if not allows(m, user.estimates_spent, m.b):
        return (F(0),) * m.rows, user
    return column(m, held), user._replace(estimates_spent=user.estimates_spent + m.b)


def yes_chance(m: HeavyThresh) -> Fraction:
    """``e**a / (e**a + 1)``."""
    return m.vote_coin if m.a > 0 else 1 - m.vote_coin


def signs(m: HeavyThresh, x: tuple[Fraction, ...]) -> list[Fraction]:
    """Probability of +1 in each row, ``(1 + root(w) x_j tanh(b/2)) / 2``."""
    return [(1 + entry * (2 * m.estimate_coin - 1)) / 2 for entry in x]


def report_ratio(m: HeavyThresh, x: tuple[Fraction, ...], y: tuple[Fraction, ...]) -> float:
    pairs = list(zip(signs(m, x), signs(m, y), strict=True))
    return float(max(max(p / q, (1 - p) / (1 - q)) for p, q in pairs))


def worst_ratio(m: HeavyThresh) -> float:
    """Largest likelihood ratio over all pairs of streams, all updates and all that may be published."""
    yes = float(yes_chance(m))
    coin = max(yes / (1 - yes), (1 - yes) / yes)
    ratio = cache(lambda x, y: report_ratio(m, x, y))

    @cache
    def worst(v: User, w: User, t: int) -> float:
        if t > m.epochs:
            return 1.0
        found = 0.0
        for (first, v1, x, v2), (second, w1, y, w2) in product(moves(v, t), moves(w, t)):
            rest = max(worst(v1, w1, t + 1), ratio(x, y) * worst(v2, w2, t + 1))
            found = max(found, (coin if first != second else 1.0) * rest)
        return found

    @cache
    def moves(user: User, t: int) -> list[tuple[bool, User, tuple[Fraction, ...], User]]:
        found = []
        for held in histograms(m.domain, m.rounds):
            said, after = vote(m, user, held, t)
            found.append((said, after, *estimate(m, after, held)))
        return found

    return worst(User.fresh(m), User.fresh(m), 1)
