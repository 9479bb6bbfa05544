"""Shuffled guarantees with a delta: the theorem's formula, random laws, and epsilons beyond its lowest point."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.stats import binom

from ldpaudit.accountants import account
from ldpaudit.accountants.shuffling.clones import CloneProfile
from ldpaudit.plan import Guarantee, Repeat, Shuffle
from tests.oracles import shuffle as oracle

FLOATS = 1e-9
"""Rounding of sums of some hundred floats."""


def guaranteed(epsilon0: float, delta0: float, users: int) -> Shuffle:
    return Shuffle(Guarantee(Fraction(epsilon0), Fraction(delta0)), users)


def clones(epsilon0: float, clone: float, users: int, epsilon: float) -> float:
    """The divergence of the pair, over all numbers of clones and of ones among them."""
    truth, found = 1 / (1 + math.exp(-epsilon0)), 0.0
    for c in range(users):
        ones = binom.pmf(np.arange(-1, c + 1), c, 0.5)
        first = np.append(ones[1:], 0) * (1 - truth) + ones * truth  # the count of ones, from 0 to c + 1
        second = np.append(ones[1:], 0) * truth + ones * (1 - truth)
        found += binom.pmf(c, users - 1, clone) * np.maximum(first - math.exp(epsilon) * second, 0).sum()
    return found


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
@pytest.mark.parametrize(("epsilon0", "delta0", "users"), [(1.0, 1e-4, 20), (2.0, 1e-6, 100), (0.5, 1e-3, 2)])
def test_delta_is_the_formula(epsilon0: float, delta0: float, users: int, epsilon: float) -> None:
    failures = math.exp(-epsilon0) * delta0
    hidden = clones(epsilon0, (1 - delta0) * math.exp(-epsilon0), users, epsilon)
    formula = delta0 + (1 - delta0) * hidden + (1 + math.exp(epsilon)) * (users - 1) * failures
    alone = delta0 + (1 - delta0) * (math.exp(epsilon0) - math.exp(epsilon)) / (1 + math.exp(epsilon0))
    found = account(guaranteed(epsilon0, delta0, users)).delta(epsilon)
    assert found.high == pytest.approx(min(formula, alone), rel=FLOATS)
    assert found.low == 0


def test_rare_enough_failures_add_to_the_clones_what_they_are() -> None:
    without, rare = CloneProfile(Fraction(1), 10**4), account(guaranteed(1.0, 1e-15, 10**4))
    assert without.delta(0.03).high < rare.delta(0.03).high < without.delta(0.03).high + 1e-11
    assert without.epsilon(1e-6).high < rare.epsilon(1e-6).high < without.epsilon(1e-6).high * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("users", [2, 3, 4])
def test_no_shuffled_map_with_the_guarantee_costs_more(seed: int, users: int) -> None:
    weights = 1 + np.round(10**4 * np.random.default_rng(seed).dirichlet(np.full(4, (0.3, 3.0)[seed % 2]), 3)).astype(int)
    laws = oracle.channel([[Fraction(w, sum(row)) for w in row] for row in weights.tolist()])
    epsilons = (0.0, 0.1, 0.25)
    truths = oracle.worst(laws, users, *(Fraction(math.exp(epsilon)) for epsilon in epsilons))
    for epsilon0 in (0.3, 1.0):
        delta0 = max(oracle.divergence(p, q, Fraction(math.exp(epsilon0))) for p, q in permutations(laws, 2))
        profile = account(guaranteed(epsilon0, float(delta0) * (1 + FLOATS) + FLOATS, users))
        for epsilon, truth in zip(epsilons, truths, strict=True):
            assert truth <= profile.delta(epsilon).high * (1 + FLOATS)


def test_delta_falls_with_epsilon_although_the_formula_rises() -> None:
    profile = account(guaranteed(2.0, 1e-9, 10**4))
    deltas = [profile.delta(epsilon).high for epsilon in (0, 0.01, 0.05, 0.1, 0.3, 1, 1.9, 1.99, 2, 5, math.inf)]
    assert all(near >= far for near, far in pairwise(deltas))
    assert deltas[-1] == deltas[-2] == pytest.approx(1e-9)
    assert deltas[5] < 1.1 * (1 + 10**4 * math.exp(-2) * 2.2) * 1e-9  # the formula at 1 has e in place of 1.1


def test_epsilon_and_delta_are_inverse_to_each_other() -> None:
    profile = account(guaranteed(1.0, 1e-12, 10**4))
    epsilon = profile.epsilon(1e-6).high
    assert profile.delta(epsilon).high <= 1e-6 < profile.delta(epsilon * (1 - 1e-6)).high


def test_failures_are_never_hidden() -> None:
    profile = account(guaranteed(1.0, 1e-6, 1000))
    for delta in (0, 1e-7):
        found = profile.epsilon(delta)
        assert (found.low, found.high) == (0, math.inf)
    assert profile.epsilon(1.0001e-6).high == pytest.approx(1, rel=1e-3)


def test_it_never_costs_more_than_one_report_alone() -> None:
    for epsilon0, delta0 in ((0.0, 0.1), (1.0, 0.1), (1e5, 0.1), (3.0, 1e-3)):
        alone, among = (account(plan) for plan in (guaranteed(epsilon0, delta0, 50).plan, guaranteed(epsilon0, delta0, 50)))
        for epsilon in (0, 0.5, 3):
            assert among.delta(epsilon).high <= alone.delta(epsilon).high
            assert among.delta(epsilon).low == 0


def test_one_user_is_not_hidden_and_shuffles_compose() -> None:
    assert account(guaranteed(1.0, 0.1, 1)).delta(0.5) == account(guaranteed(1.0, 0.1, 1).plan).delta(0.5)
    plan = guaranteed(1.0, 1e-14, 200)
    once, twice = (account(each).epsilon(1e-3).high for each in (plan, Repeat(plan, 2)))
    assert once < twice < 2 * once
