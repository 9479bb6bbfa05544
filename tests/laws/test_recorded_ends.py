"""Both ends of the matrix's plans are those of tests/data/ends.json: a looser end is sound, and no other test would see it.

Where an end has become better, or a plan is new, `python -m benchmarks.matrix --record` writes that file.
"""

import json
from typing import Any

import pytest

from benchmarks.matrix import NOUNS, RECORD
from ldpaudit import account
from tests.zoo import ONE_EACH

DEFAULT = 0.2  # seconds that a plan took when it was recorded; what takes longer is slow


def recorded() -> list[Any]:
    """Noun, class, and for each question what was asked, at what number, and both ends."""
    rows = json.loads(RECORD.read_text())
    return [pytest.param(*row[:2], row[3:], marks=[pytest.mark.slow] * (row[2] > DEFAULT), id=f"{row[0]}-{row[1]}") for row in rows]


@pytest.mark.parametrize(("noun", "name", "wanted"), recorded())
def test_ends_are_what_was_recorded(noun: str, name: str, wanted: list[tuple[str, float, float, float]]) -> None:
    (m,) = (m for m in ONE_EACH if type(m).__name__ == name)
    answer = account(NOUNS[noun](m))
    for kind, given, low, high in wanted:
        found = answer.epsilon(given) if kind == "epsilon" else answer.delta(given)
        assert (found.low, found.high) == pytest.approx((low, high), rel=1e-7)
