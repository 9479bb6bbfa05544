"""The inverse questions: certified at the answer, refused next to it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

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
from ldpaudit.plan import Repeat, Shuffle
from ldpaudit.profile import Number, PrivacyProfile
from ldpaudit.registry import ParameterError
from ldpaudit.studies.design import Goal, _Question, design

BUCKET = {"domain": 64, "rows": 8, "trials": 4}
GOAL = Goal(Fraction(1, 2), Fraction(1, 10**6))
ONE = Goal(Fraction(1), Fraction(1, 10**6))


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
        ("shuffled_count_min", {"users": 10**3, "domain": 8, "rows": 1, "buckets": 50}, ONE, {}, "gamma", "smallest"),
        pytest.param("shuffled_count_min", {"users": 10**4, "domain": 8, "rows": 2, "buckets": 100}, ONE, {}, "gamma", "smallest",
                     marks=pytest.mark.slow),
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
        return Repeat(Shuffle(Geometric.for_epsilon(epsilon, 1), 99), 3)

    answer = _Question(Goal(Fraction(2)), "epsilon", "largest", plan, 0.5, profile=Counted).real()
    assert (answer.value, answer.refused) == (Decimal("0.666666"), Decimal("0.666667"))
    assert len(curves) <= 3


def test_of_any_randomizer_the_answers_are_better_than_those_of_the_clones() -> None:
    """And nearly those of ternary response, which is one."""
    largest, clones = float(design("guarantee", {}, GOAL, users=1000).value), largest_local_epsilon(1000, *_pair(GOAL))
    ternary = float(design("randomized_response", {"k": 3}, GOAL, users=1000).value)
    assert 1.2 * clones < largest < ternary < 1.01 * largest
    assert design("guarantee", {"epsilon": 2}, GOAL).value < 0.6 * users_needed(2, *_pair(GOAL))


def test_a_mechanism_of_its_own_may_say_more_than_any_randomizer() -> None:
    assert design("randomized_response", {"k": 3}, GOAL, users=1000).value > design("guarantee", {}, GOAL, users=1000).value
    assert design("randomized_response", {"k": 3, "epsilon": 2}, GOAL).value < design("guarantee", {"epsilon": 2}, GOAL).value


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
        ("randomized_response", {}, {}, "needs .*without one of epsilon, batch"),
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
