"""Mechanisms of other packages, found by the entry-point group ``ldpaudit.mechanisms``.

An entry point names a module: a package whose ``__init__`` holds the mechanism's classes, and whose modules ``accountant``,
``attack`` and ``proof``, each as far as it is there, hold what the files of one stem hold here. It is known as ``package:stem``.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType

from ldpaudit.errors import needed

GROUP = "ldpaudit.mechanisms"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A mechanism of another package: ``package:stem``, the module of its classes, and the distribution and version it is from."""

    name: str
    module: str
    source: str

    def holds(self, owner: type) -> bool:
        """Whether a class stands in its module, or in one below it."""
        return f"{owner.__module__}.".startswith(f"{self.module}.")

    def classes_in(self) -> ModuleType:
        """The module of its classes."""
        return _imported(self.name, self.module)

    def part(self, name: str) -> ModuleType | None:
        """Its accountant, attack or proof; None where it has none."""
        module = f"{self.module}.{name}"
        is_package = hasattr(self.classes_in(), "__path__")
        return _imported(self.name, module) if is_package and find_spec(module) is not None else None


@cache
def plugins() -> dict[str, Plugin]:
    """All that are installed, by name; of two of one name the first on the path."""
    found: dict[str, Plugin] = {}
    for point in metadata.entry_points(group=GROUP):
        name = f"{point.module.split('.')[0]}:{point.name}"
        source = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.module
        found.setdefault(name, Plugin(name, point.module, source))
    return dict(sorted(found.items()))


def part_of(name: str, part: str) -> ModuleType | None:
    """The accountant, attack or proof of a plugin of that name; None where there is no such plugin, or it has none."""
    found = plugins().get(name) if ":" in name else None
    return None if found is None else found.part(part)


def _imported(name: str, module: str) -> ModuleType:
    with needed(f"the plugin {name} needs a module {module}"):
        return import_module(module)
