"""What no private protocol can beat: lower-bound calculators, one file per source.

Each function's docstring is the theorem. What it returns encloses the bound: no protocol does better than its lower end, or
where the bound is one on a success probability, than its upper end.

Reading order: `hsu` (counting one value in the local model, Hsu, Khanna, Roth 2012) with `posterior` (its Bayesian
computations). The others are those of Ghazi, Golowich, Kumar, Pagh, Velingker 2019, with constants: `shuffle` (what
a shuffled guarantee says of the local one) and `information` (of a message); counting many values: `small_sample`,
`intermediate`, `large_sample`, `central`, with `domain` (their settings) and `accurate` (the bound behind `intermediate` and
`large_sample`, the data that it uses, and the laws of an accurate protocol's messages); `selection` (choosing one of many
questions). `_SHARED` names the files that hold no calculator.
"""

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

_SHARED = ("accurate", "domain", "information", "posterior")
"""Files of what calculators share."""


def calculators() -> dict[str, Callable[..., Any]]:
    """Every calculator by ``source.name``: the public functions of the files of this folder."""
    files = (info.name for info in pkgutil.iter_modules(__path__) if info.name not in _SHARED)
    modules = {name: import_module(f"{__name__}.{name}") for name in sorted(files)}
    return {
        f"{name}.{function}": found
        for name, module in modules.items()
        for function, found in vars(module).items()
        if inspect.isfunction(found) and found.__module__ == module.__name__ and not function.startswith("_")
    }
