"""Sampling and a threshold on tries: the profile against all data sets of words, one user more, less, or replaced."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import flint
import pytest

from ldpaudit import Run, account
from ldpaudit.accountants.pld.finite import log_fraction
from ldpaudit.accountants.sampling.other_prefixes import removal_bound
from ldpaudit.accountants.sampling.other_prefixes_low import OtherPrefixes
from ldpaudit.accountants.sampling.theorems import triehh_theorem_1
from ldpaudit.accountants.sampling.thresholded import FixedBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import round_up
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from tests.helpers import some
from tests.oracles.trie import RATIOS, Data, contains, divergence, joined, law, literal, worst


@pytest.mark.parametrize("seed", range(12))
def test_counting_agrees_with_every_sub_batch_of_the_pseudocode(seed: int) -> None:
    rng = random.Random(seed)
    n, levels = rng.randint(1, 5), rng.randint(1, 3)
    m = rng.randint(1, n)
    users = ["".join(rng.choices("ab", k=rng.randint(0, levels))) for _ in range(n)]
    data = tuple(Counter((w,) for w in users).items())
    for t in range(1, m + 1):
        assert law(data, m, t, levels) == literal([(w,) for w in users], m, t, levels)


def check(users: int, batch: int, threshold: int, levels: int) -> None:
    change, replace = worst(users, batch, threshold, levels)
    for words in (1, 2):
        one = ThresholdProfile(FixedBatch(users, batch), threshold, levels, ADD_REMOVE, words)
        other = ThresholdProfile(FixedBatch(users + 1, batch), threshold, levels, REPLACE_ONE, words)
        for c, x, y in zip(RATIOS, change, replace, strict=True):
            assert contains(one, c, x)
            assert contains(other, c, y)
        if words == 1 and (levels == 1 or users <= 3):
            check_epsilon(one, change)
            check_epsilon(other, replace)


def check_epsilon(profile: ThresholdProfile, truths: list[Fraction]) -> None:
    for c, delta in zip(RATIOS, truths, strict=True):
        if 0 < delta < 1:
            # The truth at this delta is log(c) or less; at a little less, log(c) is not enough.
            assert profile.epsilon(delta).low <= math.log(c) * (1 + 1e-15)
            assert profile.epsilon(delta * Fraction(1 - 10**-12)).high >= math.log(c) * (1 - 1e-15)


SMALL = [(n, m, t) for n in range(2, 7) for m in range(1, n + 1) for t in range(1, m + 1)]


THREE = [(2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3), (4, 2, 2), (4, 3, 2), (4, 3, 3)]
LEVELS = [*((*each, 1) for each in SMALL), *((*each, 2) for each in SMALL if each[0] <= 5), *((*each, 3) for each in THREE)]


def is_quick(n: int, m: int, t: int, levels: int) -> bool:
    return n <= (5 if levels == 1 else 2) or (n, m, t, levels) == (3, 2, 2, 2)


@pytest.mark.few(20)
@pytest.mark.parametrize(
    ("n", "m", "t", "levels"), [pytest.param(*each, marks=() if is_quick(*each) else pytest.mark.slow) for each in LEVELS]
)
def test_a_trie_s_bound_holds_over_all_data_sets(n: int, m: int, t: int, levels: int) -> None:
    check(n, m, t, levels)


DATA_SETS: tuple[tuple[Data, int, int, int, tuple[str, str]], ...] = (
    # Where the bound at infinity, and what the chance to be sampled implies, do not decide.
    (((("aa",), 20), (("ab",), 20), (("",), 19)), 10, 4, 2, ("aa", "zz")),
    (((("aa",), 29), (("b",), 30)), 6, 4, 2, ("aa", "b")),
    (((("aaa",), 6), (("ab",), 3), (("",), 110)), 10, 2, 3, ("aaa", "ab")),
    (((("aa",), 10), (("",), 80)), 9, 2, 2, ("aa", "a")),
    (((("a",), 14), (("b",), 14), (("c",), 2)), 8, 3, 1, ("a", "c")),
    (((("a",), 7), (("b",), 6), (("c",), 6), (("d",), 1)), 9, 3, 1, ("d", "e")),
    (((("a",), 12), (("b",), 3), (("c",), 2), (("d",), 1), (("e",), 1), (("f",), 1)), 7, 4, 1, ("a", "f")),
)


@pytest.mark.parametrize(("data", "m", "t", "levels", "words"), DATA_SETS)
def test_larger_data_sets_stay_below_the_upper_bound(data: Data, m: int, t: int, levels: int, words: tuple[str, str]) -> None:
    n = sum(count for _, count in data)
    none, one, other = (law(d, m, t, levels) for d in (data, joined(data, words[0]), joined(data, words[1])))
    adding = ThresholdProfile(FixedBatch(n, m), t, levels)
    replacing = ThresholdProfile(FixedBatch(n + 1, m), t, levels, REPLACE_ONE)
    for c in RATIOS:
        assert max(divergence(one, none, c), divergence(none, one, c)) <= Fraction(adding.delta(log_of(c)).high)
        assert max(divergence(one, other, c), divergence(other, one, c)) <= Fraction(replacing.delta(log_of(c)).high)


@pytest.mark.parametrize("goal", [1e-9, 1e-3, 0.5])
@pytest.mark.parametrize(("data", "m", "t", "levels", "words"), [
    *DATA_SETS,
    (((("aaa",), 12),), 5, 5, 3, ("aaa", "b")),  # always released, but for the user in question
    (((("ab",), 6), (("b",), 6)), 5, 5, 2, ("ab", "bb")),
    (((("aa",), 10), (("ab",), 10), (("ac",), 10)), 9, 3, 2, ("aa", "zz")),
])  # fmt: skip
def test_who_leaves_tells_no_more_than_bounded(
    data: Data, m: int, t: int, levels: int, words: tuple[str, str], goal: float
) -> None:
    n = sum(count for _, count in data)
    without = law(data, m, t, levels)
    with flint.ctx.workprec(72):
        removal = removal_bound(FixedBatch(n, m), t, levels, 1, goal)
        ratio = Fraction(round_up(removal.epsilon.exp()))
    for word in words:
        assert divergence(without, law(joined(data, word), m, t, levels), ratio) <= Fraction(removal.delta)


def log_of(c: Fraction) -> float:
    return log_fraction(c, "").low


PAIRS = (("aa", "ab"), ("aa", "b"), ("ab", "ba"), ("a", "bb"), ("aa", "aa", "b"))
"""Several words a user: one of them twice as often in the last."""


@pytest.mark.parametrize(("n", "m", "t"), [(3, 2, 2), (3, 3, 2), (3, 3, 3)])
def test_several_words_a_user_hold_over_data_sets_with_random_votes(n: int, m: int, t: int) -> None:
    rng = random.Random(10 * n + m + t)
    one = ThresholdProfile(FixedBatch(n, m), t, 2, words=2)
    other = ThresholdProfile(FixedBatch(n + 1, m), t, 2, REPLACE_ONE, words=2)
    for _ in range(6):
        users = [rng.choice([*PAIRS, ("aa",), ("ab",), ("",)]) for _ in range(n)]
        u, v = rng.sample(PAIRS, 2)
        before, after, instead = (literal(d, m, t, 2) for d in (users, [*users, u], [*users, v]))
        for c in RATIOS:
            change = max(divergence(after, before, c), divergence(before, after, c))
            assert change <= Fraction(one.delta(log_of(c)).high)
            replace = max(divergence(after, instead, c), divergence(instead, after, c))
            assert replace <= Fraction(other.delta(log_of(c)).high)


def test_prefixes_of_which_one_is_always_released_without_the_new_user_make_epsilon_infinite() -> None:
    # One of two prefixes of half the users has 5 of 9 votes, always; but not of 8.
    profile = ThresholdProfile(FixedBatch(81, 9), 5)
    data = OtherPrefixes(holders=0, prefixes=2, loners=0)
    without, there = law(((("a",), 41), (("b",), 40)), 9, 5, 1), law(((("",), 1), (("a",), 41), (("b",), 40)), 9, 5, 1)
    silent = there[frozenset()]
    assert frozenset() not in without
    assert profile.delta(math.inf).low == pytest.approx(float(silent), rel=1e-12)
    assert profile.epsilon(silent / 2).low == math.inf
    assert profile.epsilon(silent * 2).low < math.inf
    # So TrieHH's Theorem 1 is refuted.
    epsilon, delta = triehh_theorem_1(81, 9, 5, 1)
    c = Fraction(81, 81 - 45)
    assert math.log(c) in epsilon
    refuting = divergence(there, without, c)
    assert 2 * Fraction(delta.high) < refuting <= Fraction(profile.delta(epsilon.low).high) * (1 + Fraction(1, 10**9))
    assert profile.delta(epsilon.high).low > delta.high
    assert some(profile.worst_case(epsilon.high)).others == data


def test_a_user_who_takes_a_word_of_their_own_is_revealed_where_nothing_is_released() -> None:
    shared, left = law(((("a",), 41), (("b",), 40)), 9, 5, 1), law(((("",), 1), (("a",), 40), (("b",), 40)), 9, 5, 1)
    profile = ThresholdProfile(FixedBatch(81, 9), 5, neighbours=REPLACE_ONE)
    assert frozenset() not in shared
    assert profile.epsilon(left[frozenset()] / 2).low == math.inf
    for c in RATIOS:
        assert profile.delta(log_of(c)).low >= 0.99 * float(left[frozenset()])
        assert divergence(left, shared, c) <= Fraction(profile.delta(log_of(c)).high)


def test_an_atom_far_beyond_the_lattice_of_a_narrow_question_is_counted_whole() -> None:
    # At epsilon = 0 the lattice is short, and the largest ratio that other prefixes make lies beyond its end.
    for users, batch, threshold, levels in ((13, 3, 3, 3), (20, 4, 4, 3), (45, 9, 2, 3)):
        profile = ThresholdProfile(FixedBatch(users, batch), threshold, levels, REPLACE_ONE)
        at_zero = profile.delta(0.0)
        assert 0 < at_zero.low <= at_zero.high < 1
        assert profile.delta(0.02).high <= at_zero.high


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3, 1.0, 3.0, math.inf])
@pytest.mark.parametrize(
    "m",
    [
        TrieHeavyHitter(users=81, batch=9, threshold=5, levels=1),
        TrieHeavyHitter(users=220, batch=219, threshold=112, levels=1),  # at 0.01 the remove direction is the worse one
        TrieHeavyHitter(users=40, batch=9, threshold=3, levels=2, unit=2),
        TrieHeavyHitter(users=60, batch=40, threshold=12, levels=1),
        TrieHeavyHitter(users=9, batch=9, threshold=3, levels=2),
        TrieHeavyHitter(users=30, batch=20, threshold=4, levels=2, words=2),
        TrieHeavyHitter(users=20, batch=5, threshold=3, levels=2, counts=1),
    ],
    ids=repr,
)
def test_the_witness_attains_the_lower_end_of_delta(m: TrieHeavyHitter, epsilon: float, relation: Any) -> None:
    profile = account(m, relation)
    witness = some(profile.witness(epsilon))
    assert witness.plan == Run(m)
    first, second = (dict(m.law(data.counts).items()) for data in witness.pair)
    sizes = sorted(data.users for data in witness.pair)
    assert sizes == ([m.users, m.users] if relation == REPLACE_ONE else [m.users, m.users + 1])
    # Where epsilon is infinite only views count that the other data set never shows: e**600 is as good.
    reached = divergence(first, second, Fraction(math.exp(min(epsilon, 600.0))))
    assert reached >= Fraction(profile.delta(epsilon).low) * (1 - Fraction(1, 10**12))


def test_what_never_releases_anything_has_no_witness() -> None:
    for counts in (0, 1):
        m = TrieHeavyHitter(users=9, batch=3, threshold=4, levels=1, counts=counts)
        assert account(m).delta(0.0).high == 0
        assert account(m).witness(0.0) is None
