"""Printed numbers beside certified ones: a paper's table, the field's published bounds, and the ledger of its formulas."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from ldpaudit.accountants.claims.ledger import COLUMNS
from ldpaudit.enclosure import Enclosure, show_down, show_up
from ldpaudit.report.claims import two_digits
from ldpaudit.report.printer import Cells, markdown_of

if TYPE_CHECKING:
    from rich.console import Console

    from ldpaudit.accountants.claims.ledger import Chapter
    from ldpaudit.accountants.claims.published import Published
    from ldpaudit.accountants.claims.sentence import Printed
    from ldpaudit.studies.tables import Row, Table

_LONGEST = 11  # characters of `[0.0001234,`, the longest end of an enclosure at four digits: no digit is cut off
_STATEMENT = "a statement, not a number"


def print_table(table: Table, checked: Sequence[tuple[Row, Printed | None]], console: Console) -> None:
    """Printed beside certified, and how each value stands to the other."""
    console.print(f"{table.name}: {table.title}")
    console.print(table.source)
    head, rows = table_of(checked)
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in head:
        grid.add_column(column, min_width=_LONGEST if column == "certified" else None)
    for cells in rows:
        grid.add_row(*cells)
    console.print(grid)
    for why in dict.fromkeys(row.differs for row, _ in checked if row.differs):
        console.print(f"differs: {why}.")
    counts = Counter[str]()
    for _, found in checked:
        meaning = found.standing.meaning if found else ""  # where the word does not say it
        counts[f"{_standing(found)} ({meaning})" if meaning else _standing(found)] += 1
    console.print("; ".join(f"{n} x {what}" for what, n in counts.items()) + ".")


def table_of(checked: Sequence[tuple[Row, Printed | None]]) -> tuple[Cells, list[Cells]]:
    """A head and cells: what varies between the rows, then printed beside certified."""
    seen: dict[str, set[object]] = {}
    for row, _ in checked:
        for key, value in row.parameters:
            seen.setdefault(key, set()).add(value)
    varying, rows = [key for key, values in seen.items() if len(values) > 1], []
    for row, found in checked:
        given, certified, loose = row.values(), "-", ""
        values = [given.get(key, "") for key in varying]
        cells = [str(x) if isinstance(x, str) or len(str(x)) <= 6 else f"{float(x):.3g}" for x in values]
        if found is not None:
            certified = f"[{show_down(found.found.low, 4)}, {show_up(found.found.high, 4)}]"
        if found is not None and found.holds and not found.agrees and math.isfinite(found.looseness):
            loose = f"{two_digits(found.looseness)} x"  # printed over certified, where the printed number is valid and not tight
        rows.append((*cells, row.printed, certified, loose, _standing(found)))
    return (*varying, "printed", "certified", "loose", "verdict"), rows


def _standing(found: Printed | None) -> str:
    if found is None:
        return _STATEMENT
    return f"{found.standing.value} to the digits printed" if found.agrees else found.standing.value


def row_as_data(each: tuple[Row, Printed | None]) -> dict[str, Any]:
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


COMPARED = ("bound", "year", "epsilon", "x certified", "here it", "source")


def compared(certified: Enclosure, rows: Sequence[Published]) -> list[Cells]:
    """The certified value, then every published bound with its looseness; without an epsilon where a hypothesis is not met."""
    found: list[Cells] = [("certified", "", show_up(certified.high, 5), "1", certified.rigour.name, certified.source)]
    for row in rows:
        numbers = ("", "")
        if row.printed is not None:
            numbers = show_up(float(row.printed.claimed), 5), show_down(row.printed.looseness, 4)
        found.append((row.name, str(row.year or ""), *numbers, row.standing.value, row.source))
    return found


def print_comparison(certified: Enclosure, rows: Sequence[Published], console: Console) -> None:
    """As `compared`; then the hypotheses that are not met."""
    if not rows:
        console.print("no published bound is known for this plan; `ldpaudit claims` lists the bounds of papers' own systems")
        return
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in COMPARED[:-1]:
        grid.add_column(column, no_wrap=column == "bound", justify="right" if column in ("epsilon", "x certified") else "left")
    for cells in compared(certified, rows):
        if cells[2]:
            grid.add_row(*cells[:-1])
    console.print(grid)
    for standing in dict.fromkeys(row.standing for row in rows if row.standing.meaning):
        console.print(f"{standing.value}: {standing.meaning}.")
    for row in rows:
        if row.unmet:
            console.print(f"{row.name} ({row.year or 'your own'}) needs {row.unmet}.")


def bound_as_data(row: Published) -> dict[str, Any]:
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


def print_ledger(chapters: Sequence[Chapter], console: Console) -> None:
    """Each chapter: its settings, a line for every formula, where it is from, and hypotheses that are not met."""
    for chapter in chapters:
        console.print(chapter.title)
        _indented(_settings(chapter), console)
        grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for column in ("formula", *COLUMNS):
            grid.add_column(column, no_wrap=column != "formula")
        for formula in chapter.formulas:
            grid.add_row(formula.stated.name, *map(_verdict, formula.found))
        console.print(grid)
        known = (formula.stated for formula in chapter.formulas)
        _indented((f"{each.name}: {each.source} ({each.provenance.value}); needs {each.needs}" for each in known), console)
        _indented(_unmet(chapter), console)
        console.print()


def _indented(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))


LEDGER = ("formula", "needs", *COLUMNS, "source", "known how")


def cells_of(chapter: Chapter) -> list[Cells]:
    """A line for every formula of a chapter."""
    several = [(f.stated, map(_verdict, f.found)) for f in chapter.formulas]
    return [(one.name, one.needs, *verdicts, one.source, one.provenance.value) for one, verdicts in several]


def markdown(chapters: Sequence[Chapter]) -> str:
    """The same as sections of a page."""
    sections = []
    for chapter in chapters:
        table = markdown_of(LEDGER, cells_of(chapter))
        lines = [f"### {chapter.title}", "", *(f"- {line}" for line in _settings(chapter)), "", table]
        unmet = [f"- {line}" for line in _unmet(chapter)]
        sections.append("\n".join([*lines, "", *unmet] if unmet else lines))
    return "\n\n".join(sections)


def chapter_as_data(chapter: Chapter) -> dict[str, Any]:
    """One chapter as plain data."""
    settings = {
        column: {"what": setting.what, "delta": str(setting.delta), "low": str(e.low), "high": str(e.high), "rigour": e.rigour.name}
        for column, setting, e in zip(COLUMNS, chapter.settings, chapter.certified, strict=True)
    }
    rows = [{column: bound_as_data(row) for column, row in zip(COLUMNS, f.found, strict=True)} for f in chapter.formulas]
    return {"title": chapter.title, "settings": settings, "formulas": rows}


def _settings(chapter: Chapter) -> Iterator[str]:
    for column, setting, e in zip(COLUMNS, chapter.settings, chapter.certified, strict=True):
        ends = "is infinite" if math.isinf(e.low) else f"in [{show_down(e.low, 5)}, {show_up(e.high, 5)}]"
        yield f"{column}: {setting.what}: epsilon {ends} at delta = {float(setting.delta):.3g}"


def _verdict(row: Published) -> str:
    """The standing, and how loose the formula is where that is a ratio."""
    if row.printed is None or not 0 < row.printed.looseness < float("inf"):
        return row.standing.value
    return f"{row.standing.value}, {show_down(row.printed.looseness, 3)} x"


def _unmet(chapter: Chapter) -> Iterator[str]:
    for formula in chapter.formulas:
        for column, row in zip(COLUMNS, formula.found, strict=True):
            if row.unmet:
                yield f"{column}: {row.name} needs {row.unmet}"
