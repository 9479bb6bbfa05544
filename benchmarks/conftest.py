"""Options and the table of `benchmarks/test_targets.py`."""

from typing import Any

import pytest

LINES: list[str] = []  # rows of the table, in the order of the runs


def pytest_addoption(parser: pytest.Parser) -> None:
    """An interpreter with dp-accounting."""
    parser.addoption("--oracle", metavar="PYTHON", help="interpreter of an environment with dp-accounting")


@pytest.fixture
def row() -> Any:
    """Adds a row to the table."""
    return LINES.append


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Value and time of each query, beside the target and the oracle's."""
    terminalreporter.section("values and times")
    for line in LINES:
        terminalreporter.write_line(line)
