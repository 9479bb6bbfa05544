"""One sampled answer: what many users' shuffled messages cost, and how many users name a question."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpaudit import account
from ldpaudit.accountants.limits.selection import selection_users
from ldpaudit.accountants.sampled_answer import failure, for_privacy, sufficient_users
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.sampled_answer import SampledAnswer
from ldpaudit.plan import Shuffle
from tests.oracles.shuffle import laws, worst

BETA, ERROR = Fraction(1, 3), Fraction(1, 10)


FEW = [(SampledAnswer(2, Fraction(1, 2)), 3), (SampledAnswer(2, Fraction(1, 5)), 3), (SampledAnswer(3, Fraction(1, 2)), 2)]


@pytest.mark.parametrize(("m", "users"), FEW)
def test_whatever_users_answer_their_shuffled_messages_cost_what_binary_response_costs(m: SampledAnswer, users: int) -> None:
    ratios = (Fraction(3, 2), Fraction(2), Fraction(3))
    found = worst(laws(m), users, *ratios)
    assert found == worst(laws(KaryRandomizedResponse(2, m.truthful)), users, *ratios)
    for delta, ratio in zip(found, ratios, strict=True):
        bound = account(Shuffle(m, users)).delta(math.log(ratio))
        assert bound.low * (1 - 1e-12) <= delta <= bound.high * (1 + 1e-12)


def test_the_number_of_questions_does_not_change_what_a_message_costs() -> None:
    found = {str(account(Shuffle(SampledAnswer(questions, Fraction(1, 100)), 10_000)).epsilon(1e-6)) for questions in (2, 7, 1000)}
    assert len(found) == 1
    alike = account(Shuffle(KaryRandomizedResponse(2, Fraction(199, 200)), 10_000)).epsilon(1e-6)
    ours = account(Shuffle(SampledAnswer(2, Fraction(1, 100)), 10_000)).epsilon(1e-6)
    assert 0.999 * alike.low < ours.low <= alike.high < ours.high < 1.3 * alike.high


def test_the_fewest_coins_are_certified_and_fewer_are_not() -> None:
    m = for_privacy(1, Fraction(1, 10**9), 33_749, 64)
    assert float(m.gamma) == pytest.approx(0.0034561, rel=1e-4)
    fewer = SampledAnswer(64, m.gamma * Fraction(999, 1000))
    assert account(Shuffle(m, 33_749)).delta(1).high <= 1e-9 < account(Shuffle(fewer, 33_749)).delta(1).high


def test_the_users_that_suffice_are_a_hundred_times_the_questions_and_a_logarithm() -> None:
    users, m = sufficient_users(64, 1, Fraction(1, 10**9), BETA, ERROR)
    assert failure(m, users, ERROR).high <= BETA < failure(m, users * 999 // 1000, ERROR).high
    assert account(Shuffle(m, users)).delta(1).high <= 1e-9
    assert users == pytest.approx(100 * 64 * math.log(3 * 63), rel=0.01)
    assert selection_users(64, Fraction(1, 3), 1, Fraction(1, 10**9), shuffled=1) < users / 1000


def test_questions_that_are_all_just_too_far_from_the_best_are_named_less_often_than_the_bound_says() -> None:
    m, users, rng = SampledAnswer(4, Fraction(1, 10)), 400, np.random.default_rng(0)
    best = {(0,): users // 2 + 21, (1, 2, 3): users // 2 - 21}
    wrong = np.mean([np.argmax(m.run_on_counts(best, rng)) > 0 for _ in range(2000)])
    assert 0.05 < wrong < failure(m, users, ERROR).high < 12 * wrong


def test_a_million_users_are_run_by_their_counts() -> None:
    plan = Shuffle(SampledAnswer(50, Fraction(1, 100)), 10**6)
    found = plan.run({(3, 49): 600_000, (): 300_000, tuple(range(50)): 100_000}, np.random.default_rng(1))
    assert found.argmax() in (3, 49)
    truth = np.full(50, 100_000.0)
    truth[[3, 49]] = 700_000
    assert np.abs(found - truth).max() < 4.5 * math.sqrt(10**6 * 50) / 2


def test_what_it_cannot_do_it_says_in_a_line() -> None:
    m, rng = SampledAnswer(4, Fraction(1, 2)), np.random.default_rng(0)
    for parameters in ((1, Fraction(1, 2)), (4, Fraction(0)), (4, Fraction(1))):
        with pytest.raises(ValueError, match="SampledAnswer needs"):
            SampledAnswer(*parameters)
    for answers in ((1, 1), (2, 1), (4,), (-1,), 3):
        with pytest.raises(ValueError, match=r"SampledAnswer needs a tuple of questions among \{0, 1, 2, 3\}, ascending"):
            m.sample(answers, 1, rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs at least one user"):
        m.run([], rng)


@pytest.mark.parametrize(("questions", "users"), [(3, 20), (5, 60), (100, 2000)])
def test_the_bound_of_a_wrong_choice_is_never_below_the_formula_in_rationals(questions: int, users: int) -> None:
    m = SampledAnswer(questions, Fraction(1, 5))
    found = failure(m, users, Fraction(3, 4))  # alpha (1 - gamma) is 3/5, and the root of 1 - 9/25 is 4/5
    truth = (questions - 1) * (1 - Fraction(2, questions) / 5) ** users
    assert Fraction(found.high) > truth > Fraction(math.nextafter(math.nextafter(found.high, 0), 0))
