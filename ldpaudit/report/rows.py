"""A paper's table with certified values, for people and programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid

from ldpaudit.enclosure import show_down, show_up
from ldpaudit.report.claims import two_digits

if TYPE_CHECKING:
    from rich.console import Console

    from ldpaudit.accountants.claims.sentence import Printed
    from ldpaudit.studies.tables import Row, Table

_LONGEST = 11
"""Characters of `[0.0001234,`, the longest end of an enclosure at four digits: no digit is cut off."""
_STATEMENT = "a statement, not a number"


def print_table(table: Table, checked: Sequence[tuple[Row, Printed | None]], console: Console) -> None:
    """Printed beside certified, and how each value stands to the other."""
    console.print(f"{table.name}: {table.title}")
    console.print(table.source)
    seen: dict[str, set[object]] = {}
    for row, _ in checked:
        for key, value in row.parameters:
            seen.setdefault(key, set()).add(value)
    varying = [key for key, values in seen.items() if len(values) > 1]
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in (*varying, "printed", "certified", "loose", "verdict"):
        grid.add_column(column, min_width=_LONGEST if column == "certified" else None)
    for row, found in checked:
        given = row.values()
        cells = [_short(given[key]) if key in given else "" for key in varying]
        grid.add_row(*cells, row.printed, _certified(found), _loose(found), _standing(found))
    console.print(grid)
    for why in dict.fromkeys(row.differs for row, _ in checked if row.differs):
        console.print(f"differs: {why}.")
    counts = Counter(_explained(found) for _, found in checked)
    console.print("; ".join(f"{n} x {what}" for what, n in counts.items()) + ".")


def _loose(found: Printed | None) -> str:
    """Printed over certified, where the printed number is valid and not tight."""
    if found is None or not found.holds or found.agrees or math.isinf(found.looseness):
        return ""
    return f"{two_digits(found.looseness)} x"


def _standing(found: Printed | None) -> str:
    if found is None:
        return _STATEMENT
    return f"{found.standing.value} to the digits printed" if found.agrees else found.standing.value


def _explained(found: Printed | None) -> str:
    """The same, with what it means where the word does not say it."""
    meaning = found.standing.meaning if found else ""
    return f"{_standing(found)} ({meaning})" if meaning else _standing(found)


def _certified(found: Printed | None) -> str:
    if found is None:
        return "-"
    low, high = show_down(found.found.low, 4), show_up(found.found.high, 4)
    return f"[{low}, {high}]"


def _short(value: object) -> str:
    text = str(value)
    return f"{float(value):.3g}" if not isinstance(value, str) and len(text) > 6 else text  # type: ignore[arg-type]


def as_data(each: tuple[Row, Printed | None]) -> dict[str, Any]:
    """One row as plain data."""
    row, found = each
    return {
        "parameters": {key: str(value) for key, value in row.parameters},
        "quantity": row.quantity,
        "printed": row.printed,
        "theorem": row.theorem,
        "low": None if found is None else str(found.found.low),
        "high": None if found is None else str(found.found.high),
        "comparison": _standing(found),
        "holds": None if found is None else found.holds,
        "differs": row.differs,
    }
