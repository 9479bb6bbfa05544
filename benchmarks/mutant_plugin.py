"""pytest's side of mutants: one process that has collected all tests, and for each mutant a fork of it with the functions changed.

``-p benchmarks.mutant_plugin``, with the number of a pipe's end in ``MUTANTS`` of the environment. Each question is a dictionary:
a file's path and its text before and after, and the tests in their order, with the seconds that each took before. The answer has
the number of tests that ran, the first that failed, or took too long, and whether all was imported anew.
"""

import gc
import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import _lru_cache_wrapper
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.main import pytest_runtestloop as run_in_order
from hypothesis import Phase, settings

OPTIONS = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "benchmarks.mutant_plugin"]
PATIENCE = 10  # seconds of a processor that any test may take
OUTCOME, WANTED = Path("outcome.json"), dict[str, Any]()
FOUND: dict[str, Any] = {"tests": 0}


def _write(**found: str) -> None:
    FOUND.update(found)
    OUTCOME.write_text(json.dumps(FOUND))


def _too_long(*_: object) -> None:
    _write(timeout=FOUND["running"], running="")
    os._exit(1)


def pytest_configure() -> None:
    """A failing example is enough: nobody reads the smallest."""
    settings.register_profile("mutants", parent=settings(), phases=(Phase.explicit, Phase.generate), database=None)
    settings.load_profile("mutants")
    signal.signal(signal.SIGPROF, _too_long)


def _by_name(text: str) -> dict[str, list[CodeType]]:
    found, left = defaultdict(list), [compile(text, "mutant", "exec", dont_inherit=True)]
    for code in left:
        found[code.co_qualname].append(code)
        left += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def changed(functions: list[FunctionType], path: str, before: str, after: str) -> int:
    """How many functions of a file were changed to what they are in its other text; none where one cannot be changed in place."""
    (old, new), count = map(_by_name, (before, after)), 0
    pairs = {one: two for name, codes in old.items() for one, two in zip(codes, new[name], strict=False) if one != two}
    for function in functions:
        if function.__code__ in pairs and function.__code__.co_filename.endswith(path):
            try:
                function.__code__ = pairs[function.__code__]
            except ValueError:  # it no longer needs a variable of the function around it
                return 0
            count += 1
    return count


def _judge(session: pytest.Session, live: list[Any]) -> None:
    """Run the tests, with functions changed where that can be done; else with everything of ours imported anew."""
    os.setpgid(0, 0)
    for each in live:
        if isinstance(each, _lru_cache_wrapper):
            each.cache_clear()
    if changed([each for each in live if isinstance(each, FunctionType)], *WANTED["changed"]) or not WANTED["changed"][0]:
        pytest_collection_modifyitems(session.items)
        with suppress(session.Failed, session.Interrupted):
            run_in_order(session)
    else:
        FOUND["anew"] = True
        for name in list(sys.modules):
            if name.partition(".")[0] in ("ldpaudit", "tests", "benchmarks") and name != __name__:
                del sys.modules[name]
        files = dict.fromkeys(test.partition("::")[0] for test in WANTED["tests"])
        pytest.main([*OPTIONS, "--basetemp=scratch", *files], plugins=[])
    _write(running="")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Answer questions until there are none, each in a process of its own."""
    if WANTED:
        return None
    if session.testsfailed:
        raise session.Failed("mutants need tests that can be collected where nothing is changed")
    pipe = Connection(int(os.environ["MUTANTS"]))
    gc.unfreeze()
    kinds = (FunctionType, _lru_cache_wrapper)
    live = [each for each in gc.get_objects() if isinstance(each, kinds) and str(each.__module__).partition(".")[0] == "ldpaudit"]
    gc.freeze()
    pipe.send("ready")
    with suppress(EOFError):
        while True:
            WANTED.update(pipe.recv())
            OUTCOME.unlink(missing_ok=True)
            process = get_context("fork").Process(target=_judge, args=(session, live))
            process.start()
            process.join(20 * (sum(WANTED["tests"].values()) + PATIENCE))
            late = process.is_alive()
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()
            found = json.loads(OUTCOME.read_text()) if OUTCOME.exists() else {"tests": 0, "running": "the start"}
            if running := found.pop("running", None):  # the process ended, or was ended
                found.setdefault("timeout" if late else "failed", running)
            pipe.send(found)
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that were asked for, in this order."""
    if WANTED:
        rank = {test: i for i, test in enumerate(WANTED["tests"])}
        items[:] = sorted((item for item in items if item.nodeid in rank), key=lambda item: rank[item.nodeid])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Each test may take ten times what it took, and some seconds."""
    _write(running=item.nodeid)
    signal.setitimer(signal.ITIMER_PROF, 10 * WANTED["tests"][item.nodeid] + PATIENCE)
    found = yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    FOUND["tests"] += 1
    return found


def pytest_runtest_logreport(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Remember the first that failed, a test or a file that could not be read."""
    if report.failed:
        FOUND.setdefault("failed", report.nodeid)


pytest_collectreport = pytest_runtest_logreport
