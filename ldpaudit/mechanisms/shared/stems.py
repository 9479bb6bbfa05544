"""Which mechanisms there are: the files of `ldpaudit/mechanisms`, and those that other packages bring."""

import dataclasses
import inspect
import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.plugins import plugins

PACKAGE = "ldpaudit.mechanisms"
_INSTEAD = "Wrap one in a Mechanism with a law(x) of its own, or give the matrix of its law as a `channel`"
"""What users write in place of a subclass."""


@cache
def stems() -> tuple[str, ...]:
    """Names of the files of this folder, each a mechanism."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent.parent)]) if not m.ispkg))


def names() -> tuple[str, ...]:
    """Names of all mechanisms: the stems of this folder, and ``package:stem`` of those that other packages bring."""
    return (*stems(), *plugins())


def source(name: str) -> str:
    """The distribution that a mechanism comes from, and its version where it is another."""
    return plugins()[name].source if name in plugins() else "ldpaudit"


def named(text: str) -> tuple[str, str]:
    """The name and the variant that ``stem``, ``stem:variant``, ``package:stem`` or ``package:stem:variant`` means."""
    first, _, rest = text.partition(":")
    second, _, variant = rest.partition(":")
    return (f"{first}:{second}", variant) if f"{first}:{second}" in plugins() else (first, rest)


def classes(stem: str) -> dict[str, type[Mechanism]]:
    """The mechanisms of a file by variant, in the order of the file; the first one's variant is empty."""
    module = plugins()[stem].classes_in() if stem in plugins() else import_module(f"ldpaudit.mechanisms.{stem}")
    inside = plugins()[stem].holds if stem in plugins() else lambda c: c.__module__ == module.__name__
    own = (c for c in vars(module).values() if inspect.isclass(c) and inside(c))
    return {c.variant: c for c in own if issubclass(c, Mechanism) and not inspect.isabstract(c)}


@cache
def homes(stem: str) -> tuple[str, ...]:
    """Under which names its accountant, attack and proof are looked for: its own, then the `core` that its classes name."""
    core = next(iter(classes(stem).values())).core if stem in stems() else ""
    return (stem, core) if core else (stem,)


def stem(mechanism: Mechanism | type[Mechanism]) -> str:
    """The file that a mechanism stands in, and with it its accountant, its attack and its proofs.

    Raises Unsupported for a mechanism that users write: also for a subclass of one of these, since nothing known of a
    class need hold of its subclasses.
    """
    owner = mechanism if isinstance(mechanism, type) else type(mechanism)
    base = _bundled(owner)
    if base is None:
        found = f"it is not a mechanism of {PACKAGE}, and states no finite law of its own"
        raise Unsupported(owner.__name__, f"{found}: add a method law(x), and its accountant, proof and attack follow from it")
    if base is not owner:
        found = f"it is a subclass of {base.__name__}, which is final: nothing that is known of that is known of it"
        raise Unsupported(owner.__name__, f"{found}. {_INSTEAD}")
    if changed := _replaced(mechanism):
        raise Unsupported(owner.__name__, f"its {', '.join(changed)} is not that of its class. {_INSTEAD}")
    return _file(base)


def is_stranger(mechanism: Mechanism) -> bool:
    """Whether nothing is known of a mechanism but its samples: it is not of this folder, and states no law."""
    return _bundled(type(mechanism)) is None and not has_own_law(mechanism)


def _bundled(owner: type) -> type | None:
    """The class of this folder that a class is, or is a subclass of."""
    return next((base for base in owner.__mro__ if _file(base) and dataclasses.is_dataclass(base)), None)


def has_own_law(mechanism: Mechanism) -> bool:
    """Whether a mechanism that users write states the law of its views, and has not redefined `sample` since."""
    owners = type(mechanism).__mro__
    law = next(i for i, owner in enumerate(owners) if "law" in vars(owner))
    samples = [i for i, owner in enumerate(owners) if "sample" in vars(owner) and owner is not Mechanism]
    stale = bool(samples) and samples[0] < law <= samples[-1]
    return owners[law] is not Mechanism and not _file(owners[law]) and not stale and not _replaced(mechanism)


def _file(owner: type) -> str:
    """The file of this folder that a class stands in, or the plugin; empty where it stands elsewhere."""
    if owner.__module__.startswith(f"{PACKAGE}."):
        *shared, name = owner.__module__.removeprefix(f"{PACKAGE}.").split(".")
        return f"_{name}" if shared else name
    theirs = plugins().values() if issubclass(owner, Mechanism) and owner is not Mechanism else ()
    return next((plugin.name for plugin in theirs if plugin.holds(owner)), "")


def _replaced(mechanism: Mechanism | type[Mechanism]) -> list[str]:
    """Methods in place of which one object has something of its own."""
    own = {} if isinstance(mechanism, type) else getattr(mechanism, "__dict__", {})
    return [name for name in own if inspect.isfunction(inspect.getattr_static(type(mechanism), name, None))]
