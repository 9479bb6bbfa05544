"""A paper's table with certified values, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid

from ldpaudit.enclosure import show_down, show_up

if TYPE_CHECKING:
    from rich.console import Console

    from ldpaudit.accountants.claims.tables import Checked
    from ldpaudit.tables import Table


def print_table(table: Table, checked: Sequence[Checked], console: Console) -> None:
    """Printed beside certified, and what each difference means."""
    console.print(f"{table.name}: {table.title}")
    console.print(table.source)
    seen: dict[str, set[object]] = {}
    for each in checked:
        for key, value in each.row.parameters:
            seen.setdefault(key, set()).add(value)
    varying = [key for key, values in seen.items() if len(values) > 1]
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in (*varying, "printed", "certified", "so it is"):
        grid.add_column(column)
    for each in checked:
        given = each.row.values()
        cells = [_short(given[key]) if key in given else "" for key in varying]
        grid.add_row(*cells, each.row.printed, _certified(each), each.comparison.value)
    console.print(grid)
    for why in dict.fromkeys(each.row.differs for each in checked if each.row.differs):
        console.print(f"differs: {why}.")
    counts = Counter(each.comparison.value for each in checked)
    console.print("; ".join(f"{n} {what}" for what, n in counts.items()) + ".")


def _certified(each: Checked) -> str:
    if each.certified is None:
        return "-"
    low, high = show_down(each.certified.low, 4), show_up(each.certified.high, 4)
    return f"[{low}, {high}]"


def _short(value: object) -> str:
    text = str(value)
    return f"{float(value):.3g}" if not isinstance(value, str) and len(text) > 6 else text  # type: ignore[arg-type]


def as_data(each: Checked) -> dict[str, Any]:
    """One row as plain data."""
    found = each.certified
    return {
        "parameters": {key: str(value) for key, value in each.row.parameters},
        "quantity": each.row.quantity,
        "printed": each.row.printed,
        "theorem": each.row.theorem,
        "low": None if found is None else str(found.low),
        "high": None if found is None else str(found.high),
        "comparison": each.comparison.value,
        "differs": each.row.differs,
    }
