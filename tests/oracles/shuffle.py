"""Shuffled mechanisms by enumeration in rationals: slow, obvious, the oracle."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations_with_replacement, permutations
from math import comb
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ldpaudit.mechanism import Mechanism

Law = Mapping[Any, Fraction]
P = TypeVar("P", int, float, Fraction)


def short_of_mixtures(truth: NDArray[np.float64], above: NDArray[np.float64]) -> float:
    """By how much a function exceeds the nearest mixture of the columns at most, by linear programming."""
    rows, columns = above.shape
    best = linprog(
        [*np.zeros(columns), 1],
        A_ub=np.hstack([-above, -np.ones((rows, 1))]),
        b_ub=-truth,
        A_eq=[[*np.ones(columns), 0]],
        b_eq=[1],
        bounds=[*[(0, None)] * columns, (None, None)],
    )
    return float(best.x[-1])


def laws(m: Mechanism) -> list[Law]:
    return [dict(m.law(x).items()) for x in m.inputs]


def channel(rows: Sequence[Sequence[Fraction]]) -> list[Law]:
    """Laws of inputs on views that are numbered."""
    return [dict(enumerate(row)) for row in rows]


def law_of(outcomes: Iterable[tuple[Any, P]]) -> dict[Any, P]:
    """Law of outcomes that are listed with their probabilities, or weights: those of equal ones are added."""
    found: dict[Any, P] = {}
    for y, p in outcomes:
        found[y] = found[y] + p if y in found else p
    return found


def whole(law: Law) -> tuple[dict[Any, int], int]:
    """A law in integers, and how many of them are one."""
    unit = math.lcm(*(p.denominator for p in law.values()))
    return {y: p.numerator * (unit // p.denominator) for y, p in law.items()}, unit


def shuffled(data: Iterable[Law]) -> dict[tuple[Any, ...], Fraction]:
    """Law of the multiset of one message a user."""
    laws, units = zip(*map(whole, data), strict=True)
    return {seen: Fraction(weight, math.prod(units)) for seen, weight in multisets(laws).items()}


def multisets(data: Iterable[Mapping[Any, int]]) -> dict[tuple[Any, ...], int]:
    """The same in integers."""
    found: dict[tuple[Any, ...], int] = {(): 1}
    for law in data:
        found = law_of((tuple(sorted((*seen, y))), w * p) for seen, w in found.items() for y, p in law.items() if p)
    return found


def divergence(first: Law, second: Law, exp_epsilon: Fraction) -> Fraction:
    """The sum of (P - exp(epsilon) Q)_+; in integers."""
    (ours, one), (theirs, other), (e, unit) = whole(first), whole(second), exp_epsilon.as_integer_ratio()
    return Fraction(sum(max(0, p * other * unit - e * one * theirs.get(y, 0)) for y, p in ours.items()), one * other * unit)


def datasets(laws: Sequence[Law], users: int) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    """User 1's two values, and the values of the others."""
    for pair in permutations(range(len(laws)), 2):
        for others in combinations_with_replacement(range(len(laws)), users - 1):
            yield pair, others


def worst(laws: Sequence[Law], users: int, *exp_epsilons: Fraction) -> list[Fraction]:
    """The exact delta of the shuffled channel at each epsilon, over every pair of neighbouring data sets; in integers."""
    unit = math.lcm(*(p.denominator for law in laws for p in law.values()))
    counted = [{y: int(p * unit) for y, p in law.items()} for law in laws]

    @cache
    def view(*held: int) -> dict[tuple[Any, ...], int]:
        return multisets(counted[x] for x in held)

    def excess(pair: tuple[int, int], others: tuple[int, ...], e: Fraction) -> int:
        first, second = (view(*sorted((x, *others))) for x in pair)
        return sum(max(0, e.denominator * p - e.numerator * second.get(y, 0)) for y, p in first.items())

    sets = list(datasets(laws, users))
    return [Fraction(max(excess(*each, e) for each in sets), e.denominator * unit**users) for e in exp_epsilons]


def clone_pair(exp_epsilon0: Fraction, users: int, clone: Fraction, exp_epsilon: Fraction) -> Fraction:
    """Divergence of (A + D, C - A + 1 - D) from its mirror, C of law Bin(n - 1, clone)."""
    law = (comb(users - 1, c) * clone**c * (1 - clone) ** (users - 1 - c) for c in range(users))
    return sum((weight * clone_pair_of(exp_epsilon0, c, exp_epsilon) for c, weight in enumerate(law)), Fraction(0))


def clone_pair_of(exp_epsilon0: Fraction, c: int, exp_epsilon: Fraction) -> Fraction:
    """The same, given C = c."""
    p = exp_epsilon0 / (1 + exp_epsilon0)
    heads = [Fraction(comb(c, a), 2**c) for a in range(c + 1)]
    first = {a: p * (heads[a - 1] if a else 0) + (1 - p) * (heads[a] if a <= c else 0) for a in range(c + 2)}
    return divergence(first, {a: first[c + 1 - a] for a in first}, exp_epsilon)


def binary(p: Fraction, users: int, exp_epsilon: Fraction) -> list[Fraction]:
    """Exact delta of binary randomized response for every number t of others who hold user 1's first value."""
    return [_binary(p, users - 1, t, exp_epsilon) for t in range(users)]


def _binary(p: Fraction, others: int, t: int, exp_epsilon: Fraction) -> Fraction:
    heads, unit = p.as_integer_ratio()
    coins = [np.array([unit - ways, ways], dtype=object) for ways in (heads, unit - heads)]
    laws = (reduce(np.convolve, coins[:1] * t + coins[1:] * (others - t), coin) for coin in coins)
    first, second = ({ones: Fraction(ways, unit ** (others + 1)) for ones, ways in enumerate(law)} for law in laws)
    return divergence(first, second, exp_epsilon)
