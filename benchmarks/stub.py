"""Prints ldpaudit/mechanisms/__init__.pyi, by which type checkers know the mechanisms: python -m benchmarks.stub > FILE."""

import re
from collections.abc import Iterator

from ldpaudit import mechanisms
from tests.helpers import ROOT

FILE = ROOT / "ldpaudit" / "mechanisms" / "__init__.pyi"


def lines() -> Iterator[str]:
    """The functions that the package hands on, and every class of every stem."""
    yield "# Printed by `python -m benchmarks.stub`."
    handed = re.findall(r"^from (ldpaudit\.mechanisms\.\S+) import (\w+)", FILE.with_suffix(".py").read_text(), re.MULTILINE)
    known = [(c.__module__, c.__name__) for stem in mechanisms.stems() for c in mechanisms.classes(stem).values()]
    yield from (f"from {module} import {name} as {name}" for module, name in sorted([*handed, *known]))


if __name__ == "__main__":
    print(*lines(), sep="\n")
