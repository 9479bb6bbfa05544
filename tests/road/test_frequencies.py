"""Which protocol counts values: certified, and ordered by the bound of its error."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from ldpaudit import account
from ldpaudit.plan import Shuffle
from ldpaudit.studies.design import Goal
from ldpaudit.studies.frequencies import any_messages, one_message

GOAL = Goal(Fraction(1), Fraction(1, 10**9))


def titles(users: int, values: int, goal: Goal = GOAL) -> list[str]:
    return [each.plan.plan.mechanism.title for each in one_message(goal, users, values)]  # type: ignore[attr-defined]


def test_a_vector_of_bits_is_better_from_a_number_of_values_on_that_is_about_the_root_of_that_of_users() -> None:
    users, needed = 10**6, 72.06
    # sqrt(needed B) = sqrt(2 ln(2B)) (needed n)**(1/4), the normal readings of both errors, at about B = 1900.
    border = 1900
    assert border == pytest.approx(2 * math.log(2 * border) * (users / needed) ** 0.5, rel=0.03)
    assert titles(users, round(border / 1.6))[0] == "k-ary randomized response"
    assert titles(users, round(1.6 * border))[0] == "unary encoding"


def test_every_protocol_keeps_the_goal_and_they_are_ordered_by_their_errors() -> None:
    found = any_messages(GOAL, 10**5, 256)
    assert len(found) == 3
    assert all(account(each.plan).delta(GOAL.epsilon).high <= GOAL.delta for each in found)
    assert all(a.error.high <= b.error.high for a, b in pairwise(found))
    assert [each.messages == 1 for each in found] == [isinstance(each.plan, Shuffle) for each in found] == [False, True, True]
    assert {each.bits for each in found} == {8, 256}


def test_protocols_that_no_noise_makes_private_are_left_out() -> None:
    found = any_messages(Goal(Fraction(1, 100), Fraction(1, 10**9)), 100, 4)
    assert len(found) == 2, "binary sums of a hundred users are never so private"
    assert all(each.messages == 1 for each in found)


@pytest.mark.parametrize(("goal", "users", "values"), [(Goal(Fraction(0), Fraction(1, 10)), 9, 4), (GOAL, 9, 1), (GOAL, 0, 4)])
def test_what_is_no_question_is_refused(goal: Goal, users: int, values: int) -> None:
    with pytest.raises(ValueError, match="protocols need"):
        one_message(goal, users, values)
