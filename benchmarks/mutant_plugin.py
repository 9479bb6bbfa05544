"""pytest's side of a mutant's run: tests that name the mechanism first, none for longer than its time, and an end to all.

``-p benchmarks.mutant_plugin``, with words, seconds, tests to leave out and a file as JSON in ``MUTANT`` of the environment.
The file gets the number of tests that ran and the first that failed.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

WANTED: dict[str, Any] = json.loads(os.environ.get("MUTANT", "{}"))
OUTCOME: dict[str, Any] = {"tests": 0}


def plain(text: str) -> str:
    """Without case and underscores: a stem and its class look alike."""
    return text.lower().replace("_", "")


def spent() -> float:
    """Seconds of a processor, of this process and those that it waited for."""
    return sum(os.times()[:4])


def _write() -> None:
    Path(WANTED["file"]).write_text(json.dumps(OUTCOME))


def _too_long(*_: object) -> None:
    OUTCOME["timeout"] = OUTCOME["running"]
    _write()
    os._exit(1)


def pytest_configure() -> None:
    """A failing example is enough: nobody reads the smallest."""
    settings.register_profile("mutants", parent=settings(), phases=(Phase.explicit, Phase.generate), database=None)
    settings.load_profile("mutants")
    signal.signal(signal.SIGPROF, _too_long)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose name has one of the words first, then as before."""
    items[:] = [item for item in items if item.nodeid not in WANTED["deselect"]]
    items.sort(key=lambda item: not any(word in plain(item.nodeid) for word in WANTED["words"]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Each test has the time of all."""
    OUTCOME["running"] = item.nodeid
    signal.setitimer(signal.ITIMER_PROF, WANTED["seconds"])
    found = yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    OUTCOME["tests"] += 1
    if spent() > WANTED["seconds"]:
        item.session.shouldstop = "the time is up"
    return found


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the first that failed."""
    if report.failed:
        OUTCOME.setdefault("failed", report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Remember the first file that could not be read."""
    if report.failed:
        OUTCOME.setdefault("failed", report.nodeid)


def pytest_sessionfinish() -> None:
    """Say what was found."""
    _write()
