"""What no private protocol can beat: lower-bound calculators, one source a file.

Each function's docstring is the theorem; what it returns encloses the bound, whose lower end may be relied on.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any


def calculators() -> dict[str, Callable[..., Any]]:
    """Every calculator by ``source.name``: the public functions of the files of this folder."""
    files = (info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
    modules = {name: import_module(f"{__name__}.{name}") for name in sorted(files)}
    return {
        f"{name}.{function}": found
        for name, module in modules.items()
        for function, found in vars(module).items()
        if inspect.isfunction(found) and found.__module__ == module.__name__ and not function.startswith("_")
    }
