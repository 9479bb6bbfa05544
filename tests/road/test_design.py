"""The inverse questions: certified at the answer, refused next to it; protocols and noise that keep a goal, by their errors."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.bucket_heavy_hitter import whatever_the_vectors
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.shuffling.calibrate import largest_local_epsilon, users_needed
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.geometric import Geometric
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Aggregate, Repeat, Run, Shuffle
from ldpaudit.profile import Number, PrivacyProfile
from ldpaudit.registry import ParameterError
from ldpaudit.studies.design import Goal, _Question, design
from ldpaudit.studies.frequencies import Noisy, any_messages, least_noise, least_users, one_message

BUCKET = {"domain": 64, "rows": 8, "trials": 4}
GOAL = Goal(Fraction(1, 2), Fraction(1, 10**6))
ONE = Goal(Fraction(1), Fraction(1, 10**6))
COUNTED, SUMMED = Goal(Fraction(1), Fraction(1, 10**9)), Goal(Fraction(1), Fraction(1, 1000))
"""Of protocols that count values, and of noise on sums."""
RUNS, SURE = 2000, 5
"""A standard deviation of this many runs is within 5 of its standard errors but once in a million."""


@pytest.mark.parametrize(
    ("name", "parameters", "goal", "more", "asked", "best"),
    [
        ("guarantee", {}, GOAL, {"users": 1000}, "epsilon", "largest"),
        ("guarantee", {"epsilon": 1}, GOAL, {}, "users", "smallest"),
        ("randomized_response", {"k": 3}, GOAL, {"users": 1000}, "epsilon", "largest"),
        ("randomized_response", {"k": 2}, ONE, {"repeat": 20}, "epsilon", "largest"),
        ("guarantee", {}, ONE, {"repeat": 5}, "epsilon", "largest"),
        ("randomized_response", {"k": 3, "epsilon": 1}, GOAL, {}, "users", "smallest"),
        ("laplace", {"low": 0, "high": 1}, GOAL, {}, "scale", "smallest"),
        ("laplace:histogram", {"k": 4}, GOAL, {}, "scale", "smallest"),
        ("trie_heavy_hitter", {"users": 10**6, "threshold": 15, "levels": 2}, ONE, {}, "batch", "largest"),
        ("shuffled_hadamard", {"users": 2**12, "domain": 64, "tau": 8}, ONE, {}, "rho", "smallest"),
        *(pytest.param("shuffled_count_min", {"users": users, "domain": 8, "rows": rows, "buckets": 50 * rows}, ONE, {}, "gamma",
                       "smallest", marks=pytest.mark.slow) for users, rows in ((10**3, 1), (10**4, 2))),
        ("shuffled_binary_sums", {"users": 10**4, "values": 8}, ONE, {}, "gamma", "smallest"),
        ("unary_encoding", {"k": 10**4, "constructor": "symmetric"}, ONE, {"users": 10**6}, "epsilon", "largest"),
        ("bucket_heavy_hitter", BUCKET, ONE, {}, "scale", "smallest"),
        ("binomial_noise", {"n": 10**4, "k": 2}, ONE, {}, "gamma", "smallest"),
    ],
)  # fmt: skip
def test_an_answer_keeps_the_goal_and_the_next_value_does_not(
    name: str, parameters: dict[str, Any], goal: Goal, more: dict[str, Any], asked: str, best: str
) -> None:
    answer = design(name, parameters, goal, **more)
    assert (answer.parameter, answer.best) == (asked, best)
    assert answer.certified.high <= goal.delta
    assert answer.refused is not None
    assert answer.beyond is not None
    assert answer.beyond.high > goal.delta
    assert (answer.refused > answer.value) == (best == "largest")
    assert abs(Decimal(answer.refused) - answer.value) <= max(Decimal(1), Decimal(answer.value) / 10**5)


def test_what_is_certified_is_what_the_accountant_says_of_the_answer() -> None:
    answer = design("randomized_response", {"k": 3}, GOAL, users=1000)
    m = KaryRandomizedResponse.for_epsilon(Fraction(answer.value), k=3)
    assert account(Shuffle(m, 1000)).delta(GOAL.epsilon) == answer.certified
    repeated = design("randomized_response", {"k": 2}, ONE, repeat=20)
    m = KaryRandomizedResponse.for_epsilon(Fraction(repeated.value), k=2)
    assert account(Repeat(m, 20)).delta(ONE.epsilon) == repeated.certified
    bucket = BucketHeavyHitter(64, 8, 4, Fraction(design("bucket_heavy_hitter", BUCKET, ONE).value))
    assert whatever_the_vectors(bucket).delta(ONE.epsilon).high <= ONE.delta  # not only for the vectors of one seed
    noise = design("binomial_noise", {"n": 1000, "k": 1}, ONE)
    assert ShiftProfile(1000, Fraction(noise.value), 1).delta(ONE.epsilon) == noise.certified


def test_a_pure_goal_is_searched_without_curves() -> None:
    curves = []

    class Counted(PrivacyProfile):
        def __init__(self, m: Any) -> None:
            self.known = account(m)

        def delta(self, epsilon: Number) -> Enclosure:
            curves.append(epsilon)
            return self.known.delta(epsilon)

        def epsilon(self, delta: Number = 0) -> Enclosure:
            return self.known.epsilon(delta)

    def plan(epsilon: Fraction) -> Repeat:
        return Repeat(Shuffle(Geometric.for_epsilon(epsilon, 1), 9), 3)

    answer = _Question(Goal(Fraction(2)), "epsilon", "largest", plan, 0.5, profile=Counted).real()
    assert (answer.value, answer.refused) == (Decimal("0.666666"), Decimal("0.666667"))
    assert len(curves) <= 3


def test_of_any_randomizer_the_answers_are_better_than_those_of_the_clones() -> None:
    """And nearly those of ternary response, which is one."""
    largest, clones = float(design("guarantee", {}, GOAL, users=1000).value), largest_local_epsilon(1000, *_pair(GOAL))
    ternary = float(design("randomized_response", {"k": 3}, GOAL, users=1000).value)
    assert 1.2 * clones < largest < ternary < 1.01 * largest
    needed = design("guarantee", {"epsilon": 2}, GOAL).value
    assert design("randomized_response", {"k": 3, "epsilon": 2}, GOAL).value < needed < 0.6 * users_needed(2, *_pair(GOAL))


def _pair(goal: Goal) -> tuple[Fraction, Fraction]:
    return goal.epsilon, goal.delta


def test_where_no_noise_is_enough_it_says_so() -> None:
    with pytest.raises(ValueError, match="out of reach"):
        design("laplace", {"low": 0, "high": 1}, Goal(Fraction(0)))
    with pytest.raises(ValueError, match="out of reach"):
        design("binomial_noise", {"n": 10, "k": 1}, ONE)
    with pytest.raises(ValueError, match="out of reach: at delta = 0"):
        design("randomized_response", {"k": 2, "epsilon": 1}, Goal(Fraction(1, 2)))
    with pytest.raises(ValueError, match="0 <= delta < 1"):
        Goal(Fraction(1), Fraction(1))


def test_the_largest_parameter_may_be_where_the_mechanism_ends() -> None:
    answer = design("rappor", {"bits": 8, "hashes": 1, "f": Fraction(1, 2), "domain": 10}, Goal(Fraction(3)))
    assert answer.refused == answer.value + Decimal("0.00001")
    assert answer.beyond is None


@pytest.mark.parametrize(
    ("name", "parameters", "more", "says"),
    [
        ("randomized_response", {}, {}, "needs all of .*or all but one that is to be found \\(epsilon, batch"),
        ("randomized_response", {"k": 2, "epsilon": 1}, {"users": 10}, "needs one parameter left out"),
        ("randomised", {"k": 2}, {}, "needs one of"),
        ("guarantee", {"k": 2}, {"users": 10}, "needs no parameter but epsilon"),
        ("binomial_noise", {"n": 2}, {}, r"needs \(n, k\), got \(n\)"),
        ("laplace", {"low": 0, "high": 1}, {"users": 10}, "needs no --shuffle"),
        ("unary_encoding", {"k": 3}, {"users": 10}, "needs constructor = one of optimized, symmetric"),
    ],
)  # fmt: skip
def test_what_leaves_no_single_question_is_refused(name: str, parameters: dict[str, Any], more: dict[str, Any], says: str) -> None:
    with pytest.raises((ParameterError, ValueError, Unsupported), match=says):
        design(name, parameters, GOAL, **more)


def titles(users: int, values: int, goal: Goal = COUNTED) -> list[str]:
    return [each.plan.plan.mechanism.title for each in one_message(goal, users, values)]  # type: ignore[attr-defined]


def test_a_vector_of_bits_is_better_from_a_number_of_values_on_that_is_about_the_root_of_that_of_users() -> None:
    users, needed = 10**6, 72.06
    # sqrt(needed B) = sqrt(2 ln(2B)) (needed n)**(1/4), the normal readings of both errors, at about B = 1900.
    border = 1900
    assert border == pytest.approx(2 * math.log(2 * border) * (users / needed) ** 0.5, rel=0.03)
    assert titles(users, round(border / 1.6))[0] == "k-ary randomized response"
    assert titles(users, round(1.6 * border))[0] == "unary encoding"


def test_every_protocol_keeps_the_goal_and_they_are_ordered_by_their_errors() -> None:
    found = any_messages(COUNTED, 10**5, 256)
    assert len(found) == 3
    assert all(account(each.plan).delta(COUNTED.epsilon).high <= COUNTED.delta for each in found)
    assert all(a.error.high <= b.error.high for a, b in pairwise(found))
    assert [each.messages == 1 for each in found] == [isinstance(each.plan, Shuffle) for each in found] == [False, True, True]
    assert {each.bits for each in found} == {8, 256}


def test_protocols_that_no_noise_makes_private_are_left_out() -> None:
    found = any_messages(Goal(Fraction(1, 10), Fraction(1, 1000)), 100, 4)
    assert len(found) == 2, "binary sums of a hundred users are never so private"
    assert all(each.messages == 1 for each in found)


@pytest.mark.parametrize(
    ("goal", "users", "values"), [(Goal(Fraction(0), Fraction(1, 10)), 9, 4), (COUNTED, 9, 1), (COUNTED, 0, 4)]
)
def test_what_no_protocol_counts_is_refused(goal: Goal, users: int, values: int) -> None:
    with pytest.raises(ValueError, match="protocols need"):
        one_message(goal, users, values)


@pytest.fixture(scope="module")
def summed() -> tuple[Noisy, ...]:
    return least_noise(SUMMED, 400, 3)


def test_every_way_keeps_the_goal_with_hardly_any_room_and_the_least_error_comes_first(summed: tuple[Noisy, ...]) -> None:
    assert len(summed) == 4
    for each in summed:
        kept = account(each.plan)
        assert kept.delta(SUMMED.epsilon).high <= SUMMED.delta
        assert 0.99 < kept.epsilon(SUMMED.delta).high <= 1
    assert all(a.error.high <= b.error.high for a, b in pairwise(summed))
    assert [each.parties for each in summed if isinstance(each.plan, Run)] == [2, 2, 2]


def test_the_error_is_that_of_estimates_that_are_drawn(summed: tuple[Noisy, ...]) -> None:
    (clients,) = (each for each in summed if not each.parties)
    (laplace,) = (each for each in summed if str(each.plan).startswith("DiscreteLaplace"))
    assert isinstance(clients.plan, Aggregate)
    assert isinstance(laplace.plan, Run)
    rng, data = np.random.default_rng(4), {0: 400}
    drawn = np.array([clients.plan.run(data, rng) for _ in range(RUNS)]).std(axis=0)
    m = laplace.plan.mechanism
    noise = np.std(m.noise(RUNS, rng) + m.noise(RUNS, rng))  # type: ignore[attr-defined]
    assert np.all(np.abs(drawn / clients.error.high - 1) < SURE / math.sqrt(2 * RUNS))
    assert abs(noise / laplace.error.high - 1) < SURE * math.sqrt(5 / (4 * RUNS)), "its kurtosis is 6 at most"


def test_one_aggregator_alone_adds_the_root_of_half() -> None:
    one, two = (least_noise(SUMMED, 400, 3, aggregators) for aggregators in (1, 2))
    errors = [{str(each.plan): each.error.high for each in ways if each.parties} for ways in (one, two)]
    assert errors[1] == pytest.approx({plan: math.sqrt(2) * error for plan, error in errors[0].items()})


def test_about_the_fewest_users_have_the_error_that_is_asked_for() -> None:
    share = Fraction(1, 20)
    for each in least_users(SUMMED, share, 3):
        assert each.error.high <= share * each.users
        assert each.error.high > share * (each.users - 1) * Fraction(99, 100)
        assert account(each.plan).delta(SUMMED.epsilon).high <= SUMMED.delta


@pytest.mark.parametrize(
    ("goal", "users", "values", "aggregators"),
    [
        (Goal(Fraction(0), Fraction(1, 9)), 9, 4, 2),
        (Goal(Fraction(1)), 9, 4, 2),
        (SUMMED, 1, 4, 2),
        (SUMMED, 9, 1, 2),
        (SUMMED, 9, 4, 0),
    ],
)
def test_what_no_sum_answers_is_refused(goal: Goal, users: int, values: int, aggregators: int) -> None:
    with pytest.raises(ValueError, match="sums need"):
        least_noise(goal, users, values, aggregators)
    with pytest.raises(ValueError, match="sums need an error"):
        least_users(SUMMED, Fraction(1), 4)
