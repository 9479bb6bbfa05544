"""Answers that are kept."""

from fractions import Fraction
from typing import Any

from ldpaudit.core.remembered import remembered
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Run
from tests.helpers import raises


def test_a_question_is_asked_once_but_of_what_has_no_hash_or_raises_each_time() -> None:
    asked: list[Any] = []

    @remembered
    def size(value: Any) -> int:
        asked.append(value)
        return len(value)

    assert [size((1, 2)), size((1, 2)), size([3]), size([3])] == [2, 2, 1, 1]
    assert asked == [(1, 2), [3], [3]]
    @remembered
    def inverse(value: int) -> float:
        return 1 / value

    for _ in range(2):
        raises(ZeroDivisionError, "", inverse, 0)


class Changing(KaryRandomizedResponse):
    """A mechanism of somebody's that may change."""


def test_a_question_about_somebody_elses_mechanism_is_asked_each_time() -> None:
    asked: list[Any] = []

    @remembered
    def parameter(plan: Run, place: int) -> Fraction:
        asked.append(plan)
        return plan.mechanism.p  # type: ignore[attr-defined, no-any-return]

    ours, theirs = (Run(kind(2, Fraction(3, 4))) for kind in (KaryRandomizedResponse, Changing))
    assert [parameter(ours, 0), parameter(ours, 0), parameter(theirs, 0)] == [Fraction(3, 4)] * 3
    object.__setattr__(theirs.mechanism, "p", Fraction(9, 10))
    assert parameter(theirs, 0) == Fraction(9, 10)
    assert asked == [ours, theirs, theirs]
