"""A call, and what it read or started: whether its answer depends on more than the text of its code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from types import FrameType
from typing import Any

from ldpaudit.source_code import is_installed

_STARTS = {
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.startfile",
    "socket.connect", "socket.bind", "sqlite3.connect",
}  # fmt: skip
"""Events with which code asks what is not a file."""
_OF_THE_SYSTEM = ("/proc/", "/sys/", "/dev/")
_SAYING_NOTHING = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
"""Those of them that are the same everywhere, or never."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a call did."""

    files: frozenset[str]  # read, or imported; those of Python, of installed packages and of ours left out
    acts: tuple[str, ...]  # events of Python's that say that it asked what is no file: a program, a socket, a database

    @property
    def data(self) -> tuple[list[str], list[str]]:
        """As JSON has it."""
        return sorted(self.files), list(self.acts)

    def beyond(self, files: frozenset[str]) -> str:
        """What the answer depends on besides these files, in a clause; nothing where on nothing."""
        if self.acts:
            return f"its code calls {self.acts[0]}"
        others = sorted(self.files - files)
        return f"its code reads {others[0]}" if others else ""


def seen_in(data: Any) -> Seen:
    """What `Seen.data` gave."""
    files, acts = ([str(each) for each in part] for part in data)
    return Seen(frozenset(files), tuple(acts))


def watched(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    """What a call returns, and the data of what it did. The watch cannot be ended: it is for a process that ends after the call."""
    opened: set[str] = set()
    acts: list[str] = []

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in _STARTS:
            acts.append(event)
        elif _reads(event, given):
            path = os.path.abspath(os.fsdecode(given[0]))  # noqa: PTH100 - in the folder of now, links as they are
            opened.add(path)
            if path.startswith(_OF_THE_SYSTEM) and path not in _SAYING_NOTHING and _asked_by_foreign_code():
                acts.append(f"open({path!r})")

    import_module("numpy.testing")  # of an old numpy it starts a program to know the machine
    sys.addaudithook(hook)
    variables: Any = os.environ
    variables._data = _Asked(variables._data, acts)
    answer = function(*arguments)
    if any(name.startswith("multiprocessing.popen_") for name in sys.modules):
        acts.append("multiprocessing")
    # Where modules are looked for says nothing yet; those that are found are files of their own.
    places = set(map(os.path.abspath, sys.path))
    foreign = filter(_is_foreign, (opened | _imported()) - places)
    return answer, Seen(frozenset(map(os.path.realpath, foreign)), tuple(acts)).data


class _Asked(dict[Any, Any]):
    """Variables of the environment; it remembers that foreign code asked for one, whoever looked it up on its behalf."""

    def __init__(self, variables: dict[Any, Any], acts: list[str]) -> None:
        super().__init__(variables)
        self._acts = acts

    def __getitem__(self, name: Any) -> Any:
        self._remember(name)
        return super().__getitem__(name)

    def __contains__(self, name: Any) -> bool:
        self._remember(name)
        return super().__contains__(name)

    def __iter__(self) -> Iterator[Any]:
        self._remember("all")
        return super().__iter__()

    def _remember(self, name: Any) -> None:
        if _asked_by_foreign_code():
            self._acts.append(f"os.environ for {os.fsdecode(name)!r}")


def _asked_by_foreign_code() -> bool:
    """Whether the code that is watched is at work, or what it called; not where it only imports what is installed."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib"):
            return False
        if file == os.path.abspath(file) and _is_foreign(file):  # noqa: PTH100 - of text that may be no path
            return True
        frame = frame.f_back
    return False


def _reads(event: str, given: tuple[Any, ...]) -> bool:
    """Whether what was in a file before can be read, and may decide something; not of a descriptor, or of the program itself."""
    if event == "open" and given[2] & (os.O_WRONLY | os.O_TRUNC | os.O_EXCL):
        return False
    return event in ("open", "ctypes.dlopen") and isinstance(given[0], str | bytes | os.PathLike)


def _imported() -> set[str]:
    """Files of the modules that are loaded: some were before the watch began."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in files if isinstance(file, str)}


def _is_foreign(path: str) -> bool:
    return not path.startswith(_OF_THE_SYSTEM) and not is_installed(path)
