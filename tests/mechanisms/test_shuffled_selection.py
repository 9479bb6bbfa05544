"""Selection by labelled binary sums: privacy whatever the others answer, and how many users name a question."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from ldpaudit import account
from ldpaudit.accountants.shuffled_selection import failure, for_privacy, of_coins, sufficient_coins, sufficient_users
from ldpaudit.mechanisms.shared.yes_no_answers import Answers
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from ldpaudit.plan import Repeat
from tests.oracles.shuffle import divergence

BETA, ERROR, DELTA = Fraction(1, 3), Fraction(1, 10), Fraction(1, 10**4)
SMALL = ShuffledSelection(users=2, questions=2, coins=2)


def messages(m: ShuffledSelection, data: tuple[Answers, ...]) -> dict[tuple[int, ...], Fraction]:
    """Law of the multiset of all messages, user by user and coin by coin."""
    found = {(0,) * m.questions: Fraction(1)}
    for x in data:
        sent = [tuple(int(j in x) + h for j, h in enumerate(heads)) for heads in product(range(m.coins + 1), repeat=m.questions)]
        weights = [math.prod(math.comb(m.coins, s - (j in x)) for j, s in enumerate(each)) for each in sent]
        grown: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for (counts, p), (own, ways) in product(found.items(), zip(sent, weights, strict=True)):
            grown[tuple(map(sum, zip(counts, own, strict=True)))] += p * Fraction(ways, 1 << m.coins * m.questions)
        found = grown
    return found


@pytest.mark.parametrize("m", [SMALL, ShuffledSelection(3, 2, 1), ShuffledSelection(1, 3, 2)], ids=str)
def test_whatever_the_others_answer_the_most_is_seen_where_all_answers_differ(m: ShuffledSelection) -> None:
    profile = account(m)
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(3)):
        by_distance = defaultdict(set)
        for others in combinations_with_replacement(m.inputs, m.users - 1):
            for x, other in combinations(m.inputs, 2):
                found = divergence(messages(m, (x, *others)), messages(m, (other, *others)), ratio)
                by_distance[len(set(x) ^ set(other))].add(found)
        assert all(len(found) == 1 for found in by_distance.values())  # neither the others nor which questions matter
        deltas = [found.pop() for _, found in sorted(by_distance.items())]
        assert deltas == sorted(deltas)
        delta = profile.delta(math.log(ratio))
        assert delta.low * (1 - 1e-12) <= deltas[-1] <= delta.high * (1 + 1e-12)


def test_the_fewest_coins_are_certified_and_a_hundredth_less_are_not() -> None:
    coins = sufficient_coins(1, DELTA, 16)
    assert of_coins(coins, 16).delta(1).high <= DELTA < of_coins(coins * 99 // 100, 16).delta(1).low
    assert for_privacy(1, DELTA, 30, 16).coins == -(-coins // 30)


def test_the_users_that_suffice_keep_both_promises_and_a_twentieth_less_do_not() -> None:
    users, m = sufficient_users(16, 1, DELTA, BETA, ERROR)
    assert account(m).delta(1).high <= DELTA
    assert failure(m, ERROR).high <= BETA < failure(ShuffledSelection(users * 19 // 20, 16, m.coins), ERROR).high
    assert users < 100 * 16 * math.log(3 * 16) / 10  # what one message takes, and a tenth of it


def test_a_question_is_named_wrongly_as_often_as_two_binomial_laws_say() -> None:
    m, rng = ShuffledSelection(users=100, questions=2, coins=10), np.random.default_rng(1)
    data = {(0,): 56, (1,): 44}  # of 2 questions; ties name the first, so that the second one is best
    wrong = np.mean([np.argmax(m.run_on_counts({(1,): 56, (0,): 44}, rng)) == 0 for _ in range(20_000)])
    bound = failure(m, Fraction(1, 10)).high
    assert sum(data.values()) == m.users
    assert 0.3 < wrong < bound
    assert failure(m, Fraction(119, 1000)).high == pytest.approx(wrong, abs=0.01)


def test_a_run_has_the_law_of_all_messages() -> None:
    data, rng = ((0,), (0, 1)), np.random.default_rng(5)
    law = messages(SMALL, data)
    runs = np.rint([SMALL.run(data, rng) for _ in range(10_000)] + np.array(SMALL.noise / 2)).astype(int)
    kept = [y for y, p in law.items() if p > Fraction(1, 1000)]
    seen = [int((runs == y).all(axis=1).sum()) for y in kept]
    means = [float(law[y]) * 10_000 for y in kept]
    assert stats.chisquare([*seen, 10_000 - sum(seen)][: len(seen)], np.array(means) * sum(seen) / sum(means)).pvalue > 1e-6


def test_what_it_cannot_do_it_says_in_a_line() -> None:
    rng = np.random.default_rng(0)
    for parameters in ((0, 2, 1), (5, 1, 1), (5, 2, 0), (1 << 40, 2, 1 << 40)):
        with pytest.raises(ValueError, match="ShuffledSelection needs"):
            ShuffledSelection(*parameters)
    with pytest.raises(ValueError, match="ShuffledSelection needs a tuple of questions"):
        SMALL.run([(2,)], rng)
    with pytest.raises(ValueError, match="needs at least one user"):
        SMALL.run([], rng)
    with pytest.raises(ValueError, match="epsilon > 0 and delta > 0"):
        sufficient_coins(1, 0, 4)


def test_several_selections_cost_what_one_of_all_their_questions_costs() -> None:
    start = time.perf_counter()
    several = account(Repeat(ShuffledSelection(users=8, questions=10, coins=10), 3))
    one = account(ShuffledSelection(users=8, questions=30, coins=10))
    for delta in (Fraction(1, 4), Fraction(1, 10**6)):
        found, truth = several.epsilon(delta), one.epsilon(delta)
        assert truth.low <= found.high <= truth.high * (1 + 1e-3)  # two lattices, each known to some 1e-4
    assert time.perf_counter() - start < 8  # seconds: one or two; the curve of one selection took minutes
