"""The exhaustive proof: it accepts what is true of every entry, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ldpaudit.errors import ProofError
from ldpaudit.proofs._exhaustive import Exhaustive, prove_tables

TABLE = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 3), Fraction(2, 3)]]


@pytest.mark.parametrize(
    "table",
    [
        [[Fraction(3, 4), Fraction(1, 8)], [Fraction(1, 3), Fraction(2, 3)]],
        [[Fraction(3, 4), Fraction(1, 4)], [Fraction(4, 3), Fraction(-1, 3)]],
        [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1)]],
        [[Fraction(3, 4), Fraction(1, 4)], [0.5, 0.5]],
    ],
    ids=["no sum of 1", "negative", "short", "floats"],
)
def test_a_row_that_is_no_law_proves_nothing(table: Any) -> None:
    with pytest.raises(ProofError, match="no law"):
        prove_tables("it", [table], "replace-one")


def test_a_view_that_one_row_never_shows_has_no_bound() -> None:
    assert prove_tables("it", [[[Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1, 2)]]], "replace-one") is None


def test_a_view_that_no_row_shows_changes_nothing() -> None:
    found = prove_tables("it", [[[*row, Fraction(0)] for row in TABLE]], "replace-one")
    assert found is not None
    assert found.ratio == Fraction(8, 3)
    assert found.tight == ""


def test_of_several_tables_the_largest_ratio_counts() -> None:
    found = prove_tables("it", [TABLE, [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 8), Fraction(7, 8)]]], "add-remove")
    assert found is not None
    assert found.ratio == 4
    assert found.statement == "it is private with epsilon = log(4), and no less"
    assert len(found.steps) == 2 * (2 + 2) + 1


def test_an_example_that_does_not_check_states_nothing() -> None:
    wrong = Exhaustive("Channel", "it", lambda m: m.matrix, [[Fraction(1, 2), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)]])
    with pytest.raises(ProofError):
        _ = wrong.statement


def test_a_ratio_of_more_digits_than_python_writes_is_stated_by_its_length() -> None:
    rows = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 10**5000), 1 - Fraction(1, 10**5000)))
    found = prove_tables("a channel", (rows,), "replace-one")
    assert found is not None
    assert found.ratio == Fraction(10**5000, 2)
    assert "log(16609 bits / 1 bits)" in found.statement
