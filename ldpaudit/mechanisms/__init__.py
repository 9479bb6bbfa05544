"""What is deployed: one mechanism per file. The folder is the registry, and `__init__.pyi` is printed from it."""

from typing import Any

from ldpaudit.core.nearest import or_rather
from ldpaudit.mechanisms.shared.plugins import part_of as part_of
from ldpaudit.mechanisms.shared.stems import classes as classes
from ldpaudit.mechanisms.shared.stems import has_own_law as has_own_law
from ldpaudit.mechanisms.shared.stems import homes as homes
from ldpaudit.mechanisms.shared.stems import is_stranger as is_stranger
from ldpaudit.mechanisms.shared.stems import named as named
from ldpaudit.mechanisms.shared.stems import names as names
from ldpaudit.mechanisms.shared.stems import source as source
from ldpaudit.mechanisms.shared.stems import stem as stem
from ldpaudit.mechanisms.shared.stems import stems as stems


def __getattr__(name: str) -> Any:
    """Find a mechanism by its class name, once."""
    if not name.startswith("_"):
        for each in stems():
            for found in classes(each).values():
                if found.__name__ == name:
                    return globals().setdefault(name, found)
    meant = "" if name.startswith("_") else or_rather(name, __dir__())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")


def __dir__() -> list[str]:
    return sorted(c.__name__ for each in stems() for c in classes(each).values())
