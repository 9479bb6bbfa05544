import gc
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

gc.disable()  # while tests are collected: nearly all that is made stays, and would be walked over and over
# Workers are as many as cores: threads of a worker would wait for each other's. Before numpy is imported.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
# A first example may fill a cache, and the machine may be busy: neither is a failure.
settings.register_profile("search", deadline=None, max_examples=200)
# The same examples each time: a check that fails now and then is no check. `./run test --slow` searches.
settings.register_profile("ldpaudit", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("ldpaudit")
TOGETHER = (("tests/claims/",), ("tests/laws/test_laws.py", "tests/proofs/"))  # share what takes long: claims, and proofs


@pytest.fixture(scope="session", autouse=True)
def _no_secret_of_the_developers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The gate's secret is made where the tests are: nothing of theirs is believed afterwards."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``few(n)`` n cases, spread over all of them, are run by default; the others are slow."""
    tests = defaultdict[tuple[Path, str], list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("few") is not None and item.get_closest_marker("slow") is None:
            tests[item.path, item.name.partition("[")[0]].append(item)
    for cases in tests.values():
        (most,) = next(cases[0].iter_markers("few")).args
        kept = {i * len(cases) // most for i in range(most)}
        for i, case in enumerate(cases):
            if i not in kept:
                case.add_marker("slow")


def pytest_collection_finish() -> None:
    """What is imported by now stays: the collector need not walk it again, nor so often. A twentieth of the time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a crew's tasks in this process: faster than in processes of their own, where no test is of these."""
    from ldpaudit.errors import LdpauditError
    from ldpaudit.workers.worker_processes import Crew, Task

    def do(_: Crew, task: Task) -> Any:
        try:
            return task.function(*task.arguments)
        except ValueError as error:
            raise LdpauditError(f"{task.name}: {error}") from error

    monkeypatch.setattr(Crew, "do", do)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests are run by one worker, and so are those of files that share much: it is then computed once per run."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((names[0] for names in TOGETHER if file.startswith(names)), file)

    return ByFile(config, log)
