"""Sums of which all users are replaced by users of two ends, against all data sets."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from ldpaudit import Aggregate, account
from ldpaudit.accountants.aggregation import ends
from ldpaudit.accountants.aggregation.ends import Ends, Moves
from ldpaudit.accountants.aggregation.envelope import CountLaw
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.mechanisms.geometric import TruncatedGeometric

F = Fraction
ROUNDED = 1e-12
"""Of floats."""
NARROW = (F(40, 100), F(30, 100), F(30, 100)), (F(32, 100), F(36, 100), F(32, 100)), (F(30, 100), F(30, 100), F(40, 100))
"""Laws of which that of the middle is the narrowest."""
WIDE = TruncatedGeometric(2, F(4, 5))
LAWS = [NARROW, tuple(tuple(p for _, p in WIDE.law(x).items()) for x in WIDE.inputs)]


def divergence(rest: np.ndarray, laws: tuple[CountLaw, ...], x: float, pair: tuple[int, int]) -> float:
    p, q = (np.convolve(rest, [float(each) for each in laws[i]]) for i in pair)
    return float(np.maximum(p - x * q, 0).sum())


def added(laws: tuple[CountLaw, ...], held: tuple[int, ...]) -> np.ndarray:
    return reduce(np.convolve, ([float(p) for p in laws[i]] for i in held), np.ones(1))


def worst(laws: tuple[CountLaw, ...], others: int, x: float) -> float:
    rests = [added(laws, held) for held in combinations_with_replacement(range(len(laws)), others)]
    return max(divergence(rest, laws, x, pair) for rest in rests for pair in permutations(range(len(laws)), 2))


@pytest.mark.parametrize("x", [1.0, 1.3])
@pytest.mark.parametrize("laws", LAWS, ids=["narrow", "geometric"])
def test_to_replace_one_user_costs_at_most_what_does_not_fit_and_what_is_cut_off(laws: tuple[CountLaw, ...], x: float) -> None:
    bound, m, seen = Ends(Moves(laws), 6, Masses.point(0), lambda k, x: 1.0, np.array([1.3]), 1e-6), 3, []
    for z in range(3):
        left, cut, either = bound._replacing(1, bound.moves.draws[z].of(m))
        assert 0 < either <= 0.5
        for held in combinations_with_replacement(range(3), 2):
            rest = added(laws, (*held, *[z] * m))
            for pair in permutations(range(3), 2):
                own, first, last = (divergence(np.convolve(rest, added(laws, (y,))), laws, x, pair) for y in (1, 0, 2))
                room = left * divergence(added(laws, held), laws, x, pair) + x * cut
                assert own <= max(first, last) + room + ROUNDED
                seen.append(own - max(first, last))
    assert laws is not NARROW or x > 1 or max(seen) > 1e-4  # so that something was to be added


def test_a_user_is_replaced_at_the_most_that_is_left_and_cut_off_of_all_pairs_of_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "_FEWEST", 2)
    m = TruncatedGeometric(3, F(4, 5))
    laws = tuple(tuple(p for _, p in m.law(x).items()) for x in m.inputs)
    bound, others = Ends(Moves(laws), 60, Masses.point(0), max, np.ones(1), 1e-6), 60
    for found in bound._levels.values():
        held = zip(((0, 3), (1, 2)), bound._sizes(others), strict=True)
        costs = (bound._replacing(y, bound.moves.draws[z].of(m)) for kinds, m in held for y in (1, 2) for z in kinds)
        left, cut, either = zip(*costs, strict=True)
        assert found == pytest.approx((max(left), max(cut), min(either)), rel=1e-6)
        others -= 1 + max(bound._sizes(others))
    assert len(bound._levels) == 3


@pytest.mark.parametrize("x", [1.0, 1.1, 1.6])
@pytest.mark.parametrize("laws", LAWS, ids=["narrow", "geometric"])
def test_no_data_set_of_few_users_costs_more(monkeypatch: pytest.MonkeyPatch, laws: tuple[CountLaw, ...], x: float) -> None:
    monkeypatch.setattr(ends, "_FEWEST", 2)
    few = cache(lambda k, x: worst(laws, k, x))
    bound = Ends(Moves(laws), 24, Masses.point(0), few, np.array([1.2]), 1e-6)
    found, truth = float(bound.high(np.array([x]))[0]), few(24, x)
    assert truth <= found * (1 + ROUNDED)
    assert found < 1
    rests = [added(laws, (0,) * held + (2,) * (24 - held)) for held in range(25)]
    on_ends = max(divergence(rest, laws, x, pair) for rest in rests for pair in permutations(range(3), 2))
    ranges = bound._on_ends(24, np.array([x]))[0, 0]
    assert on_ends <= ranges * (1 + ROUNDED)
    assert x != 1.1 or ranges < 1.2 * on_ends


def test_what_an_end_shifted_has_beyond_the_window_is_told_to_the_last_digit() -> None:
    bound = Ends(Moves(NARROW), 6, Masses.point(0), lambda k, x: 1.0, np.array([1.3]), 1e-15)
    assert 1e-30 < bound._replacing(1, bound.moves.draws[0].of(100)).cut < 1e-17


@pytest.mark.parametrize(("users", "delta", "ratio"), [(3000, 1e-10, 1.005), (1000, 1e-8, 1.025)])
def test_a_sum_is_known_at_the_delta_that_is_asked(users: int, delta: float, ratio: float) -> None:
    found = account(Aggregate(TruncatedGeometric.for_epsilon(F(5, 2), 6), users)).epsilon(delta)
    assert found.high < ratio * found.low


@pytest.mark.parametrize("spread", [(999, 0, 0), (990, 9, 0), (900, 99, 0), (800, 100, 99), (0, 999, 0)], ids=str)
def test_the_ends_of_many_users_are_near_and_contain_data_sets_of_all_kinds(spread: tuple[int, int, int]) -> None:
    m = TruncatedGeometric.for_epsilon(F(5, 2), 6)
    found = _near(m)
    m_laws = tuple(tuple(p for _, p in m.law(x).items()) for x in m.inputs)
    rest, x = added(m_laws, (0,) * spread[0] + (1,) * spread[1] + (6,) * spread[2]), math.exp(found[1])
    truth = max(divergence(rest, m_laws, x, pair) for pair in ((0, 6), (6, 0)))
    assert truth <= 1e-6
    assert found[1] < 1.005 * found[0]
    assert spread[0] < 999 or truth > 0.9e-6


@cache
def _near(m: TruncatedGeometric) -> tuple[float, float]:
    found = account(Aggregate(m, 1000)).epsilon(1e-6)
    return found.low, found.high


def test_weights_fit_where_the_linear_program_does_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "_SEEN", 3)
    law = Masses.counts((F(1, 2), F(3, 10), F(1, 5))).times(900)
    parts = np.array([np.roll(law.plus(Masses.counts((F(1, 2), F(1, 2)))).values, shift) for shift in range(-2, 3)])
    whole = law.plus(Masses.counts((F(3, 10), F(9, 20), F(1, 4)))).values[1:]
    weights = ends._packed(parts[:, 3:-3], whole[3:-3], 0.0)
    assert 0 < weights.sum() <= 1
    assert np.all(weights @ parts[:, 3:-3] <= whole[3:-3] * (1 + ROUNDED))
