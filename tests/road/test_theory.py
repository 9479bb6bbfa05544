"""docs/theory.md is what the suite prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import theory
from tests.helpers import ROOT

PAGE = (ROOT / "docs/theory.md").read_text().splitlines()
COMMAND = "python -m benchmarks.theory > docs/theory.md"
STEM = re.compile(r"\| `(accountants|attacks|proofs)/\w+\.py`")
"""The row of a mechanism's own file: that of a mechanism which is younger than the page may be missing on it."""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    # In a process of its own: what other tests have cached would not run again.
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.theory"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def files_of_the_bound(lines: list[str]) -> list[str]:
    return [m[1] for line in lines if (m := re.match(r"\d+\. `([^`]+)`", line))]


def test_the_files_that_run_for_the_bound_of_shuffled_randomized_response_stand_on_the_page_in_order(printed: list[str]) -> None:
    assert files_of_the_bound(PAGE) == files_of_the_bound(printed), COMMAND


def test_the_page_says_what_the_docstrings_say(printed: list[str]) -> None:
    assert [line for line in printed if line in PAGE or not STEM.search(line)] == PAGE, COMMAND


def test_every_room_stands_on_the_page() -> None:
    rooms = [init.parent.relative_to(ROOT) for top in theory.ROOMS for init in (ROOT / top).glob("*/__init__.py")]
    assert {f"## {room}" for room in rooms} <= set(PAGE), COMMAND


def test_every_source_of_a_docstring_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theory, "ROOT", tmp_path)
    text = "It is at most 1 for i.i.d. views.\n\n    Tight. Source: Warner 1965,\n    page 3.1. Proof: none."
    (tmp_path / "numerics.py").write_text(f"def f():\n    {text!r}\n")
    (row,) = theory.rows(tmp_path)
    assert (row.theorem, row.source, row.name) == ("It is at most 1 for i.i.d. views", "Warner 1965, page 3.1", "f")


def test_a_trace_names_the_files_of_a_folder_in_the_order_of_their_first_calls() -> None:
    found = theory.trace(lambda: (theory.sentence("a"), files_of_the_bound(PAGE), theory.sentence("b")), ROOT)
    assert found == ["tests/road/test_theory.py", "benchmarks/theory.py"]
