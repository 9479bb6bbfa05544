"""The code blocks of a page, and a runner for them: what a reader would type, in the order of the page, in an empty folder.

- ```` ```sh ```` is run; it ends with 0, or with what ``exits=N`` behind the language says. ``needs=MODULE`` skips it where that
  cannot be imported, ``installs`` never runs it: it fetches packages.
- ```` ```text ```` behind it is what it prints, where ``...`` stands for anything.
- ```` ```LANGUAGE FILE ```` is written to that file.
- ```` ```python ```` without a file is a doctest, which pytest runs.
"""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.helpers import ROOT

_BLOCK = re.compile(r"^```(?P<info>[^\n{`][^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_INSTALLERS = re.compile(r"(python -m venv|\S*pip install|\S*python -m benchmarks\.|python scripts/check\.py) ?.*")
"""Lines of blocks that are not run."""
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A block with a language; `words` are what stands behind that."""

    language: str
    words: tuple[str, ...]
    text: str

    def option(self, name: str) -> str | None:
        return next((word.partition("=")[2] for word in self.words if word.partition("=")[0] == name), None)

    @property
    def file(self) -> str | None:
        """The file that it is the text of."""
        named = [word for word in self.words if "." in word and "=" not in word]
        return named[0] if named else None

    @property
    def is_doctest(self) -> bool:
        return self.language == "python" and self.text.startswith(">>> ")

    @property
    def is_run(self) -> bool:
        return self.language == "sh" and not self.file and self.option("installs") is None

    @property
    def only_installs(self) -> bool:
        return self.option("installs") is not None and all(_INSTALLERS.fullmatch(line) for line in self.text.splitlines())


def blocks(page: Path) -> list[Block]:
    found = _BLOCK.finditer(page.read_text())
    return [Block(words[0], tuple(words[1:]), each["text"]) for each in found if (words := each["info"].split())]


def follow(page: Path, folder: Path) -> None:
    """Do what a page says, in a folder."""
    for block, after in pairwise([*blocks(page), Block("end", (), "")]):
        if block.file:
            file = folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.is_run and ((module := block.option("needs")) is None or find_spec(module) is not None):
            _run(block, after.text if after.language == "text" else None, folder)


def _run(block: Block, printed: str | None, folder: Path) -> None:
    where: dict[str, Any] = {"cwd": folder, "env": _environment(folder)}
    done = subprocess.run(["sh", "-eu"], input=block.text, capture_output=True, text=True, timeout=120, check=False, **where)
    said = f"{block.text}printed\n{done.stdout}{done.stderr}"
    assert done.returncode == int(block.option("exits") or 0), said
    if printed is not None:
        assert doctest.OutputChecker().check_output(printed, done.stdout, LOOSE), said


def _environment(folder: Path) -> dict[str, str]:
    """Where `ldpaudit` and `python` are those of this checkout, as after an installation."""
    programs = folder.parent / "programs"
    if not programs.exists():
        programs.mkdir()
        for name, command in _commands():
            (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}


def _commands() -> Iterator[tuple[str, str]]:
    yield "python", sys.executable
    # -P: as an installed command does, it looks for nothing in the folder where it is called.
    yield "ldpaudit", f"{sys.executable} -P -m ldpaudit"
