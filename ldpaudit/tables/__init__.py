"""The papers' bound tables, as printed. The certified values beside them are `ldpaudit.accountants.claims.tables`'."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from ldpaudit.tables._table import Row as Row
from ldpaudit.tables._table import Table as Table


def names() -> list[str]:
    """Names of all tables."""
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))


def load(name: str) -> Table:
    """A table by name.

    Raises
    ------
    KeyError
        Where there is none; it names those there are.
    """
    if name not in names():
        raise KeyError(f"no table {name!r}; there are {', '.join(names())}")
    table: Table = import_module(f"{__name__}.{name}").TABLE
    return table
