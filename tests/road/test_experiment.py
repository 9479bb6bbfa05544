"""What the benchmarks share: their tables and options."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.experiment import exponent, options, show


def test_a_table_s_columns_are_named_and_written_by_one_text(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("a", 0.5, 12_345, "fine"), ("bc", "", 7, "")]
    assert show("{name:4} {at: once:8.3f} {views:>7,}  {}|", rows) == rows
    assert capsys.readouterr().out == "name at: once   views  |\na       0.500  12,345  fine|\nbc                  7  |\n"


def test_an_option_is_of_the_type_of_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "two", "--users", "1e6", "--only", "b", "--file", "f", "--quick"])
    found = options("", ["one", "two"], users=10, only=["a", "b"], runs=5, file=Path, quick=False)
    assert vars(found) == {"names": ["two"], "users": 10**6, "only": ["b"], "runs": 5, "file": Path("f"), "quick": True}
    monkeypatch.setattr(sys, "argv", ["x", "three"])
    with pytest.raises(SystemExit):
        options("", ["one", "two"])


def test_the_exponent_of_a_power_is_found() -> None:
    assert exponent([10, 100, 1000], [3 * n**0.5 for n in (10, 100, 1000)]) == pytest.approx(0.5)
