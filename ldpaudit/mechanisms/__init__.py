"""What is deployed: one mechanism a file. The folder is the registry."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

from ldpaudit.mechanism import Mechanism


def stems() -> tuple[str, ...]:
    """Names of the files of this folder, each a mechanism."""
    found = (m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return tuple(sorted(name for name in found if not name.startswith("_")))


def classes(stem: str) -> dict[str, type[Mechanism]]:
    """The mechanisms of a file by variant, in the order of the file; the first one's variant is empty."""
    module = import_module(f"{__name__}.{stem}")
    own = (c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__)
    return {c.variant: c for c in own if issubclass(c, Mechanism) and not inspect.isabstract(c)}


def stem(mechanism: Mechanism | type[Mechanism]) -> str:
    """The file that a mechanism stands in."""
    owner = mechanism if isinstance(mechanism, type) else type(mechanism)
    for base in owner.__mro__:  # a subclass that users write is still its parent's mechanism
        package, _, name = base.__module__.rpartition(".")
        if package == __name__:
            return name
    raise KeyError(f"{owner.__name__} is not a mechanism of {__name__}")


def __getattr__(name: str) -> Any:
    """Find a mechanism by its class name."""
    if not name.startswith("_"):
        for each in stems():
            for found in classes(each).values():
                if found.__name__ == name:
                    return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(c.__name__ for each in stems() for c in classes(each).values())
