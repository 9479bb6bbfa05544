"""Responses that are kept value by value: against an enumeration of all streams of either relation, and what clients show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from ldpaudit import account, audit
from ldpaudit.accountants.one_bit import memoized_values
from ldpaudit.attacks.memoized_response import attack
from ldpaudit.enclosure import Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.memoized_bit import Stream
from ldpaudit.mechanisms.memoized_response import MemoizedDBitFlip, MemoizedResponse, Memoizing, over_epochs
from ldpaudit.mechanisms.one_bit import DBitFlip
from ldpaudit.neighbours import SAME_PATTERN, USER_LEVEL
from ldpaudit.plan import Repeat, Run

F = Fraction
EPSILONS = (0.0, 0.3, 1.0, 2.5)


def pattern(x: Stream) -> Stream:
    """For each epoch, the first one that holds the same value."""
    return tuple(x.index(value) for value in x)


@cache
def laws(m: Memoizing) -> dict[Stream, np.ndarray[Any, np.dtype[np.float64]]]:
    """Of all streams of which every value is kept, in floats."""
    views = list(m.law(m.inputs[0]).views())
    return {x: np.array([float(law.probability(y)) for y in views]) for x in kept(m) for law in [m.law(x)]}


def largest(m: Memoizing, pairs: Iterable[tuple[Stream, Stream]], epsilon: float) -> float:
    """The largest delta among pairs of streams."""
    return max(float(np.maximum(laws(m)[x] - math.exp(epsilon) * laws(m)[y], 0).sum()) for x, y in pairs)


def kept(m: Memoizing) -> list[Stream]:
    """All streams of which every value is kept."""
    return [x for x in product(range(m.k), repeat=m.epochs) if len(set(x)) <= m.values]


EXACT: list[MemoizedResponse | MemoizedDBitFlip] = [
    MemoizedResponse(3, 3, F(1, 2)), MemoizedResponse(2, 3, F(9, 10)), MemoizedResponse(2, 4, F(1, 4)),
    MemoizedDBitFlip(3, 3, 1, F(9, 10)),
]  # fmt: skip
WIDE: list[MemoizedResponse | MemoizedDBitFlip] = [
    MemoizedResponse(3, 4, F(2, 5), 2), MemoizedDBitFlip(2, 4, 1, F(9, 10)), MemoizedDBitFlip(2, 3, 2, F(2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("m", [*EXACT, *WIDE], ids=str)
def test_against_any_stream_the_delta_of_all_pairs_is_enclosed_and_where_all_values_fit_it_is_one_number(m: Any) -> None:
    profile, pairs = account(m), list(permutations(kept(m), 2))
    for epsilon in EPSILONS:
        found, truth = profile.delta(epsilon), largest(m, pairs, epsilon)
        assert found.low - 1e-12 <= truth <= found.high + 1e-12
        assert (found.rigour is Rigour.EXACT) == (m in EXACT)
    assert found.low == pytest.approx(truth, abs=1e-12), "the mass that no epsilon covers is that of the lower end"


@pytest.mark.parametrize("m", [*EXACT, *WIDE], ids=str)
def test_between_streams_of_one_pattern_the_profile_is_that_of_all_pairs(m: Any) -> None:
    profile = account(m, SAME_PATTERN)
    pairs = [(x, y) for x, y in permutations(kept(m), 2) if pattern(x) == pattern(y)]
    for epsilon in EPSILONS:
        assert profile.delta(epsilon).high == pytest.approx(largest(m, pairs, epsilon), abs=1e-12)


@pytest.mark.parametrize(("d", "values"), [(1, 1), (3, 1), (1, 2), (2, 2), (3, 2), (2, 4)])
def test_memoized_values_of_dbitflip_are_the_epsilon_of_one_pattern(d: int, values: int) -> None:
    m = MemoizedDBitFlip(6, 5, d, F(3, 4), values)
    found, known = account(m, SAME_PATTERN).epsilon(0), memoized_values(DBitFlip(5, d, F(3, 4)), values)
    assert (found.low, found.high, found.rigour) == (known.low, known.high, known.rigour)


def test_one_kept_answer_costs_one_report_whatever_streams_are_compared() -> None:
    m = MemoizedResponse.for_epsilon(2, k=7, epochs=365, values=1)
    assert account(m).epsilon(0).high == account(m.report).epsilon(0).high
    assert account(m).delta(1).high == account(m.report).delta(1).high


def test_of_two_kept_answers_no_epsilon_is_enough_and_a_year_of_them_tells_nearly_everything() -> None:
    year = account(MemoizedResponse.for_epsilon(1, k=100, epochs=365))
    assert year.epsilon(F(1, 2)).low == math.inf
    assert year.delta(50).low > 1 - 1e-15


@pytest.mark.parametrize("m", [MemoizedResponse(4, 3, F(3, 5)), MemoizedDBitFlip(4, 3, 2, F(4, 5))], ids=str)
def test_the_attack_shows_kept_reports_on_either_relation(m: Any) -> None:
    apart = audit(m, epsilon=2.0, neighbours=USER_LEVEL, seed=1)
    assert apart.epsilon_lower > 2
    alike = audit(m, neighbours=SAME_PATTERN, trials=200_000, seed=1)
    truth = account(m, SAME_PATTERN).epsilon(0).high
    assert 0.6 * truth < alike.epsilon_lower <= truth


@pytest.mark.parametrize("m", [EXACT[0], WIDE[0], WIDE[1]], ids=str)
@pytest.mark.parametrize("relation", [USER_LEVEL, SAME_PATTERN], ids=str)
def test_the_score_is_the_log_likelihood_ratio(m: Any, relation: Any) -> None:
    found, views = attack(m, relation), list(m.law(m.inputs[0]).views())
    here, there = (m.law(x) for x in found.pair)
    chances = np.array([[float(law.probability(y)) for law in (here, there)] for y in views])
    seen = chances[:, 0] > 0
    with np.errstate(divide="ignore"):
        expected = np.log(chances[seen, 0]) - np.log(chances[seen, 1])
    assert found.score(np.array(views)[seen]) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("x", "shown"), [
    ((0, 1, 0, 2, 1), (0, 1, 0, 0, 0)), ((2, 2, 1, 2, 1), (2, 2, 1, 2, 1)), ((1, 0, 2, 1, 0), (1, 0, 0, 0, 0)),
])  # fmt: skip
def test_a_user_who_comes_to_one_value_more_keeps_showing_the_one_before(x: Stream, shown: Stream) -> None:
    m = MemoizedResponse(5, 3, F(3, 4), 2)
    assert m.kept_stream(x) == shown
    views = m.sample(x, 2_000, np.random.default_rng(0))
    for first, second in permutations(range(5), 2):
        assert np.all(views[:, first] == views[:, second]) == (shown[first] == shown[second])


@pytest.mark.parametrize("m", [MemoizedResponse(3, 4, F(4, 5), 2), MemoizedDBitFlip(3, 4, 2, F(4, 5), 2)], ids=str)
def test_a_run_counts_whose_report_is_shown_in_each_epoch(m: Any) -> None:
    data = np.concatenate([np.tile([1, 0, 1], (3_000, 1)), np.tile([2, 3, 0], (1_000, 1))])
    assert m.truth(data).tolist() == [[0, 3000, 1000, 0], [3000, 0, 0, 1000], [0, 3000, 0, 1000]]
    found = np.mean([m.run(data, np.random.default_rng(seed)) for seed in range(20)], axis=0)
    assert np.abs(found - m.truth(data)).max() < 5 * 150 / math.sqrt(20) * 2


def test_all_reports_of_a_user_are_of_the_same_buckets() -> None:
    m = MemoizedDBitFlip(3, 5, 2, F(3, 4))
    drawn = m.reports(m.sample((0, 1, 2), 500, np.random.default_rng(2))) >= 0
    assert np.all(drawn == drawn[:, :1])
    assert np.all(drawn.sum(axis=2) == 2)


def test_more_bits_than_are_enumerated_are_refused() -> None:
    with pytest.raises(Unsupported, match="compared by at most 256 bits, got 258"):
        account(MemoizedDBitFlip(200, 200, 129, F(3, 4)), SAME_PATTERN)
    with pytest.raises(Unsupported, match="its reports over epochs are analysed only for memoized"):
        over_epochs(MemoizedResponse(2, 2, F(3, 4)), 3, None)


@pytest.mark.parametrize("wrong", [(0,), (0, 3), (0, -1), [0, 1], (0, 1.0), (True, 1), None])
def test_what_is_no_stream_is_refused(wrong: object) -> None:
    m = MemoizedResponse(2, 3, F(3, 4))
    with pytest.raises(ValueError, match="needs 2 values from 0 to 2"):
        m.require_input(wrong)
    with pytest.raises(ValueError, match="needs 2 values from 0 to 2 of each user"):
        m.run([[0, 3]], np.random.default_rng(0))
    with pytest.raises(ValueError, match="values"):
        MemoizedResponse(2, 3, F(3, 4), 3)


def test_clients_of_several_answers_cost_what_all_their_answers_do() -> None:
    client = MemoizedResponse(4, 4, F(3, 4), 3)
    found = account(Repeat(Run(client), 2), SAME_PATTERN).delta(3)
    answers = account(Repeat(Run(client.report), 6)).delta(3)
    assert (found.low, found.high) == (answers.low, answers.high)
    assert found.rigour is Rigour.EXACT
