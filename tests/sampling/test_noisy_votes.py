"""Noisy votes: the dominating pair is above all pairs that occur, and small data sets tell no more than those that are tried."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import flint
import pytest

from ldpaudit import account
from ldpaudit.accountants.sampling.noisy_holders import SharedWord, TwoWords, holders
from ldpaudit.accountants.sampling.noisy_votes import NoisyVotes
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from tests.mechanisms.test_trie_heavy_hitter import alike
from tests.oracles.shuffle import divergence
from tests.oracles.trie import partitions


def votes(users: int, batch: int, relation: Neighbours) -> NoisyVotes:
    return NoisyVotes(users, batch, Fraction(3, 5), 1, 2, relation)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("users", "batch"), [(9, 8), (9, 9), (12, 4)])
def test_all_of_both_laws_is_listed(users: int, batch: int, relation: Neighbours) -> None:
    each = votes(users, batch, relation)
    for pair in (*each.dominating(), *each.missing_vote(), *each.one_apart(2)):
        assert sum((mass for _, mass in pair.atoms), pair.infinite) == 1
        assert sum(mass / ratio for ratio, mass in pair.atoms) <= 1


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("users", "batch"), [(9, 8), (9, 9), (12, 4)])
def test_in_either_direction_no_pair_that_occurs_costs_more_than_the_dominating_one(
    users: int, batch: int, relation: Neighbours
) -> None:
    each = votes(users, batch, relation)
    most = each.dominating()
    pairs = [each.one_apart(holders) for holders in range(users)]
    for c in (Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(3), Fraction(9)):
        at = flint.arb(flint.fmpq(c.numerator, c.denominator))
        for direction in (0, -1):
            bound = most[direction].delta_ball(at)
            deltas = [pair[direction].delta_ball(at) for pair in pairs]
            assert not any(found > bound for found in deltas)
            assert c > 1.1 or max(float(found.mid()) for found in deltas) > 0.3 * float(bound.mid())


@pytest.mark.parametrize("least", [2, 3])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_one_value_alone_shows_no_more_than_both(relation: Neighbours, least: int) -> None:
    each = NoisyVotes(12, 4, Fraction(3, 5), 1, least, relation)
    for seen, whole in zip(each.alone(), each.one_apart(0), strict=False):
        for c in (1, 2, 5):
            assert seen.delta_ball(flint.arb(c)) <= whole.delta_ball(flint.arb(c)) + 1e-12  # the two may be equal
    assert (max(float(pair.delta_ball(flint.arb(2)).mid()) for pair in each.alone()) > 0) == (least == 2)


NOISY = NoisyTrieHeavyHitter(users=6, batch=4, threshold=2, levels=1, alpha=Fraction(2, 3), bound=1)
ROUNDED = 1e-8
"""Relative error of the floats that these bounds are enclosed with."""


def round_of(m: NoisyTrieHeavyHitter, relation: Neighbours) -> NoisyVotes:
    return NoisyVotes(m.users, m.batch, m.alpha, m.bound, m.least, relation)


def largest(m: NoisyTrieHeavyHitter, relation: Neighbours, c: Fraction) -> Fraction:
    """By the law of the pseudocode, over all numbers of others who hold the user's word."""
    found = Fraction(0)
    for w in holders(round_of(m, relation)):
        there, without = (dict(m.law(x).items()) for x in m.one_apart(w, relation == REPLACE_ONE))
        found = max(found, divergence(there, without, c), divergence(without, there, c))
    return found


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("c", [Fraction(1), Fraction(5, 4), Fraction(2)])
@pytest.mark.parametrize(("levels", "share"), [(1, 1 - 1e-7), (2, 0.97), (3, 0.97)])
def test_all_rounds_show_what_the_law_says_and_hardly_less(levels: int, share: float, c: Fraction, relation: Neighbours) -> None:
    m = replace(NOISY, levels=levels)
    truth = float(largest(m, relation, c))
    assert share * truth <= SharedWord(round_of(m, relation), levels).delta(math.log(c)).low <= truth * (1 + 1e-12)


def test_delta_and_epsilon_of_the_same_event_agree() -> None:
    found = SharedWord(NoisyVotes(10**4, 6_000, Fraction(1, 2), 5, 6, ADD_REMOVE), 1)
    at = found.epsilon(0.02)
    assert at.relative_width < 1e-6
    assert found.delta(at.low).low == pytest.approx(0.02, rel=1e-6)


def test_votes_that_are_left_out_count_against_the_bound() -> None:
    words = TwoWords(NoisyVotes(10**6, 1_000, Fraction(1, 2), 5, 6, ADD_REMOVE), 3_000)
    first, second = words.rounds(1)
    assert 0 < words.missing < 1e-25
    assert abs(1 - first.sum()) < ROUNDED > abs(1 - second.sum())


def test_numbers_of_votes_are_looked_at_that_are_not_too_rare_and_no_others() -> None:
    votes, held = NoisyVotes(2_000, 300, Fraction(1, 2), 5, 6, ADD_REMOVE), 1_000
    ways = [[math.comb(held + new, n) * math.comb(1_000, 300 - n) for n in range(301)] for new in (0, 1)]
    often = [n for n in range(301) if max(each[n] / sum(each) for each in ways) > 1e-30]
    assert TwoWords(votes, held)._counts.tolist() == often


def data_sets(users: int) -> Iterator[tuple[str, ...]]:
    """Words of this many users, up to their names; an empty word votes for nothing."""
    for silent in range(users + 1):
        for sizes in partitions(users - silent):
            yield (*("",) * silent, *(letter for letter, size in zip("abcdefgh", sizes, strict=False) for _ in range(size)))


@pytest.mark.parametrize(("users", "batch", "threshold"), [(4, 3, 1), (5, 3, 2), (5, 4, 3), (4, 4, 2)])
def test_of_small_data_sets_none_tells_more_in_one_round(users: int, batch: int, threshold: int) -> None:
    m = NoisyTrieHeavyHitter(users, batch, threshold, 1, Fraction(1, 2), 1)
    factors = [Fraction(c) for c in ("1", "1.1", "1.5", "2.2")]
    most = dict.fromkeys(factors, Fraction(0))
    for others in data_sets(users):
        without = dict(m.law(alike([(w,) for w in others])).items())
        for word in {"", "z", *others}:
            there = dict(m.law(alike([(w,) for w in (*others, word)])).items())
            for c in factors:
                most[c] = max(most[c], divergence(there, without, c), divergence(without, there, c))
    profile = account(m)
    assert all(profile.delta(math.log(c)).low >= float(most[c]) * (1 - ROUNDED) for c in factors)


def test_where_the_batch_is_smaller_than_the_users_sharing_a_word_tells_more_than_being_alone() -> None:
    m = NoisyTrieHeavyHitter(10_000, 6_000, 6, 1, Fraction("0.49647842805715"), 5)
    found = account(m).epsilon(0.0248)
    assert 0.592 < found.low < found.high < 1.0002
    assert account(replace(m, levels=3)).epsilon(0.1).low > found.low


def test_no_data_sets_are_tried_where_noise_or_threshold_is_large() -> None:
    assert not [*holders(NoisyVotes(10**4, 100, Fraction(9, 10), 41, 42, ADD_REMOVE))]
    assert not [*holders(NoisyVotes(10**4, 1_000, Fraction(1, 2), 5, 200, ADD_REMOVE))]
    assert max(holders(NoisyVotes(10**4, 100, Fraction(1, 2), 5, 10, ADD_REMOVE))) <= 1_500
