from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A first example may fill a cache, and the machine may be busy: neither is a failure.
settings.register_profile("search", deadline=None, max_examples=200)
# The same examples each time: a check that fails now and then is no check. `./run test --slow` searches.
settings.register_profile("ldpaudit", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("ldpaudit")


@pytest.fixture(scope="session", autouse=True)
def _no_secret_of_the_developers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The gate's secret is made where the tests are: nothing of theirs is believed afterwards."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file's tests are run by one worker, unless they say otherwise: what they share is then computed once per run."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
