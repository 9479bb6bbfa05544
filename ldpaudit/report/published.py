"""Published bounds beside the certified value, for people and programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid

from ldpaudit.enclosure import Enclosure, show_down, show_up

if TYPE_CHECKING:
    from rich.console import Console

    from ldpaudit.accountants.claims.published import Published


def print_comparison(certified: Enclosure, rows: Sequence[Published], console: Console) -> None:
    """The certified value, then every published bound with its looseness; then the hypotheses that are not met."""
    if not rows:
        console.print("no published bound is known for this plan; `ldpaudit claims` lists the bounds of papers' own systems")
        return
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column("bound", no_wrap=True)
    grid.add_column("year")
    grid.add_column("epsilon", justify="right")
    grid.add_column("x certified", justify="right")
    grid.add_column("here it")
    grid.add_row("certified", "", show_up(certified.high, 5), "1", certified.rigour.name)
    for row in rows:
        if row.printed is not None:
            value, ratio = show_up(float(row.printed.claimed), 5), show_down(row.printed.looseness, 4)
            grid.add_row(row.name, str(row.year), value, ratio, row.standing.value)
    console.print(grid)
    for standing in dict.fromkeys(row.standing for row in rows if row.standing.meaning):
        console.print(f"{standing.value}: {standing.meaning}.")
    for row in rows:
        if row.unmet:
            console.print(f"{row.name} ({row.year}) needs {row.unmet}.")


def as_data(row: Published) -> dict[str, Any]:
    """One row as plain data."""
    printed = row.printed
    return {
        "name": row.name,
        "year": row.year,
        "source": row.source,
        "epsilon": None if printed is None else float(printed.claimed),
        "over_certified": None if printed is None or math.isinf(printed.looseness) else printed.looseness,
        "standing": row.standing.name.lower(),
        "proved": row.proved,
        "needs": row.needs,
        "known": row.provenance.value,
        "unmet": row.unmet or None,
    }
