"""Sums of integers with clamped noise, of more users than whose data sets are all looked at, against all of these."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpaudit import Aggregate, Mechanism, Neighbours, Shuffle, account
from ldpaudit.accountants.aggregation.clamped import contained
from ldpaudit.accountants.aggregation.envelope import CountLaw
from ldpaudit.mechanisms import BinomialNoise, DiscreteLaplace, TruncatedGeometric, UnaryEncoding
from ldpaudit.mechanisms.shared.independent_bits import binomial_law
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from tests.samples import near

F = Fraction
ROUNDED = 1e-12
"""Of floats."""
CLOSE = 1e-6
"""Of pairs of laws whose integers are grouped."""


def laws_of(m: Mechanism) -> tuple[CountLaw, ...]:
    return tuple(tuple(p for _, p in m.law(x).items()) for x in m.inputs)


@pytest.mark.few(4)
@pytest.mark.parametrize("trials", [0, 2])
@pytest.mark.parametrize(("users", "bound", "alpha"), [(14, 2, F(1, 10)), (20, 2, F(1, 2)), (10, 3, F(9, 10)), (70, 1, F(1, 5))])
def test_the_ends_contain_the_worst_of_all_data_sets(users: int, bound: int, alpha: Fraction, trials: int) -> None:
    m, noise = TruncatedGeometric(bound, alpha), [BinomialNoise(trials, F(1, 3))] if trials else []
    laws = [np.array([float(p) for p in law]) for law in laws_of(m)]
    added = np.array([float(p) for p in binomial_law(trials, F(1, 3))])
    sums = [reduce(np.convolve, held, added) for held in combinations_with_replacement(laws, users - 1)]
    pairs = [(np.convolve(p, rest), np.convolve(q, rest)) for rest in sums for p, q in permutations(laws, 2)]
    profile = account(Aggregate(m, users, noise))
    for x in (1.0, 1.2, float(alpha) ** (-bound / 2)):
        truth = max(float(np.maximum(p - x * q, 0).sum()) for p, q in pairs)
        found = profile.delta(math.log(x))
        assert found.low <= truth * (1 + ROUNDED)
        assert truth * (1 - ROUNDED) <= found.high <= 2.5 * truth
        assert near(profile.epsilon(truth), math.log(x), ROUNDED)


@pytest.mark.parametrize(
    ("m", "users", "relation", "far"),
    [(TruncatedGeometric(2, F(9, 10)), 1, REPLACE_ONE, 0.001), (TruncatedGeometric(2, F(9, 10)), 3, REPLACE_ONE, 0.001),
     (UnaryEncoding(2, F(9, 10), F(1, 10)), 20, ADD_REMOVE, 0.0053)], ids=str,
)  # fmt: skip
def test_the_ends_of_few_users_contain_the_worst_data_set_where_noise_is_wide(
    m: Mechanism, users: int, relation: Neighbours, far: float
) -> None:
    """Of more integers than pairs of laws list from below."""
    bits = ((1 - p, p) for p in (0.9, 0.1))
    laws = [np.array(law, dtype=float) for law in (bits if isinstance(m, UnaryEncoding) else laws_of(m))]
    noise = 0.99 ** np.abs(np.arange(-4000, 4001)) / 199
    sums = [reduce(np.convolve, held, noise) for held in combinations_with_replacement(laws, users - 1)]
    profile = account(Aggregate(m, users, [DiscreteLaplace(F(99, 100))]), relation)
    for epsilon in (0.0, far):
        differences = (np.convolve(p - math.exp(epsilon) * q, rest) for rest in sums for p, q in permutations(laws, 2))
        truth = max(float(np.maximum(each, 0).sum()) for each in differences)
        found = profile.delta(epsilon)
        assert found.low <= truth * (1 + ROUNDED)
        assert truth * (1 - ROUNDED) <= found.high <= truth * (1 + CLOSE)


@pytest.mark.parametrize(("bound", "alpha"), [(1, F(1, 3)), (4, F(1, 2)), (9, F(3, 4)), (12, F(1, 50))])
@pytest.mark.parametrize("users", [10, 10**6])
def test_every_law_contains_as_many_shifts_of_two_laws_as_is_said(bound: int, alpha: Fraction, users: int) -> None:
    laws = laws_of(TruncatedGeometric(bound, alpha))
    found = contained(laws, users)
    both = [np.trim_zeros(np.array([float(p) for p in law])) for law in found.laws]
    assert both[0] == pytest.approx(both[1][::-1])
    assert [sum(law) for law in found.laws] == [1, 1]
    width = len(both[0])
    padded = [np.pad(each, width) for each in both]
    common = [np.array(found.laws, dtype=float).min(axis=0)]
    common += [np.minimum(padded[0], np.roll(padded[1], shift)) for shift in range(1 - width, width)]
    own, *others = (float(np.cov(range(len(each)), aweights=each, ddof=0)) * each.sum() for each in common)
    assert own == pytest.approx(max(others))
    columns = [np.pad(each, (s, bound + 1 - width - s)) for each in both for s in range(bound + 2 - width)]
    most = [-linprog([-1.0] * len(columns), A_ub=np.array(columns).T, b_ub=[float(p) for p in law]).fun for law in laws]
    assert 0.3 < found.share <= min(most) + 1e-9
    assert min(most) < found.share + 1e-6


@pytest.mark.few(1)
@pytest.mark.parametrize(("bound", "epsilon0", "worse"), [(3, 5, 1.17), (10, 10, 1.09)])
def test_the_ends_of_many_users_are_near_where_a_shuffle_says_much_more(bound: int, epsilon0: int, worse: float) -> None:
    m = TruncatedGeometric.for_epsilon(epsilon0, bound)
    found = account(Aggregate(m, 1000)).epsilon(1e-6)
    assert found.high < worse * found.low
    assert 1.5 * found.high < account(Shuffle(m, 1000)).epsilon(1e-6).low


def test_a_curve_that_is_composed_says_as_much_from_above() -> None:
    sums = account(Aggregate(TruncatedGeometric(6, F(2, 3)), 30))
    assert sums.upper_end().delta(1).high == sums.from_above().delta(1).high == sums.delta(1).high
    assert sums.delta(1).high < account(Shuffle(TruncatedGeometric(6, F(2, 3)), 30)).delta(1).high / 2
