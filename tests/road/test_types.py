"""`ldp.mechanisms` is typed: a type checker knows each mechanism's name, and that others are none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import stub
from tests.helpers import ROOT


def test_a_type_checker_is_told_the_names_that_the_folder_has() -> None:
    assert stub.FILE.read_text() == "\n".join(stub.lines()) + "\n", "python -m benchmarks.stub prints it"


@pytest.mark.slow
def test_a_misspelt_mechanism_is_an_error_of_mypy(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import ldpaudit as ldp\n\nldp.mechanisms.Channel(7)\nldp.mechanisms.Chanel\nldp.mechanisms.Rappor.bitz\n")
    command = [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent", str(file)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert 'mine.py:4: error: Module has no attribute "Chanel"' in done.stdout, done.stdout + done.stderr
    assert "mine.py:5: error" in done.stdout
    assert "mine.py:3: error" in done.stdout, "a number is no matrix"
