"""Answers that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from ldpaudit.remembered import remembered


def test_a_question_is_asked_once_and_of_what_has_no_hash_each_time() -> None:
    asked: list[Any] = []

    @remembered
    def size(value: Any) -> int:
        asked.append(value)
        return len(value)

    assert [size((1, 2)), size((1, 2)), size([3]), size([3])] == [2, 2, 1, 1]
    assert asked == [(1, 2), [3], [3]]


def test_what_a_question_raises_is_raised_each_time() -> None:
    @remembered
    def inverse(value: int) -> float:
        return 1 / value

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            inverse(0)
