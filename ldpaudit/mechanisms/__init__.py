"""What is deployed: one mechanism a file. The folder is the registry."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism

_HARMLESS = {"title", "variant", "unbiased", "estimate", "truth", "_abc_impl"}
"""What a subclass may redefine: words, and what is done with views that have been shown."""
_ACCESS = {"__getattribute__", "__getattr__"}
"""Special methods through which an attribute may be anything; others cannot change what a view depends on."""


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
    """The file that a mechanism stands in, and with it its accountant, its attack and its proofs.

    A subclass that users write is still its parent's mechanism, where it changes nothing that a view depends on: other
    defaults, constructors, titles and estimates are its own affair.

    Raises
    ------
    Unsupported
        For a mechanism of another package, and for a subclass that changes what its parent does.
    ValueError
        Where a subclass's parameters lie outside its parent's domain.
    """
    owner = mechanism if isinstance(mechanism, type) else type(mechanism)
    base: type | None = next((base for base in owner.__mro__ if _file(base) and dataclasses.is_dataclass(base)), None)
    if base is None:
        raise Unsupported(owner.__name__, f"it is not a mechanism of {__name__}, and no finite law of its own is known")
    if changed := [*_redefined(owner, base), *_replaced(mechanism)]:
        found = f"it redefines {', '.join(dict.fromkeys(changed))} of {base.__name__}"
        raise Unsupported(owner.__name__, f"{found}: what is known of that does not hold of it, only what its own law says")
    if not isinstance(mechanism, type) and owner is not base:
        base(**{field.name: getattr(mechanism, field.name) for field in dataclasses.fields(base)})
    return _file(base)


def has_own_law(mechanism: Mechanism) -> bool:
    """Whether a mechanism that users write states the law of its views, and has not redefined `sample` since."""
    owners = type(mechanism).__mro__
    law = next(i for i, owner in enumerate(owners) if "law" in vars(owner))
    samples = [i for i, owner in enumerate(owners) if "sample" in vars(owner) and owner is not Mechanism]
    stale = bool(samples) and samples[0] < law <= samples[-1]
    return owners[law] is not Mechanism and not _file(owners[law]) and not stale and not _replaced(mechanism)


def _file(owner: type) -> str:
    """The file of this folder that a class stands in; empty where it stands elsewhere."""
    package, _, name = owner.__module__.rpartition(".")
    return name if package == __name__ else ""


def _redefined(owner: type, base: type) -> list[str]:
    """What classes between the two redefine that views may depend on."""
    fields = {field.name for field in dataclasses.fields(base)}
    between = owner.__mro__[: owner.__mro__.index(base)]
    named = [(name, value) for each in between for name, value in vars(each).items()]
    return [name for name, value in named if _matters(base, name) and not (name in fields and not hasattr(value, "__get__"))]


def _matters(base: type, name: str) -> bool:
    """Whether views may depend on what the class has of this name."""
    if name.startswith("__"):
        return name in _ACCESS
    known = inspect.getattr_static(base, name, None)
    return known is not None and name not in _HARMLESS and not isinstance(known, classmethod)


def _replaced(mechanism: Mechanism | type[Mechanism]) -> list[str]:
    """Methods in place of which one object has something of its own."""
    own = {} if isinstance(mechanism, type) else getattr(mechanism, "__dict__", {})
    return [name for name in own if inspect.isfunction(inspect.getattr_static(type(mechanism), name, None))]


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
