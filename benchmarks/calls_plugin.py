"""Which functions of ours each test calls, and the seconds of the processor that it takes: what `contract mutants --calls` reads.

    CALLS=FOLDER python -m pytest -q -n 2 -p benchmarks.calls_plugin

Each process writes a file of its own into the folder, at its end. What tests start in other processes is not seen.
"""

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from cProfile import Profile
from pathlib import Path
from types import CodeType

import pytest

from benchmarks.measures import PRODUCT, ROOT

_NAMES = "|".join(PRODUCT)
OURS = re.compile(rf"{re.escape(str(ROOT))}/(ldpaudit/(?=({_NAMES})/))?(?P<path>({_NAMES})/.*)")
SECONDS: dict[str, float] = {}
CALLS = defaultdict[str, list[str]](list)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Profile the test, with what it sets up."""
    profile, start = Profile(builtins=False), time.process_time()
    profile.enable()
    try:
        return (yield)
    finally:
        profile.disable()
        SECONDS[item.nodeid] = round(time.process_time() - start, 3)
        for code in [each.code for each in profile.getstats()]:
            if isinstance(code, CodeType) and (found := OURS.match(code.co_filename)):
                CALLS[f"{found['path']}:{code.co_firstlineno}"].append(item.nodeid)


def pytest_sessionfinish() -> None:
    """Write what was seen; the process that only hands tests out has seen nothing."""
    if SECONDS:
        folder = Path(os.environ["CALLS"])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{os.getpid()}.json").write_text(json.dumps({"seconds": SECONDS, "calls": CALLS}))
